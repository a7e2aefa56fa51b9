/* plugins/nvlink/cuda_kernels.c: see nvlink.h. */
#include "plugins/nvlink/nvlink.h"

isthmus_status nvl_host_view(struct p2p_gpu *gpu, void *addr, void **view)
{
    CUcontext ours;
    CUdeviceptr got = 0;
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuMemHostGetDevicePointer_v2(&got, addr, 0);
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    if (result == CUDA_SUCCESS) *view = (void *)(uintptr_t)got;
    return nvl_check(gpu, result, "cuMemHostGetDevicePointer");
}

/* Of cuMemAlloc, not of cuMemCreate: a list of a few bytes takes no piece of 2 MiB. */
isthmus_status nvl_device_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    const struct isthmus_services *s = gpu->services;
    CUcontext ours;
    CUdeviceptr got = 0;
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuMemAlloc_v2(&got, length_bytes);
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    if (result != CUDA_SUCCESS)
        return s->fail(s->core, nvl_status(result), "cuMemAlloc of %llu bytes: %s", (unsigned long long)length_bytes,
                       nvl_result_name(result));
    isthmus_status status = nvl_clear(gpu, (void *)(uintptr_t)got, length_bytes);
    if (status != ISTHMUS_OK)
        nvl_device_free(gpu, (void *)(uintptr_t)got);
    else
        *addr = (void *)(uintptr_t)got;
    return status;
}

void nvl_device_free(struct p2p_gpu *gpu, void *addr)
{
    CUcontext ours;
    bool is_in = nvl_cuda.cuCtxPushCurrent_v2(gpu->context) == CUDA_SUCCESS;
    (void)nvl_cuda.cuMemFree_v2((CUdeviceptr)(uintptr_t)addr);
    if (is_in) (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
}

/* ---- variables ---- */

static CUresult look_up(uint32_t code, void *handle, const char *name, CUdeviceptr *at, size_t *size)
{
    return code == ISTHMUS_CODE_LIBRARY ? nvl_cuda.cuLibraryGetGlobal(at, size, handle, name)
                                        : nvl_cuda.cuModuleGetGlobal_v2(at, size, handle, name);
}

static isthmus_status check_code(const struct p2p_gpu *gpu, uint32_t code, const void *handle)
{
    const struct isthmus_services *s = gpu->services;
    if (code != ISTHMUS_CODE_MODULE && code != ISTHMUS_CODE_LIBRARY)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "the kind of the code is %u; valid: %d (module), %d (library)",
                       code, (int)ISTHMUS_CODE_MODULE, (int)ISTHMUS_CODE_LIBRARY);
    if (code == ISTHMUS_CODE_LIBRARY && nvl_cuda.cuLibraryGetGlobal == NULL)
        return s->fail(
            s->core, ISTHMUS_ERR_UNSUPPORTED,
            "the CUDA driver lacks cuLibraryGetGlobal; install one for CUDA 12.0 or newer, or load a CUmodule");
    if (handle == NULL) return s->fail(s->core, ISTHMUS_ERR_INVALID, "the handle is NULL; valid: one of loaded code");
    return ISTHMUS_OK;
}

/* A module belongs to a context: one of another context than the primary one of this device has its variables
 * elsewhere, and the driver finds them by the module alone. */
isthmus_status nvl_find(struct p2p_gpu *gpu, uint32_t code, void *handle, const char *name, void **addr,
                        uint64_t *length_bytes)
{
    const struct isthmus_services *s = gpu->services;
    const char *what = code == ISTHMUS_CODE_LIBRARY ? "library" : "module";
    CUcontext ours;
    CUdeviceptr at = 0;
    size_t size = 0;
    isthmus_status status = check_code(gpu, code, handle);
    if (status != ISTHMUS_OK) return status;
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = look_up(code, handle, name, &at, &size);
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    if (result == CUDA_ERROR_NOT_FOUND)
        return s->fail(s->core, ISTHMUS_ERR_INVALID, "the %s %p has no variable %s; compile it with nvshmem_device.h",
                       what, handle, name);
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE)
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "the handle is %p, which is no %s of CUDA; valid: one that is loaded", handle, what);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "the address of a variable");
    *addr = (void *)(uintptr_t)at;
    *length_bytes = size;
    return ISTHMUS_OK;
}

/* The CUDA runtime takes the device of the context that is current. Its own call to choose a device would also make a
 * context on the device that was chosen before, to restore that. */
isthmus_status nvl_call(struct p2p_gpu *gpu, void (*function)(void *), void *argument)
{
    CUcontext ours;
    CUresult result = nvl_cuda.cuCtxPushCurrent_v2(gpu->context);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    function(argument);
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
    return ISTHMUS_OK;
}

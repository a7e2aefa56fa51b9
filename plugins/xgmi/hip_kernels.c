/* plugins/xgmi/hip_kernels.c: see xgmi.h. */
#include "plugins/xgmi/xgmi.h"

isthmus_status xg_host_view(struct p2p_gpu *gpu, void *addr, void **view)
{
    int before;
    void *got = NULL;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipHostGetDevicePointer(&got, addr, 0);
    xg_leave(before);
    if (result == hipSuccess) *view = got;
    return xg_check(gpu, result, "hipHostGetDevicePointer");
}

/* Fine-grained, like all memory here: the host copies into it while kernels read it. */
isthmus_status xg_device_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    struct p2p_memory memory;
    int before;
    isthmus_status status = xg_check(gpu, xg_enter(gpu, &before), "hipSetDevice");
    if (status == ISTHMUS_OK) status = xg_allocate(gpu, length_bytes, &memory);
    xg_leave(before);
    if (status == ISTHMUS_OK) *addr = memory.addr;
    return status;
}

void xg_device_free(struct p2p_gpu *gpu, void *addr)
{
    (void)gpu;
    (void)xg_hip.hipFree(addr);
}

isthmus_status xg_find(struct p2p_gpu *gpu, uint32_t code, void *handle, const char *name, void **addr,
                       uint64_t *length_bytes)
{
    const struct isthmus_services *s = gpu->services;
    hipDeviceptr_t at = NULL;
    size_t size = 0;
    int before;
    if (code != ISTHMUS_CODE_MODULE)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "the kind of the code is %u; valid for HIP: %d (module)", code,
                       (int)ISTHMUS_CODE_MODULE);
    if (handle == NULL) return s->fail(s->core, ISTHMUS_ERR_INVALID, "the handle is NULL; valid: one of loaded code");
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipModuleGetGlobal(&at, &size, handle, name);
    xg_leave(before);
    if (result == hipErrorNotFound)
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "the module %p has no variable %s; compile it with nvshmem.h or rocshmem.hpp", handle, name);
    if (result == hipErrorInvalidHandle || result == hipErrorInvalidValue)
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "the handle is %p, which is no module of HIP; valid: one that is loaded", handle);
    if (result != hipSuccess) return xg_check(gpu, result, "hipModuleGetGlobal");
    *addr = at;
    *length_bytes = size;
    return ISTHMUS_OK;
}

isthmus_status xg_call(struct p2p_gpu *gpu, void (*function)(void *), void *argument)
{
    int before;
    isthmus_status status = xg_check(gpu, xg_enter(gpu, &before), "hipSetDevice");
    if (status == ISTHMUS_OK) function(argument);
    xg_leave(before);
    return status;
}

/* plugins/nvlink/cuda_driver.c: CUDA as a driver of the engine (plugins/common/p2p.h).
 * Memory is made of physical pieces that are mapped at addresses of our choice; a piece goes to another process as a
 * file descriptor. Work needs our context current in the thread: it is pushed for the call and popped behind it, so
 * that the program's own stays as it is. */
#include "plugins/nvlink/nvlink.h"

#include <stdlib.h>
#include <string.h>

/* The atomics' kernel, as text; the driver compiles it for the device. */
static const char amo_ptx[] =
#include "amo_ptx.inc"
    ;

isthmus_status nvl_check(const struct p2p_gpu *gpu, CUresult result, const char *what)
{
    const struct isthmus_services *s = gpu->services;
    if (result == CUDA_SUCCESS) return ISTHMUS_OK;
    return s->fail(s->core, nvl_status(result), "%s: %s", what, nvl_result_name(result));
}

static isthmus_status check_bytes(const struct isthmus_services *s, CUresult result, const char *what, uint64_t n)
{
    if (result == CUDA_SUCCESS) return ISTHMUS_OK;
    return s->fail(s->core, nvl_status(result), "%s of %llu bytes: %s", what, (unsigned long long)n,
                   nvl_result_name(result));
}

static CUresult enter(const struct p2p_gpu *gpu) { return nvl_cuda.cuCtxPushCurrent_v2(gpu->context); }

static void leave(void)
{
    CUcontext ours;
    (void)nvl_cuda.cuCtxPopCurrent_v2(&ours);
}

/* For releases: also done when the device has failed and no context can be made current. */
static bool try_enter(const struct p2p_gpu *gpu) { return enter(gpu) == CUDA_SUCCESS; }

static void leave_if(bool is_in)
{
    if (is_in) leave();
}

static CUdeviceptr address_of(const void *addr) { return (CUdeviceptr)(uintptr_t)addr; }

/* ---- life ---- */

static isthmus_status nvl_count(const struct isthmus_services *s, int *n)
{
    isthmus_status status = nvl_load(s);
    if (status != ISTHMUS_OK) return status;
    CUresult result = nvl_cuda.cuInit(0);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuDeviceGetCount(n);
    if (result == CUDA_SUCCESS && *n > 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "the CUDA driver has no GPU for this process: %s",
                   result == CUDA_SUCCESS ? "it reports 0 GPUs" : nvl_result_name(result));
}

static int nvl_current(void)
{
    CUcontext context = NULL;
    CUdevice device;
    if (nvl_cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == NULL) return -1;
    return nvl_cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

static CUmemAllocationProp properties_of(const struct p2p_gpu *gpu)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = gpu->handle_type,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
        .allocFlags.gpuDirectRDMACapable = gpu->takes_adapters,
    };
}

/* Checks the capabilities that the device must have; the text names a missing one. */
static isthmus_status check_device(struct p2p_gpu *gpu)
{
    static const struct {
        CUdevice_attribute attribute;
        const char *what;
    } needed[] = {
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified addresses"},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "memory shared by file descriptor"},
    };
    const struct isthmus_services *s = gpu->services;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int has = 0;
        CUresult result = nvl_cuda.cuDeviceGetAttribute(&has, needed[i].attribute, gpu->device);
        if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuDeviceGetAttribute");
        if (!has)
            return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "GPU %d lacks %s, which this transport needs", gpu->device,
                           needed[i].what);
    }
    return ISTHMUS_OK;
}

static isthmus_status load_kernel(struct p2p_gpu *gpu)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuModuleLoadData(&gpu->module, amo_ptx);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuModuleGetFunction(&gpu->amo, gpu->module, "isthmus_amo");
    leave();
    return nvl_check(gpu, result, "loading the kernel of atomics");
}

static void nvl_close(struct p2p_gpu *gpu)
{
    bool is_in = gpu->context != NULL && try_enter(gpu);
    if (gpu->coll_module != NULL) (void)nvl_cuda.cuModuleUnload(gpu->coll_module);
    if (gpu->module != NULL) (void)nvl_cuda.cuModuleUnload(gpu->module);
    leave_if(is_in);
    if (gpu->context != NULL) (void)nvl_cuda.cuDevicePrimaryCtxRelease_v2(gpu->device);
    free(gpu);
}

/* A device may have such handles, and the process no permission to use them. */
static isthmus_status try_fabric(const struct p2p_gpu *gpu, const CUmemAllocationProp *prop)
{
    const struct isthmus_services *s = gpu->services;
    CUmemGenericAllocationHandle handle;
    CUresult result = nvl_cuda.cuMemCreate(&handle, gpu->granule, prop, 0);
    if (result != CUDA_SUCCESS)
        return s->fail(
            s->core, ISTHMUS_ERR_NO_DEVICE,
            "cuMemCreate of memory with a fabric handle (CUMEM_HANDLE_TYPE): %s; start NVIDIA's IMEX service, with a "
            "channel in /dev/nvidia-caps-imex-channels, or set FILE_DESCRIPTOR",
            nvl_result_name(result));
    return nvl_check(gpu, nvl_cuda.cuMemRelease(handle), "cuMemRelease");
}

static isthmus_status nvl_open(const struct isthmus_services *s, int ordinal, struct p2p_gpu **out)
{
    struct p2p_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the record of a GPU");
    gpu->services = s;
    isthmus_status status = nvl_check(gpu, nvl_cuda.cuDeviceGet(&gpu->device, ordinal), "cuDeviceGet");
    if (status == ISTHMUS_OK) status = check_device(gpu);
    if (status == ISTHMUS_OK) status = nvl_choose_handle_type(gpu);
    if (status == ISTHMUS_OK) nvl_look_at_adapters(gpu);
    if (status == ISTHMUS_OK)
        status = nvl_check(gpu, nvl_cuda.cuDevicePrimaryCtxRetain(&gpu->context, gpu->device),
                           "cuDevicePrimaryCtxRetain");
    CUmemAllocationProp prop = properties_of(gpu);
    if (status == ISTHMUS_OK)
        status = nvl_check(
            gpu, nvl_cuda.cuMemGetAllocationGranularity(&gpu->granule, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
            "cuMemGetAllocationGranularity");
    if (status == ISTHMUS_OK && gpu->handle_type == CU_MEM_HANDLE_TYPE_FABRIC) status = try_fabric(gpu, &prop);
    if (status == ISTHMUS_OK) status = load_kernel(gpu);
    if (status != ISTHMUS_OK) {
        nvl_close(gpu);
        return status;
    }
    *out = gpu;
    return ISTHMUS_OK;
}

/* What cannot be found out counts as no. */
static void describe_device(const struct p2p_gpu *gpu, CUdevice device, struct p2p_device *out)
{
    CUuuid uuid;
    int can = 0, atomics = 0;
    *out = (struct p2p_device){.is_used = device == gpu->device};
    if (nvl_cuda.cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS) memcpy(out->uuid, uuid.bytes, sizeof out->uuid);
    (void)nvl_cuda.cuDeviceGetName(out->name, sizeof out->name, device);
    (void)nvl_cuda.cuDeviceGetPCIBusId(out->pci, sizeof out->pci, device);
    memcpy(out->pci_address, out->pci, sizeof out->pci_address);
    if (out->is_used) {
        out->can_access = out->has_atomics = true;
        return;
    }
    (void)nvl_cuda.cuDeviceCanAccessPeer(&can, gpu->device, device);
    (void)nvl_cuda.cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, gpu->device,
                                           device);
    out->can_access = can != 0;
    out->has_atomics = can != 0 && atomics != 0;
}

static int nvl_survey(struct p2p_gpu *gpu, struct p2p_device *list, int room)
{
    int n = 0, found = 0;
    if (nvl_cuda.cuDeviceGetCount(&n) != CUDA_SUCCESS) n = 0;
    for (int i = 0; i < n && found < room; i++) {
        CUdevice device;
        if (nvl_cuda.cuDeviceGet(&device, i) == CUDA_SUCCESS) describe_device(gpu, device, &list[found++]);
    }
    return found;
}

/* ---- memory ---- */

static uint64_t nvl_granule(struct p2p_gpu *gpu) { return gpu->granule; }

static isthmus_status nvl_reserve(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    CUdeviceptr got;
    isthmus_status status = check_bytes(gpu->services, nvl_cuda.cuMemAddressReserve(&got, length_bytes, 0, 0, 0),
                                        "cuMemAddressReserve", length_bytes);
    if (status == ISTHMUS_OK) *addr = (void *)(uintptr_t)got;
    return status;
}

static void nvl_unreserve(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    CUresult result = nvl_cuda.cuMemAddressFree(address_of(addr), length_bytes);
    if (result != CUDA_SUCCESS)
        gpu->services->log(gpu->services->core, ISTHMUS_LOG_DEBUG, "cuMemAddressFree: %s", nvl_result_name(result));
}

/* The piece of `handle` at addr, for this device to use. */
static CUresult map(const struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, CUmemGenericAllocationHandle handle)
{
    const CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = nvl_cuda.cuMemMap(address_of(addr), length_bytes, 0, handle, 0);
    if (result != CUDA_SUCCESS) return result;
    result = nvl_cuda.cuMemSetAccess(address_of(addr), length_bytes, &desc, 1);
    if (result != CUDA_SUCCESS) (void)nvl_cuda.cuMemUnmap(address_of(addr), length_bytes);
    return result;
}

/* Puts a piece that is there at addresses: those given, or new ones. Takes the handle over when it works. */
static isthmus_status place_memory(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes,
                                   CUmemGenericAllocationHandle handle, struct p2p_memory *out)
{
    void *own = NULL;
    isthmus_status status = addr == NULL ? nvl_reserve(gpu, length_bytes, &own) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) return status;
    void *at = addr != NULL ? addr : own;
    status = check_bytes(gpu->services, map(gpu, at, length_bytes, handle), "cuMemMap, cuMemSetAccess", length_bytes);
    if (status != ISTHMUS_OK) {
        if (own != NULL) nvl_unreserve(gpu, own, length_bytes);
        return status;
    }
    *out = (struct p2p_memory){.addr = at, .length_bytes = length_bytes, .handle = handle, .owns_addr = own != NULL};
    return ISTHMUS_OK;
}

static void nvl_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    const struct isthmus_services *s = gpu->services;
    CUresult result = nvl_cuda.cuMemUnmap(address_of(memory->addr), memory->length_bytes);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuMemRelease(memory->handle);
    if (result != CUDA_SUCCESS)
        s->log(s->core, ISTHMUS_LOG_DEBUG, "cuMemUnmap, cuMemRelease: %s", nvl_result_name(result));
    if (memory->owns_addr) nvl_unreserve(gpu, memory->addr, memory->length_bytes);
}

/* Drivers return cleared memory, but none promises it. */
isthmus_status nvl_clear(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    CUstream stream = NULL;
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuMemsetD8Async(address_of(addr), 0, length_bytes, stream);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuStreamSynchronize(stream);
    if (stream != NULL) (void)nvl_cuda.cuStreamDestroy_v2(stream);
    leave();
    return check_bytes(gpu->services, result, "clearing device memory", length_bytes);
}

static isthmus_status nvl_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    CUmemAllocationProp prop = properties_of(gpu);
    CUmemGenericAllocationHandle handle;
    isthmus_status status = check_bytes(gpu->services, nvl_cuda.cuMemCreate(&handle, length_bytes, &prop, 0),
                                        "cuMemCreate", length_bytes);
    if (status != ISTHMUS_OK) return status;
    struct p2p_memory memory;
    status = place_memory(gpu, addr, length_bytes, handle, &memory);
    if (status != ISTHMUS_OK) {
        (void)nvl_cuda.cuMemRelease(handle);
        return status;
    }
    status = nvl_clear(gpu, memory.addr, memory.length_bytes);
    if (status != ISTHMUS_OK)
        nvl_destroy(gpu, &memory);
    else
        *out = memory;
    return status;
}

static isthmus_status nvl_import(struct p2p_gpu *gpu, const struct p2p_share *share, void *addr, uint64_t length_bytes,
                                 struct p2p_memory *out)
{
    CUmemGenericAllocationHandle handle;
    CUmemFabricHandle fabric;
    bool is_fabric = share->fd < 0;
    CUmemAllocationHandleType type = is_fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    memcpy(&fabric, share->bytes, sizeof fabric);
    void *from = is_fabric ? (void *)&fabric : (void *)(intptr_t)share->fd;
    isthmus_status status = nvl_check(gpu, nvl_cuda.cuMemImportFromShareableHandle(&handle, from, type),
                                      "cuMemImportFromShareableHandle");
    if (status != ISTHMUS_OK) return status;
    status = place_memory(gpu, addr, length_bytes, handle, out);
    if (status != ISTHMUS_OK) (void)nvl_cuda.cuMemRelease(handle);
    return status;
}

static isthmus_status nvl_host_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuMemHostAlloc(addr, length_bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    leave();
    return check_bytes(gpu->services, result, "cuMemHostAlloc", length_bytes);
}

static void nvl_host_free(struct p2p_gpu *gpu, void *addr)
{
    bool is_in = try_enter(gpu);
    (void)nvl_cuda.cuMemFreeHost(addr);
    leave_if(is_in);
}

static isthmus_status nvl_pin(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuMemHostRegister_v2(addr, length_bytes, CU_MEMHOSTREGISTER_PORTABLE);
    leave();
    return check_bytes(gpu->services, result, "cuMemHostRegister", length_bytes);
}

static void nvl_unpin(struct p2p_gpu *gpu, void *addr)
{
    bool is_in = try_enter(gpu);
    (void)nvl_cuda.cuMemHostUnregister(addr);
    leave_if(is_in);
}

/* ---- work ---- */

/* Independent of the program's default stream, and of the highest priority: the kernel of atomics runs before kernels
 * of the program's that wait for room, and perhaps for what it does. */
static isthmus_status nvl_stream_open(struct p2p_gpu *gpu, void **stream)
{
    CUstream own = NULL;
    int least, greatest;
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuCtxGetStreamPriorityRange(&least, &greatest);
    if (result == CUDA_SUCCESS) result = nvl_cuda.cuStreamCreateWithPriority(&own, CU_STREAM_NON_BLOCKING, greatest);
    leave();
    if (result == CUDA_SUCCESS) *stream = own;
    return nvl_check(gpu, result, "cuStreamCreateWithPriority");
}

static void nvl_stream_close(struct p2p_gpu *gpu, void *stream)
{
    bool is_in = try_enter(gpu);
    (void)nvl_cuda.cuStreamDestroy_v2(stream);
    leave_if(is_in);
}

static isthmus_status nvl_stream_wait(struct p2p_gpu *gpu, void *stream)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuStreamSynchronize(stream);
    leave();
    return nvl_check(gpu, result, "a copy or an atomic operation on the GPU");
}

static isthmus_status nvl_copy(struct p2p_gpu *gpu, void *stream, void *dest, const void *source, size_t length_bytes)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuMemcpyAsync(address_of(dest), address_of(source), length_bytes, stream);
    leave();
    return check_bytes(gpu->services, result, "cuMemcpyAsync", length_bytes);
}

/* Done where the stream's commands are read: neither a copy engine nor memory that it could read is needed. */
static isthmus_status nvl_write(struct p2p_gpu *gpu, void *stream, void *dest, uint64_t value, size_t length_bytes)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = length_bytes == sizeof(uint64_t)
                 ? nvl_cuda.cuStreamWriteValue64_v2(stream, address_of(dest), value, 0)
                 : nvl_cuda.cuStreamWriteValue32_v2(stream, address_of(dest), (uint32_t)value, 0);
    leave();
    return check_bytes(gpu->services, result, "cuStreamWriteValue", length_bytes);
}

static isthmus_status nvl_amo(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo)
{
    CUdeviceptr addr = address_of(amo->addr), result_at = address_of(amo->result), batch = address_of(amo->batch);
    uint64_t operand = amo->operand, compare = amo->compare;
    uint32_t op = amo->op, bytes = amo->bytes;
    void *parameters[] = {&addr, &operand, &compare, &result_at, &op, &bytes, &batch}; /* in the order of amo.ptx */
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuLaunchKernel(gpu->amo, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
    leave();
    return nvl_check(gpu, result, "cuLaunchKernel");
}

/* A stream compares for equality, and as a distance: word - value >= 0. */
static isthmus_status nvl_wait_until(struct p2p_gpu *gpu, void *stream, const uint64_t *word, uint32_t compare,
                                     uint64_t value)
{
    const struct isthmus_services *s = gpu->services;
    unsigned flags = compare == ISTHMUS_COMPARE_EQ ? CU_STREAM_WAIT_VALUE_EQ : CU_STREAM_WAIT_VALUE_GEQ;
    if (compare == ISTHMUS_COMPARE_GT) value++;
    if (compare != ISTHMUS_COMPARE_EQ && compare != ISTHMUS_COMPARE_GE && compare != ISTHMUS_COMPARE_GT)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "a CUDA stream does not support comparison %u", compare);
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuStreamWaitValue64_v2(stream, address_of(word), value, flags);
    leave();
    return nvl_check(gpu, result, "cuStreamWaitValue64");
}

static isthmus_status nvl_words(struct p2p_gpu *gpu, void *stream, const struct p2p_word *list, uint32_t n)
{
    CUstreamBatchMemOpParams ops[P2P_WORDS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        CUstreamBatchMemOpParams *op = &ops[i];
        if (list[i].is_awaited) {
            op->waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
            op->waitValue.address = address_of(list[i].addr);
            op->waitValue.value64 = list[i].value;
            op->waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
        } else {
            op->writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
            op->writeValue.address = address_of(list[i].addr);
            op->writeValue.value64 = list[i].value;
        }
    }
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuStreamBatchMemOp_v2(stream, n, ops, 0);
    leave();
    return nvl_check(gpu, result, "cuStreamBatchMemOp");
}

static isthmus_status nvl_host_function(struct p2p_gpu *gpu, void *stream, void (*function)(void *), void *argument)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuLaunchHostFunc(stream, function, argument);
    leave();
    return nvl_check(gpu, result, "cuLaunchHostFunc");
}

static isthmus_status nvl_complete(struct p2p_gpu *gpu)
{
    CUresult result = enter(gpu);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuCtxPushCurrent");
    result = nvl_cuda.cuCtxSynchronize();
    leave();
    return nvl_check(gpu, result, "cuCtxSynchronize");
}

static isthmus_status nvl_place(struct p2p_gpu *gpu, const void *addr, struct isthmus_mem *out)
{
    const struct isthmus_services *s = gpu->services;
    unsigned type = 0, is_managed = 0;
    int device = -1;
    CUdeviceptr start = 0;
    size_t length_bytes = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &is_managed, &device, &start, &length_bytes};
    CUresult result = nvl_cuda.cuPointerGetAttributes(sizeof asked / sizeof *asked, asked, values, address_of(addr));
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuPointerGetAttributes");
    if (is_managed)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "CUDA managed memory at %p is not supported; use memory of cudaMalloc or shmem_malloc", addr);
    if (type == 0) return ISTHMUS_OK; /* not known to the driver: host memory */
    out->addr = (void *)(uintptr_t)start;
    out->length_bytes = length_bytes;
    bool is_extended = type == CU_MEMORYTYPE_HOST && nvl_is_extended(addr);
    if (type == CU_MEMORYTYPE_HOST && !is_extended) return ISTHMUS_OK;
    out->kind = ISTHMUS_MEM_CUDA;
    out->device = is_extended ? gpu->device : device;
    return ISTHMUS_OK;
}

const struct p2p_driver nvl_driver = {
    .hardware = "NVIDIA GPU",
    .kind = ISTHMUS_MEM_CUDA,
    .count = nvl_count,
    .current = nvl_current,
    .open = nvl_open,
    .close = nvl_close,
    .survey = nvl_survey,
    .offers = nvl_offers,
    .granule = nvl_granule,
    .create = nvl_create,
    .destroy = nvl_destroy,
    .share = nvl_share,
    .import = nvl_import,
    .drop = nvl_destroy, /* a peer's piece is mapped as an own one is */
    .adopt = nvl_adopt,
    .release = nvl_release,
    .reserve = nvl_reserve,
    .unreserve = nvl_unreserve,
    .host_alloc = nvl_host_alloc,
    .host_free = nvl_host_free,
    .pin = nvl_pin,
    .unpin = nvl_unpin,
    .stream_open = nvl_stream_open,
    .stream_close = nvl_stream_close,
    .stream_wait = nvl_stream_wait,
    .copy = nvl_copy,
    .write = nvl_write,
    .amo = nvl_amo,
    .takes_batches = true,
    .wait_until = nvl_wait_until,
    .words = nvl_words,
    .host_function = nvl_host_function,
    .complete = nvl_complete,
    .host_view = nvl_host_view,
    .device_alloc = nvl_device_alloc,
    .device_free = nvl_device_free,
    .find = nvl_find,
    .call = nvl_call,
    .collective_prepare = nvl_collective_prepare,
    .collective_launch = nvl_collective_launch,
    .flush_writes = nvl_flush_writes,
    .place = nvl_place,
};

/* plugins/xgmi/hip_driver.c: HIP as a driver of the engine (plugins/common/p2p.h).
 * Memory goes to another process by an opaque handle of 64 bytes: no descriptor is passed. It is fine-grained, so that what a
 * peer has written is seen by a kernel that runs. Work happens on the device that is current in the thread: ours is made
 * current for the call, and what was before is restored. */
#include "plugins/xgmi/xgmi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GRANULE_BYTES = 64 << 10 };

struct p2p_gpu {
    const struct isthmus_services *services;
    int device;
    pthread_mutex_t lock; /* of the kernel, which is loaded when it is first needed */
    struct xg_kernel kernel;
};

static isthmus_status check(const struct p2p_gpu *gpu, hipError_t result, const char *what)
{
    const struct isthmus_services *s = gpu->services;
    if (result == hipSuccess) return ISTHMUS_OK;
    return s->fail(s->core, xg_status(result), "%s: %s", what, xg_result_name(result));
}

/* What was current is to be given to leave(); -1: nothing is to be restored. */
static hipError_t enter(const struct p2p_gpu *gpu, int *before)
{
    *before = -1;
    hipError_t result = xg_hip.hipGetDevice(before);
    if (result != hipSuccess || *before == gpu->device) {
        *before = -1;
        return result;
    }
    return xg_hip.hipSetDevice(gpu->device);
}

static void leave(int before)
{
    if (before >= 0) (void)xg_hip.hipSetDevice(before);
}

/* ---- life ---- */

static isthmus_status xg_count(const struct isthmus_services *s, int *n)
{
    isthmus_status status = xg_load(s);
    if (status != ISTHMUS_OK) return status;
    hipError_t result = xg_hip.hipInit(0);
    if (result == hipSuccess) result = xg_hip.hipGetDeviceCount(n);
    if (result == hipSuccess && *n > 0) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_DEVICE, "HIP has no GPU for this process: %s",
                   result == hipSuccess ? "it counts 0" : xg_result_name(result));
}

/* A thread that has chosen none is on device 0: only another one tells a choice. */
static int xg_current(void)
{
    int device = 0;
    return xg_hip.hipGetDevice(&device) == hipSuccess && device > 0 ? device : -1;
}

static isthmus_status xg_open(const struct isthmus_services *s, int ordinal, struct p2p_gpu **out)
{
    struct p2p_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a GPU's record");
    *gpu = (struct p2p_gpu){.services = s, .device = ordinal};
    pthread_mutex_init(&gpu->lock, NULL);
    *out = gpu;
    return ISTHMUS_OK;
}

static void xg_close(struct p2p_gpu *gpu)
{
    xg_amo_unload(&gpu->kernel);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

/* What cannot be found out counts as no. On one host the address on the bus is a device's identity. */
static int xg_survey(struct p2p_gpu *gpu, struct p2p_device *list, int room)
{
    int n = 0;
    if (xg_hip.hipGetDeviceCount(&n) != hipSuccess) n = 0;
    if (n > room) n = room;
    for (int i = 0; i < n; i++) {
        int can = 0, atomics = 0;
        list[i] = (struct p2p_device){.is_used = i == gpu->device};
        (void)xg_hip.hipDeviceGetName(list[i].name, sizeof list[i].name, i);
        (void)xg_hip.hipDeviceGetPCIBusId(list[i].pci, sizeof list[i].pci, i);
        memcpy(list[i].uuid, list[i].pci, sizeof list[i].uuid);
        if (!list[i].is_used) (void)xg_hip.hipDeviceCanAccessPeer(&can, gpu->device, i);
        if (can != 0)
            (void)xg_hip.hipDeviceGetP2PAttribute(&atomics, hipDevP2PAttrNativeAtomicSupported, gpu->device, i);
        list[i].can_access = list[i].is_used || can != 0;
        list[i].has_atomics = xg_has_rtc && (list[i].is_used || atomics != 0);
    }
    return n;
}

/* ---- memory ---- */

static uint64_t xg_granule(struct p2p_gpu *gpu)
{
    (void)gpu;
    return GRANULE_BYTES;
}

static void xg_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    hipError_t result = xg_hip.hipFree(memory->addr);
    if (result != hipSuccess)
        gpu->services->log(gpu->services->core, ISTHMUS_LOG_DEBUG, "hipFree: %s", xg_result_name(result));
}

static hipError_t clear(void *addr, uint64_t length_bytes)
{
    hipStream_t stream = NULL;
    hipError_t result = xg_hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
    if (result == hipSuccess) result = xg_hip.hipMemsetAsync(addr, 0, length_bytes, stream);
    if (result == hipSuccess) result = xg_hip.hipStreamSynchronize(stream);
    if (stream != NULL) (void)xg_hip.hipStreamDestroy(stream);
    return result;
}

static isthmus_status xg_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    int before;
    void *got = NULL;
    (void)addr; /* there is no reserve() here */
    hipError_t result = enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipExtMallocWithFlags(&got, length_bytes, hipDeviceMallocFinegrained);
    if (result == hipSuccess) result = clear(got, length_bytes);
    leave(before);
    struct p2p_memory memory = {.addr = got, .length_bytes = length_bytes};
    if (result == hipSuccess) {
        *out = memory;
        return ISTHMUS_OK;
    }
    if (got != NULL) xg_destroy(gpu, &memory);
    return s->fail(s->core, xg_status(result), "hipExtMallocWithFlags of %llu bytes: %s",
                   (unsigned long long)length_bytes, xg_result_name(result));
}

static isthmus_status xg_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out)
{
    hipIpcMemHandle_t handle;
    _Static_assert(sizeof handle.reserved == P2P_HANDLE_BYTES, "a handle of HIP fits");
    isthmus_status status = check(gpu, xg_hip.hipIpcGetMemHandle(&handle, memory->addr), "hipIpcGetMemHandle");
    if (status != ISTHMUS_OK) return status;
    out->n_bytes = sizeof handle.reserved;
    memcpy(out->bytes, handle.reserved, sizeof handle.reserved);
    return ISTHMUS_OK;
}

static isthmus_status xg_import(struct p2p_gpu *gpu, const struct p2p_share *share, uint64_t length_bytes,
                                struct p2p_memory *out)
{
    hipIpcMemHandle_t handle;
    int before;
    void *addr = NULL;
    memcpy(handle.reserved, share->bytes, sizeof handle.reserved);
    hipError_t result = enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipIpcOpenMemHandle(&addr, handle, hipIpcMemLazyEnablePeerAccess);
    leave(before);
    if (result == hipSuccess) *out = (struct p2p_memory){.addr = addr, .length_bytes = length_bytes};
    return check(gpu, result, "hipIpcOpenMemHandle");
}

static void xg_drop(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    hipError_t result = xg_hip.hipIpcCloseMemHandle(memory->addr);
    if (result != hipSuccess)
        gpu->services->log(gpu->services->core, ISTHMUS_LOG_DEBUG, "hipIpcCloseMemHandle: %s", xg_result_name(result));
}

static isthmus_status xg_host_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    int before;
    hipError_t result = enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipHostMalloc(addr, length_bytes, hipHostMallocPortable);
    leave(before);
    return check(gpu, result, "hipHostMalloc");
}

static void xg_host_free(struct p2p_gpu *gpu, void *addr)
{
    (void)gpu;
    (void)xg_hip.hipHostFree(addr);
}

static isthmus_status xg_pin(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    int before;
    hipError_t result = enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipHostRegister(addr, length_bytes, hipHostRegisterPortable);
    leave(before);
    return check(gpu, result, "hipHostRegister");
}

static void xg_unpin(struct p2p_gpu *gpu, void *addr)
{
    (void)gpu;
    (void)xg_hip.hipHostUnregister(addr);
}

/* ---- work ---- */

static isthmus_status xg_stream_open(struct p2p_gpu *gpu, void **stream)
{
    int before;
    hipStream_t own = NULL;
    hipError_t result = enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipStreamCreateWithFlags(&own, hipStreamNonBlocking);
    leave(before);
    if (result == hipSuccess) *stream = own;
    return check(gpu, result, "hipStreamCreateWithFlags");
}

static void xg_stream_close(struct p2p_gpu *gpu, void *stream)
{
    (void)gpu;
    (void)xg_hip.hipStreamDestroy(stream);
}

static isthmus_status xg_stream_wait(struct p2p_gpu *gpu, void *stream)
{
    return check(gpu, xg_hip.hipStreamSynchronize(stream), "a copy of the GPU");
}

static isthmus_status xg_copy(struct p2p_gpu *gpu, void *stream, void *dest, const void *source, size_t length_bytes)
{
    int before;
    hipError_t result = enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipMemcpyAsync(dest, source, length_bytes, hipMemcpyDefault, stream);
    leave(before);
    return check(gpu, result, "hipMemcpyAsync");
}

static isthmus_status launch(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo)
{
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&gpu->lock);
    if (gpu->kernel.amo == NULL) status = xg_amo_load(gpu->services, &gpu->kernel);
    pthread_mutex_unlock(&gpu->lock);
    return status == ISTHMUS_OK ? check(gpu, xg_amo_launch(&gpu->kernel, stream, amo), "hipModuleLaunchKernel")
                                : status;
}

static isthmus_status xg_amo(struct p2p_gpu *gpu, void *stream, const struct p2p_amo *amo)
{
    int before;
    isthmus_status status = check(gpu, enter(gpu, &before), "hipSetDevice");
    if (status == ISTHMUS_OK) status = launch(gpu, stream, amo);
    leave(before);
    return status;
}

/* The names and values of memory types differ between releases; which of its pointers are set does not. */
static isthmus_status xg_place(struct p2p_gpu *gpu, const void *addr, struct isthmus_mem *out)
{
    const struct isthmus_services *s = gpu->services;
    hipPointerAttribute_t about = {0};
    hipDeviceptr_t base = NULL;
    size_t length_bytes = 0;
    hipError_t result = xg_hip.hipPointerGetAttributes(&about, addr);
    if (result == hipErrorInvalidValue || (result == hipSuccess && about.devicePointer == NULL))
        return ISTHMUS_OK; /* not known to HIP: host memory */
    if (result != hipSuccess) return check(gpu, result, "hipPointerGetAttributes");
    if (about.isManaged)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "%p is managed memory of HIP, which has no one place", addr);
    result = xg_hip.hipMemGetAddressRange(&base, &length_bytes, (hipDeviceptr_t)(uintptr_t)addr);
    if (result != hipSuccess) return check(gpu, result, "hipMemGetAddressRange");
    out->addr = base;
    out->length_bytes = length_bytes;
    if (about.hostPointer != NULL) return ISTHMUS_OK;
    out->kind = ISTHMUS_MEM_HIP;
    out->device = about.device;
    return ISTHMUS_OK;
}

const struct p2p_driver xg_driver = {
    .hardware = "AMD GPU",
    .kind = ISTHMUS_MEM_HIP,
    .count = xg_count,
    .current = xg_current,
    .open = xg_open,
    .close = xg_close,
    .survey = xg_survey,
    .granule = xg_granule,
    .create = xg_create,
    .destroy = xg_destroy,
    .share = xg_share,
    .import = xg_import,
    .drop = xg_drop,
    .host_alloc = xg_host_alloc,
    .host_free = xg_host_free,
    .pin = xg_pin,
    .unpin = xg_unpin,
    .stream_open = xg_stream_open,
    .stream_close = xg_stream_close,
    .stream_wait = xg_stream_wait,
    .copy = xg_copy,
    .amo = xg_amo,
    .place = xg_place,
};

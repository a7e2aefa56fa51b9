/* plugins/xgmi/hip_mem.c: see xgmi.h. Memory that HIP allocates is fine-grained, so that a peer's writes are visible to
 * a kernel that runs. It goes to another process by an opaque handle of 64 bytes; where there is virtual memory
 * (hip_vmm.c), that is used instead, and its pieces go by descriptor. */
#include "plugins/xgmi/xgmi.h"

#include <string.h>

enum { GRANULE_BYTES = 64 << 10 };

uint64_t xg_granule(struct p2p_gpu *gpu) { return gpu->granule > 0 ? gpu->granule : GRANULE_BYTES; }

void xg_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    const struct isthmus_services *s = gpu->services;
    if (memory->handle != 0) {
        xg_vmm_destroy(gpu, memory);
        return;
    }
    hipError_t result = xg_hip.hipFree(memory->addr);
    if (result != hipSuccess) s->log(s->core, ISTHMUS_LOG_DEBUG, "hipFree: %s", xg_result_name(result));
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

static isthmus_status allocate(struct p2p_gpu *gpu, uint64_t length_bytes, struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    void *got = NULL;
    hipError_t result = xg_hip.hipExtMallocWithFlags(&got, length_bytes, hipDeviceMallocFinegrained);
    if (result != hipSuccess)
        return s->fail(s->core, xg_status(result), "hipExtMallocWithFlags of %llu bytes: %s",
                       (unsigned long long)length_bytes, xg_result_name(result));
    *out = (struct p2p_memory){.addr = got, .length_bytes = length_bytes};
    return ISTHMUS_OK;
}

isthmus_status xg_allocate(struct p2p_gpu *gpu, uint64_t length_bytes, struct p2p_memory *out)
{
    isthmus_status status = allocate(gpu, length_bytes, out);
    if (status != ISTHMUS_OK) return status;
    status = xg_check(gpu, clear(out->addr, length_bytes), "clearing device memory");
    if (status != ISTHMUS_OK) (void)xg_hip.hipFree(out->addr);
    return status;
}

/* The engine passes an address only where there is virtual memory. */
isthmus_status xg_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    int before;
    struct p2p_memory memory;
    isthmus_status status = xg_check(gpu, xg_enter(gpu, &before), "hipSetDevice");
    if (status == ISTHMUS_OK)
        status = gpu->granule > 0 ? xg_vmm_create(gpu, addr, length_bytes, &memory)
                                  : allocate(gpu, length_bytes, &memory);
    if (status == ISTHMUS_OK) {
        status = xg_check(gpu, clear(memory.addr, length_bytes), "clearing device memory");
        if (status == ISTHMUS_OK)
            *out = memory;
        else
            xg_destroy(gpu, &memory);
    }
    xg_leave(before);
    return status;
}

isthmus_status xg_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out)
{
    if (memory->handle != 0) return xg_vmm_share(gpu, memory, out);
    hipIpcMemHandle_t handle;
    _Static_assert(sizeof handle.reserved == P2P_HANDLE_BYTES, "a handle of HIP fits");
    isthmus_status status = xg_check(gpu, xg_hip.hipIpcGetMemHandle(&handle, memory->addr), "hipIpcGetMemHandle");
    if (status != ISTHMUS_OK) return status;
    out->n_bytes = sizeof handle.reserved;
    memcpy(out->bytes, handle.reserved, sizeof handle.reserved);
    return ISTHMUS_OK;
}

static isthmus_status open_handle(struct p2p_gpu *gpu, const struct p2p_share *share, uint64_t length_bytes,
                                  struct p2p_memory *out)
{
    hipIpcMemHandle_t handle;
    void *addr = NULL;
    memcpy(handle.reserved, share->bytes, sizeof handle.reserved);
    hipError_t result = xg_hip.hipIpcOpenMemHandle(&addr, handle, hipIpcMemLazyEnablePeerAccess);
    if (result == hipSuccess) *out = (struct p2p_memory){.addr = addr, .length_bytes = length_bytes};
    return xg_check(gpu, result, "hipIpcOpenMemHandle");
}

/* A peer's process usually has the same HIP; if not, what it sends shows how it shares. */
isthmus_status xg_import(struct p2p_gpu *gpu, const struct p2p_share *share, void *addr, uint64_t length_bytes,
                         struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    int before;
    if (share->fd >= 0 && gpu->granule == 0)
        return s->fail(
            s->core, ISTHMUS_ERR_UNSUPPORTED,
            "a peer shares virtual memory, which this HIP does not support; use one ROCm version on all PEs");
    if (share->fd < 0 && addr != NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "HIP does not map memory that a peer shares by handle at a given address (%p)", addr);
    isthmus_status status = xg_check(gpu, xg_enter(gpu, &before), "hipSetDevice");
    if (status == ISTHMUS_OK)
        status = share->fd >= 0 ? xg_vmm_import(gpu, share->fd, addr, length_bytes, out)
                                : open_handle(gpu, share, length_bytes, out);
    xg_leave(before);
    return status;
}

void xg_drop(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    const struct isthmus_services *s = gpu->services;
    if (memory->handle != 0) {
        xg_vmm_destroy(gpu, memory);
        return;
    }
    hipError_t result = xg_hip.hipIpcCloseMemHandle(memory->addr);
    if (result != hipSuccess) s->log(s->core, ISTHMUS_LOG_DEBUG, "hipIpcCloseMemHandle: %s", xg_result_name(result));
}

isthmus_status xg_host_alloc(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess)
        result = xg_hip.hipHostMalloc(addr, length_bytes, hipHostMallocPortable | hipHostMallocCoherent);
    xg_leave(before);
    return xg_check(gpu, result, "hipHostMalloc");
}

void xg_host_free(struct p2p_gpu *gpu, void *addr)
{
    (void)gpu;
    (void)xg_hip.hipHostFree(addr);
}

isthmus_status xg_pin(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    int before;
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = xg_hip.hipHostRegister(addr, length_bytes, hipHostRegisterPortable);
    xg_leave(before);
    return xg_check(gpu, result, "hipHostRegister");
}

void xg_unpin(struct p2p_gpu *gpu, void *addr)
{
    (void)gpu;
    (void)xg_hip.hipHostUnregister(addr);
}

/* ---- memory at an address ---- */

/* The names and values of memory types differ between releases; which of its pointers are set does not. */
isthmus_status xg_place(struct p2p_gpu *gpu, const void *addr, struct isthmus_mem *out)
{
    const struct isthmus_services *s = gpu->services;
    hipPointerAttribute_t about = {0};
    hipDeviceptr_t base = NULL;
    size_t length_bytes = 0;
    hipError_t result = xg_hip.hipPointerGetAttributes(&about, addr);
    if (result == hipErrorInvalidValue || (result == hipSuccess && about.devicePointer == NULL))
        return ISTHMUS_OK; /* not known to HIP: host memory */
    if (result != hipSuccess) return xg_check(gpu, result, "hipPointerGetAttributes");
    if (about.isManaged)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "HIP managed memory at %p is not supported; use memory of hipMalloc or shmem_malloc", addr);
    result = xg_hip.hipMemGetAddressRange(&base, &length_bytes, (hipDeviceptr_t)(uintptr_t)addr);
    if (result != hipSuccess) return xg_check(gpu, result, "hipMemGetAddressRange");
    out->addr = base;
    out->length_bytes = length_bytes;
    if (about.hostPointer != NULL) return ISTHMUS_OK;
    out->kind = ISTHMUS_MEM_HIP;
    out->device = about.device;
    return ISTHMUS_OK;
}

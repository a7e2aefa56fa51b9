/* plugins/xgmi/hip_vmm.c: see xgmi.h. HIP's virtual memory, in its form since HIP 7: before, descriptors were imported
 * through a pointer, properties lay otherwise, and there was none that is uncached. Uncached it must be, as
 * hipExtMallocWithFlags makes it fine-grained: a kernel that polls a flag sees what a peer writes. */
#include "plugins/xgmi/xgmi.h"

enum { NEEDED_VERSION = 70000000, TYPE_UNCACHED = 0x40000000 };

/* hipMemAllocationProp of HIP 7, which the headers that this is built with may have otherwise. */
struct properties {
    int type, handle_types;
    hipMemLocation location;
    void *unused;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
    } flags;
};

static const hipMemAllocationHandleType by_fd = hipMemHandleTypePosixFileDescriptor;

static struct properties properties_of(const struct p2p_gpu *gpu)
{
    return (struct properties){
        .type = TYPE_UNCACHED,
        .handle_types = (int)by_fd,
        .location = {.type = hipMemLocationTypeDevice, .id = gpu->device},
    };
}

static isthmus_status check(const struct p2p_gpu *gpu, hipError_t result, const char *what, uint64_t length_bytes)
{
    const struct isthmus_services *s = gpu->services;
    if (result == hipSuccess) return ISTHMUS_OK;
    return s->fail(s->core, xg_status(result), "%s of %llu bytes: %s", what, (unsigned long long)length_bytes,
                   xg_result_name(result));
}

static hipMemGenericAllocationHandle_t handle_of(const struct p2p_memory *memory)
{
    return (hipMemGenericAllocationHandle_t)(uintptr_t)memory->handle;
}

/* ---- is it here? ---- */

static bool has_calls(void)
{
    return xg_more.hipMemGetAllocationGranularity != NULL && xg_more.hipMemAddressReserve != NULL &&
           xg_more.hipMemAddressFree != NULL && xg_more.hipMemCreate != NULL && xg_more.hipMemRelease != NULL &&
           xg_more.hipMemMap != NULL && xg_more.hipMemUnmap != NULL && xg_more.hipMemSetAccess != NULL &&
           xg_more.hipMemExportToShareableHandle != NULL && xg_more.hipMemImportFromShareableHandle != NULL;
}

/* Creates and releases one piece, because only that shows whether a device has such memory. */
static hipError_t try_piece(const struct p2p_gpu *gpu, uint64_t *granule)
{
    const struct properties prop = properties_of(gpu);
    hipMemGenericAllocationHandle_t handle = NULL;
    size_t got = 0;
    hipError_t result = xg_more.hipMemGetAllocationGranularity(&got, (const void *)&prop,
                                                               hipMemAllocationGranularityRecommended);
    if (result == hipSuccess && got == 0) result = hipErrorNotSupported;
    if (result == hipSuccess) result = xg_more.hipMemCreate(&handle, got, (const void *)&prop, 0);
    if (result == hipSuccess) result = xg_more.hipMemRelease(handle);
    *granule = got;
    return result;
}

uint64_t xg_vmm_granule(const struct p2p_gpu *gpu)
{
    const struct isthmus_services *s = gpu->services;
    int version = 0, before;
    uint64_t granule = 0;
    if (!has_calls() || xg_hip.hipRuntimeGetVersion(&version) != hipSuccess || version < NEEDED_VERSION) {
        s->log(s->core, ISTHMUS_LOG_INFO, "memory does not grow: virtual memory is used from HIP 7 on");
        return 0;
    }
    hipError_t result = xg_enter(gpu, &before);
    if (result == hipSuccess) result = try_piece(gpu, &granule);
    xg_leave(before);
    if (result == hipSuccess) return granule;
    s->log(s->core, ISTHMUS_LOG_INFO, "memory does not grow: GPU %d has no uncached virtual memory: %s", gpu->device,
           xg_result_name(result));
    return 0;
}

/* ---- addresses ---- */

isthmus_status xg_vmm_reserve(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    return check(gpu, xg_more.hipMemAddressReserve(addr, length_bytes, 0, NULL, 0), "hipMemAddressReserve",
                 length_bytes);
}

void xg_vmm_unreserve(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    const struct isthmus_services *s = gpu->services;
    hipError_t result = xg_more.hipMemAddressFree(addr, length_bytes);
    if (result != hipSuccess) s->log(s->core, ISTHMUS_LOG_DEBUG, "hipMemAddressFree: %s", xg_result_name(result));
}

/* ---- pieces: every function with our device current ---- */

static hipError_t map(const struct p2p_gpu *gpu, const struct p2p_memory *memory)
{
    const hipMemAccessDesc desc = {.location = {.type = hipMemLocationTypeDevice, .id = gpu->device},
                                   .flags = hipMemAccessFlagsProtReadWrite};
    hipError_t result = xg_more.hipMemMap(memory->addr, memory->length_bytes, 0, handle_of(memory), 0);
    if (result != hipSuccess) return result;
    result = xg_more.hipMemSetAccess(memory->addr, memory->length_bytes, &desc, 1);
    if (result != hipSuccess) (void)xg_more.hipMemUnmap(memory->addr, memory->length_bytes);
    return result;
}

/* Takes the handle over, also when it fails. Without addr at new addresses. */
static isthmus_status place(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes,
                            hipMemGenericAllocationHandle_t handle, struct p2p_memory *out)
{
    struct p2p_memory memory = {
        .addr = addr, .length_bytes = length_bytes, .handle = (uintptr_t)handle, .owns_addr = addr == NULL};
    isthmus_status status = ISTHMUS_OK;
    if (memory.owns_addr) {
        void *own = NULL;
        status = xg_vmm_reserve(gpu, length_bytes, &own);
        memory.addr = own;
    }
    if (status == ISTHMUS_OK) {
        status = check(gpu, map(gpu, &memory), "hipMemMap, hipMemSetAccess", length_bytes);
        if (status != ISTHMUS_OK && memory.owns_addr) xg_vmm_unreserve(gpu, memory.addr, length_bytes);
    }
    if (status == ISTHMUS_OK)
        *out = memory;
    else
        (void)xg_more.hipMemRelease(handle);
    return status;
}

isthmus_status xg_vmm_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    const struct properties prop = properties_of(gpu);
    hipMemGenericAllocationHandle_t handle = NULL;
    isthmus_status status = check(gpu, xg_more.hipMemCreate(&handle, length_bytes, (const void *)&prop, 0),
                                  "hipMemCreate", length_bytes);
    return status == ISTHMUS_OK ? place(gpu, addr, length_bytes, handle, out) : status;
}

void xg_vmm_destroy(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    const struct isthmus_services *s = gpu->services;
    hipError_t result = xg_more.hipMemUnmap(memory->addr, memory->length_bytes);
    if (result == hipSuccess) result = xg_more.hipMemRelease(handle_of(memory));
    if (result != hipSuccess)
        s->log(s->core, ISTHMUS_LOG_DEBUG, "hipMemUnmap, hipMemRelease: %s", xg_result_name(result));
    if (memory->owns_addr) xg_vmm_unreserve(gpu, memory->addr, memory->length_bytes);
}

isthmus_status xg_vmm_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out)
{
    return xg_check(gpu, xg_more.hipMemExportToShareableHandle(&out->fd, handle_of(memory), by_fd, 0),
                    "hipMemExportToShareableHandle");
}

isthmus_status xg_vmm_import(struct p2p_gpu *gpu, int fd, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    hipMemGenericAllocationHandle_t handle = NULL;
    isthmus_status status = xg_check(gpu, xg_more.hipMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, by_fd),
                                     "hipMemImportFromShareableHandle");
    return status == ISTHMUS_OK ? place(gpu, addr, length_bytes, handle, out) : status;
}

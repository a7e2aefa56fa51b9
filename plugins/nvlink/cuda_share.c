/* plugins/nvlink/cuda_share.c: see nvlink.h. How memory is shared with peers, and which of the program's own can be. A
 * piece is a mapping: one handle may be mapped several times, also side by side. Any of its addresses gives the handle,
 * and the attributes MAPPING_ where it begins and ends. (Those named RANGE_ describe the reservation, and
 * cuMemGetAddressRange returns no beginning for memory on a NUMA node of the host.) */
#include "plugins/nvlink/nvlink.h"

#include <strings.h>

/* ---- by which handle ---- */

/* Fabric handles go through the driver's own service, and so where no descriptor can go. */
isthmus_status nvl_choose_handle_type(struct p2p_gpu *gpu)
{
    const struct isthmus_services *s = gpu->services;
    const char *wish = s->config(s->core, "CUMEM_HANDLE_TYPE");
    int has = 0;
    gpu->handle_type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (wish == NULL || *wish == '\0' || strcasecmp(wish, "FILE_DESCRIPTOR") == 0) return ISTHMUS_OK;
    if (strcasecmp(wish, "FABRIC") != 0)
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "ISTHMUS_NVLINK_CUMEM_HANDLE_TYPE is '%s'; valid: FILE_DESCRIPTOR, FABRIC", wish);
    gpu->handle_type = CU_MEM_HANDLE_TYPE_FABRIC;
    CUresult result = nvl_cuda.cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
                                                    gpu->device);
    if (result == CUDA_SUCCESS && has) return ISTHMUS_OK;
    return s->fail(
        s->core, ISTHMUS_ERR_NO_DEVICE,
        "GPU %d cannot share memory by fabric handles; set ISTHMUS_NVLINK_CUMEM_HANDLE_TYPE to FILE_DESCRIPTOR",
        gpu->device);
}

/* A descriptor, or a fabric handle. Memory of the program's own goes by descriptor: adopt() has checked that. */
isthmus_status nvl_share(struct p2p_gpu *gpu, const struct p2p_memory *memory, struct p2p_share *out)
{
    _Static_assert(sizeof(CUmemFabricHandle) == P2P_HANDLE_BYTES, "a fabric handle fits");
    bool is_fabric = gpu->handle_type == CU_MEM_HANDLE_TYPE_FABRIC && !memory->is_adopted;
    CUmemAllocationHandleType type = is_fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    out->n_bytes = is_fabric ? sizeof(CUmemFabricHandle) : 0;
    void *at = is_fabric ? (void *)out->bytes : &out->fd;
    return nvl_check(gpu, nvl_cuda.cuMemExportToShareableHandle(at, memory->handle, type, 0),
                     "cuMemExportToShareableHandle");
}

/* ---- the program's own memory of CUDA's virtual memory interface ---- */

/* Returns the handle of the mapping at addr; the caller releases it. */
static CUresult retain(CUdeviceptr addr, CUmemGenericAllocationHandle *handle)
{
    return nvl_cuda.cuMemRetainAllocationHandle(handle, (void *)(uintptr_t)addr);
}

static isthmus_status check_properties(const struct p2p_gpu *gpu, CUmemGenericAllocationHandle handle, const void *addr)
{
    const struct isthmus_services *s = gpu->services;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUresult result = nvl_cuda.cuMemGetAllocationPropertiesFromHandle(&prop, handle);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuMemGetAllocationPropertiesFromHandle");
    if ((prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) return ISTHMUS_OK;
    return s->fail(
        s->core, ISTHMUS_ERR_UNSUPPORTED,
        "the memory at %p cannot be shared: its requestedHandleTypes lack CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR",
        addr);
}

/* Peers map a piece from its beginning on: the driver takes no offset. */
static isthmus_status find_piece(const struct p2p_gpu *gpu, CUmemGenericAllocationHandle handle, CUdeviceptr at,
                                 uint64_t length_bytes, struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    CUdeviceptr base = 0;
    size_t piece_bytes = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    void *values[] = {&base, &piece_bytes};
    CUresult result = nvl_cuda.cuPointerGetAttributes(sizeof asked / sizeof *asked, asked, values, at);
    if (result != CUDA_SUCCESS) return nvl_check(gpu, result, "cuPointerGetAttributes");
    if (at - base >= piece_bytes)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "CUDA does not report the address range of the memory at %p",
                       (void *)(uintptr_t)at);
    if (length_bytes > base + piece_bytes - at)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "the memory at %p ends at %p; register each piece of cuMemCreate by itself",
                       (void *)(uintptr_t)at, (void *)(uintptr_t)(base + piece_bytes));
    *out = (struct p2p_memory){
        .addr = (char *)(uintptr_t)base, .length_bytes = piece_bytes, .handle = handle, .is_adopted = true};
    return ISTHMUS_OK;
}

isthmus_status nvl_adopt(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)addr;
    CUmemGenericAllocationHandle handle;
    CUresult result = retain(at, &handle);
    if (result != CUDA_SUCCESS)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "the memory at %p cannot be shared: it was not allocated by cuMemCreate: %s; allocate it by "
                       "cuMemCreate, or in the symmetric heap",
                       addr, nvl_result_name(result));
    isthmus_status status = check_properties(gpu, handle, addr);
    if (status == ISTHMUS_OK) status = find_piece(gpu, handle, at, length_bytes, out);
    if (status != ISTHMUS_OK) (void)nvl_cuda.cuMemRelease(handle);
    return status;
}

bool nvl_is_extended(const void *addr)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemGenericAllocationHandle handle;
    if (retain((CUdeviceptr)(uintptr_t)addr, &handle) != CUDA_SUCCESS) return false;
    CUresult result = nvl_cuda.cuMemGetAllocationPropertiesFromHandle(&prop, handle);
    (void)nvl_cuda.cuMemRelease(handle);
    return result == CUDA_SUCCESS && prop.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

void nvl_release(struct p2p_gpu *gpu, struct p2p_memory *memory)
{
    const struct isthmus_services *s = gpu->services;
    CUresult result = nvl_cuda.cuMemRelease(memory->handle);
    if (result != CUDA_SUCCESS) s->log(s->core, ISTHMUS_LOG_DEBUG, "cuMemRelease: %s", nvl_result_name(result));
}

/* plugins/xelink/ze_vmm.c: see xelink.h. Memory at addresses of our choice: pieces of physical memory under a
 * reservation. A piece is shared with a peer by the handle of its first address, as other memory is. The specification
 * of Level Zero allows that for memory of zeMemAllocDevice; its conformance tests demand it of pieces too. The device
 * is tried when it is opened: if its driver refuses, memory does not grow, and a heap is one allocation. */
#include "plugins/xelink/xelink.h"

enum { LEAST_BYTES = 2 << 20 };

static bool works(ze_result_t result) { return result == ZE_RESULT_SUCCESS; }

isthmus_status xe_reserve(struct p2p_gpu *gpu, uint64_t length_bytes, void **addr)
{
    return xe_check(gpu->services, xe_ze.zeVirtualMemReserve(gpu->context, NULL, length_bytes, addr),
                    "zeVirtualMemReserve");
}

void xe_unreserve(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes)
{
    xe_note(gpu->services, xe_ze.zeVirtualMemFree(gpu->context, addr, length_bytes), "zeVirtualMemFree");
}

isthmus_status xe_vmm_create(struct p2p_gpu *gpu, void *addr, uint64_t length_bytes, struct p2p_memory *out)
{
    const struct isthmus_services *s = gpu->services;
    ze_physical_mem_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, .size = length_bytes};
    ze_physical_mem_handle_t piece = NULL;
    ze_result_t result = xe_ze.zePhysicalMemCreate(gpu->context, gpu->device, &desc, &piece);
    if (!works(result))
        return s->fail(s->core, xe_status(result), "zePhysicalMemCreate of %llu bytes: Level Zero's error %#x",
                       (unsigned long long)length_bytes, (unsigned)result);
    isthmus_status status = xe_check(
        s, xe_ze.zeVirtualMemMap(gpu->context, addr, length_bytes, piece, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
        "zeVirtualMemMap");
    if (status != ISTHMUS_OK)
        xe_note(s, xe_ze.zePhysicalMemDestroy(gpu->context, piece), "zePhysicalMemDestroy");
    else
        *out = (struct p2p_memory){.addr = addr, .length_bytes = length_bytes, .handle = (uint64_t)(uintptr_t)piece};
    return status;
}

void xe_vmm_destroy(struct p2p_gpu *gpu, const struct p2p_memory *memory)
{
    ze_physical_mem_handle_t piece = (ze_physical_mem_handle_t)(uintptr_t)memory->handle;
    xe_note(gpu->services, xe_ze.zeVirtualMemUnmap(gpu->context, memory->addr, memory->length_bytes),
            "zeVirtualMemUnmap");
    xe_note(gpu->services, xe_ze.zePhysicalMemDestroy(gpu->context, piece), "zePhysicalMemDestroy");
}

/* The second granule of two: a piece that is not where the reservation begins. */
static bool try_piece(struct p2p_gpu *gpu, char *addr, uint64_t granule)
{
    struct p2p_memory piece;
    ze_ipc_mem_handle_t handle;
    if (xe_vmm_create(gpu, addr + granule, granule, &piece) != ISTHMUS_OK) return false;
    bool is_shared = works(xe_ze.zeMemGetIpcHandle(gpu->context, piece.addr, &handle));
    xe_vmm_destroy(gpu, &piece);
    return is_shared;
}

void xe_vmm_try(struct p2p_gpu *gpu)
{
    const struct isthmus_services *s = gpu->services;
    size_t page_bytes = 0;
    void *addr = NULL;
    bool is_there = works(xe_ze.zeVirtualMemQueryPageSize(gpu->context, gpu->device, LEAST_BYTES, &page_bytes));
    uint64_t granule = page_bytes > LEAST_BYTES ? page_bytes : LEAST_BYTES;
    if (is_there) is_there = works(xe_ze.zeVirtualMemReserve(gpu->context, NULL, 2 * granule, &addr));
    if (is_there) {
        is_there = try_piece(gpu, addr, granule);
        xe_unreserve(gpu, addr, 2 * granule);
    }
    if (is_there) gpu->granule = granule;
    if (!is_there) s->log(s->core, ISTHMUS_LOG_INFO, "memory does not grow: this driver does not share pieces of it");
}

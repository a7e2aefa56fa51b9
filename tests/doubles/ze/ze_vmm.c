/* tests/doubles/ze/ze_vmm.c: see ze.h. Virtual memory: reservations, pieces of physical memory, and what is mapped
 * where. The rules that it keeps: sizes and addresses in whole pages, a piece is mapped as a whole, nothing is mapped
 * twice at one address, and what is unmapped is whole mappings. */
#include "tests/doubles/ze/ze.h"

static uint64_t number_of(const void *addr) { return (uint64_t)(uintptr_t)addr; }

static ze_result_t ok_or_invalid(bool is_ok) { return is_ok ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT; }

static bool are_pages(const void *addr, size_t size)
{
    return size > 0 && size % GPU_GRANULE_BYTES == 0 && number_of(addr) % GPU_GRANULE_BYTES == 0;
}

static ze_result_t query_page_size(ze_context_handle_t context, ze_device_handle_t device, size_t size, size_t *out)
{
    (void)context, (void)device, (void)size;
    ENTER("zeVirtualMemQueryPageSize", ZE_RESULT_ERROR_DEVICE_LOST);
    *out = GPU_GRANULE_BYTES;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t reserve(ze_context_handle_t context, const void *start, size_t size, void **out)
{
    (void)context, (void)start;
    ENTER("zeVirtualMemReserve", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (!are_pages(NULL, size)) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    *out = gpu_reserve(size, GPU_GRANULE_BYTES);
    return *out != NULL ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static ze_result_t unreserve(ze_context_handle_t context, const void *addr, size_t size)
{
    (void)context;
    ENTER("zeVirtualMemFree", ZE_RESULT_ERROR_DEVICE_LOST);
    return ok_or_invalid(gpu_unreserve(number_of(addr), size));
}

static ze_result_t piece_create(ze_context_handle_t context, ze_device_handle_t device, ze_physical_mem_desc_t *desc,
                                ze_physical_mem_handle_t *out)
{
    (void)context;
    ENTER("zePhysicalMemCreate", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (desc->stype != ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC || double_ordinal(device) < 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (!are_pages(NULL, desc->size)) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    *out = (ze_physical_mem_handle_t)(void *)gpu_memory_create(double_ordinal(device), desc->size);
    return *out != NULL ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static ze_result_t piece_destroy(ze_context_handle_t context, ze_physical_mem_handle_t piece)
{
    (void)context;
    ENTER("zePhysicalMemDestroy", ZE_RESULT_ERROR_DEVICE_LOST);
    gpu_memory_release((struct gpu_memory *)(void *)piece);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t map(ze_context_handle_t context, const void *addr, size_t size, ze_physical_mem_handle_t piece,
                       size_t offset, ze_memory_access_attribute_t access)
{
    struct gpu_memory *memory = (struct gpu_memory *)(void *)piece;
    (void)context;
    ENTER("zeVirtualMemMap", ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    if (!are_pages(addr, size) || offset != 0 || size != gpu_memory_bytes(memory) ||
        access != ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return ok_or_invalid(gpu_map(number_of(addr), size, memory) && gpu_allow(number_of(addr), size));
}

static ze_result_t unmap(ze_context_handle_t context, const void *addr, size_t size)
{
    (void)context;
    ENTER("zeVirtualMemUnmap", ZE_RESULT_ERROR_DEVICE_LOST);
    return ok_or_invalid(gpu_unmap(number_of(addr), size));
}

void fill_virtual_mem(ze_virtual_mem_dditable_t *table)
{
    table->pfnQueryPageSize = query_page_size;
    table->pfnReserve = reserve;
    table->pfnFree = unreserve;
    table->pfnMap = map;
    table->pfnUnmap = unmap;
}

void fill_physical_mem(ze_physical_mem_dditable_t *table)
{
    table->pfnCreate = piece_create;
    table->pfnDestroy = piece_destroy;
}

/* tests/doubles/hip/hip_vmm.c: see hip.h. HIP's virtual memory with the rules of HIP 7: properties of that release,
 * uncached memory, descriptors by value, no offset, accesses and unmapping of whole mappings. */
#include "tests/doubles/hip/hip.h"

#include <string.h>

enum { TYPE_PINNED = 1, TYPE_UNCACHED = 0x40000000 };

/* hipMemAllocationProp as HIP 7 has it; the form of HIP 5, whose headers are used here, does not work on Linux. */
struct properties {
    int type, handle_types;
    hipMemLocation location;
};

static hipError_t check_properties(const hipMemAllocationProp *opaque, struct properties *out)
{
    memcpy(out, opaque, sizeof *out);
    if (out->type != TYPE_PINNED && out->type != TYPE_UNCACHED) return hipErrorInvalidValue;
    if (out->location.type != hipMemLocationTypeDevice) return hipErrorInvalidValue;
    if (!double_is_device(out->location.id)) return hipErrorInvalidDevice;
    return (out->handle_types & ~hipMemHandleTypePosixFileDescriptor) == 0 ? hipSuccess : hipErrorNotSupported;
}

static uint64_t number_of(const void *addr) { return (uint64_t)(uintptr_t)addr; }
static hipError_t ok_or_invalid(bool ok) { return ok ? hipSuccess : hipErrorInvalidValue; }

hipError_t hipMemGetAllocationGranularity(size_t *granule, const hipMemAllocationProp *opaque,
                                          hipMemAllocationGranularity_flags option)
{
    struct properties prop;
    ENTER(hipErrorInvalidValue);
    (void)option;
    *granule = GPU_GRANULE_BYTES;
    return check_properties(opaque, &prop);
}

hipError_t hipMemAddressReserve(void **out, size_t size, size_t alignment, void *hint, unsigned long long flags)
{
    ENTER(hipErrorOutOfMemory);
    if (size == 0 || size % GPU_GRANULE_BYTES != 0 || hint != NULL || flags != 0) return hipErrorInvalidValue;
    *out = gpu_reserve(size, alignment);
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipMemAddressFree(void *addr, size_t size)
{
    ENTER(hipErrorInvalidValue);
    return ok_or_invalid(gpu_unreserve(number_of(addr), size));
}

static hipMemGenericAllocationHandle_t opaque_of(uint64_t handle)
{
    return (hipMemGenericAllocationHandle_t)(uintptr_t)handle;
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *out, size_t size, const hipMemAllocationProp *opaque,
                        unsigned long long flags)
{
    struct properties prop;
    ENTER(hipErrorOutOfMemory);
    hipError_t result = check_properties(opaque, &prop);
    if (result != hipSuccess) return result;
    if (size == 0 || size % GPU_GRANULE_BYTES != 0 || flags != 0) return hipErrorInvalidValue;
    struct gpu_memory *memory = gpu_memory_create(prop.location.id, size);
    if (memory == NULL) return hipErrorOutOfMemory;
    gpu_memory_set_types(memory, (unsigned)prop.handle_types);
    *out = opaque_of(gpu_handle_make(memory));
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    ENTER(hipErrorInvalidValue);
    return ok_or_invalid(gpu_handle_release(number_of(handle)));
}

hipError_t hipMemMap(void *addr, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
                     unsigned long long flags)
{
    ENTER(hipErrorOutOfMemory);
    struct gpu_memory *memory = gpu_handle_memory(number_of(handle));
    if (memory == NULL || offset != 0 || flags != 0 || size % GPU_GRANULE_BYTES != 0) return hipErrorInvalidValue;
    return ok_or_invalid(gpu_map(number_of(addr), size, memory));
}

hipError_t hipMemUnmap(void *addr, size_t size)
{
    ENTER(hipErrorInvalidValue);
    return ok_or_invalid(gpu_unmap(number_of(addr), size));
}

hipError_t hipMemSetAccess(void *addr, size_t size, const hipMemAccessDesc *desc, size_t n)
{
    ENTER(hipErrorInvalidValue);
    for (size_t i = 0; i < n; i++)
        if (desc[i].location.type != hipMemLocationTypeDevice || !double_is_device(desc[i].location.id))
            return hipErrorInvalidValue;
    bool is_read_write = n > 0 && desc[0].flags == hipMemAccessFlagsProtReadWrite;
    return ok_or_invalid(is_read_write && gpu_allow(number_of(addr), size));
}

hipError_t hipMemExportToShareableHandle(void *out, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags)
{
    ENTER(hipErrorInvalidValue);
    struct gpu_memory *memory = gpu_handle_memory(number_of(handle));
    if (memory == NULL || type != hipMemHandleTypePosixFileDescriptor || flags != 0 ||
        gpu_memory_types(memory) != (unsigned)type)
        return hipErrorInvalidValue;
    int fd = gpu_memory_export(memory);
    if (fd < 0) return hipErrorInvalidValue;
    memcpy(out, &fd, sizeof fd);
    return hipSuccess;
}

hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *out, void *descriptor,
                                           hipMemAllocationHandleType type)
{
    ENTER(hipErrorOutOfMemory);
    if (type != hipMemHandleTypePosixFileDescriptor) return hipErrorInvalidValue;
    struct gpu_memory *memory = gpu_memory_import((int)(intptr_t)descriptor);
    if (memory == NULL) return hipErrorInvalidValue;
    *out = opaque_of(gpu_handle_make(memory));
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

/* tests/doubles/cuda/cuda.c: libcuda.so.1, the double: the CUDA driver's calls on the device of tests/doubles/gpu.
 * It keeps the driver's rules as its documentation states them, so that host code which breaks one fails here: pieces
 * of 2 MiB, no access before cuMemSetAccess, whole mappings only, a current context per thread, handles that end,
 * errors that stay. Knobs: gpu.h. Where a rule was guessed, docs/transports/nvlink.md lists it for a comparison on
 * hardware. */
#include "tests/doubles/cuda/cuda_double.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CONTEXT_DEPTH = 8,
    DEFAULT_VERSION = 12020,
    FOR_ADAPTERS = 1 << 16
}; /* the last: kept among the types of memory */

struct CUctx_st {
    int device, retained;
};
const int gpu_illegal_address = CUDA_ERROR_ILLEGAL_ADDRESS;

bool double_is_initialized;
static struct CUctx_st contexts[GPU_DEVICES_MAX];
static _Thread_local struct {
    CUcontext stack[CONTEXT_DEPTH];
    int n;
} current;

_Thread_local bool double_is_in_host_function;

static CUcontext current_context(void) { return current.n > 0 ? current.stack[current.n - 1] : NULL; }
bool double_has_context(void) { return current_context() != NULL; }

static bool is_device(int device) { return device >= 0 && device < gpu_knobs()->devices; }

/* ---- driver, devices, contexts ---- */

CUresult cuInit(unsigned flags)
{
    ENTER_CODE(CUDA_ERROR_NO_DEVICE);
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (gpu_knobs()->devices == 0) return CUDA_ERROR_NO_DEVICE;
    for (int i = 0; i < GPU_DEVICES_MAX; i++) contexts[i].device = i;
    double_is_initialized = true;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    ENTER_CODE(CUDA_ERROR_INVALID_VALUE);
    *version = gpu_knobs()->version != 0 ? gpu_knobs()->version : DEFAULT_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "CUDA_ERROR_%d", (int)error);
    *name = error == CUDA_SUCCESS                 ? "CUDA_SUCCESS"
            : error == CUDA_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                                  : text;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER();
    *count = gpu_knobs()->devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER();
    if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    ENTER();
    snprintf(name, (size_t)room, "double of a GPU %d", device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    ENTER();
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    memset(uuid, 0x5d, sizeof *uuid);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *address, int room, CUdevice device)
{
    ENTER();
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(address, (size_t)room, "0000:%02x:00.0", 0x40 + device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER();
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED: *value = gpu_knobs()->has_fabric; break;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: *value = gpu_knobs()->has_rdma; break;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING: *value = gpu_knobs()->writes_order; break;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: *value = gpu_knobs()->has_flush; break;
    default: *value = double_launch_attribute((int)attribute); break;
    }
    return CUDA_SUCCESS;
}

/* The double holds nothing back: it counts the calls and checks their arguments. */
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
    ENTER_CONTEXT();
    bool is_scope = scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
                    scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES;
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX || !is_scope) return CUDA_ERROR_INVALID_VALUE;
    return gpu_knobs()->has_flush ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    ENTER();
    if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer && gpu_knobs()->has_peers; /* as the driver: a device is no peer of its own */
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
    ENTER();
    (void)attribute;
    if (!is_device(device) || !is_device(peer) || device == peer) return CUDA_ERROR_INVALID_DEVICE;
    *value = gpu_knobs()->has_peer_atomics;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    contexts[device].retained++;
    gpu_count(GPU_CONTEXT, 1);
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER();
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (contexts[device].retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    contexts[device].retained--;
    gpu_count(GPU_CONTEXT, -1);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    ENTER();
    *context = current_context();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    ENTER_CONTEXT();
    *device = current_context()->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    ENTER();
    if (context == NULL || context->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (current.n == CONTEXT_DEPTH) return CUDA_ERROR_OUT_OF_MEMORY;
    current.stack[current.n++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    ENTER_CODE(CUDA_ERROR_INVALID_CONTEXT);
    if (current.n == 0) return CUDA_ERROR_INVALID_CONTEXT;
    current.n--;
    if (context != NULL) *context = current.stack[current.n];
    return CUDA_SUCCESS;
}

/* ---- memory by virtual addresses ---- */

static CUresult check_prop(const CUmemAllocationProp *prop)
{
    bool is_on_host = prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        (!is_on_host && prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE))
        return CUDA_ERROR_INVALID_VALUE;
    if (is_on_host ? prop->location.id != 0 : !is_device(prop->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    if (prop->allocFlags.gpuDirectRDMACapable != 0 && !gpu_knobs()->has_rdma) return CUDA_ERROR_NOT_SUPPORTED;
    const unsigned known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
    return (prop->requestedHandleTypes & ~known) != 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granule, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    ENTER();
    (void)option;
    *granule = GPU_GRANULE_BYTES;
    return check_prop(prop);
}

CUresult cuMemAddressReserve(CUdeviceptr *addr, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags)
{
    ENTER();
    (void)hint;
    if (size == 0 || size % GPU_GRANULE_BYTES != 0 || flags != 0 || (alignment & (alignment - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    void *got = gpu_reserve(size, alignment);
    if (got == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    *addr = (CUdeviceptr)(uintptr_t)got;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t size)
{
    ENTER();
    return gpu_unreserve(addr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags)
{
    ENTER();
    CUresult result = check_prop(prop);
    if (result != CUDA_SUCCESS) return result;
    if (size == 0 || size % GPU_GRANULE_BYTES != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    bool is_on_host = prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    struct gpu_memory *memory = gpu_memory_create(is_on_host ? -1 - prop->location.id : prop->location.id, size);
    if (memory == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned for_adapters = prop->allocFlags.gpuDirectRDMACapable != 0 ? FOR_ADAPTERS : 0;
    gpu_memory_set_types(memory, prop->requestedHandleTypes | for_adapters);
    *handle = gpu_handle_make(memory);
    return *handle != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ENTER();
    return gpu_handle_release(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    ENTER();
    struct gpu_memory *memory = gpu_handle_memory(handle);
    if (memory == NULL || offset != 0 || flags != 0 || addr % GPU_GRANULE_BYTES != 0 || size % GPU_GRANULE_BYTES != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return gpu_map(addr, size, memory) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t size)
{
    ENTER();
    return gpu_unmap(addr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    ENTER();
    bool ok = count > 0;
    for (size_t i = 0; i < count && ok; i++) {
        bool is_host = desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA; /* of memory that lies there only */
        if (!is_host && (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(desc[i].location.id)))
            return CUDA_ERROR_INVALID_DEVICE;
        ok = desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
             (is_host ? gpu_allow_host(addr, size) : gpu_allow(addr, size));
    }
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags)
{
    ENTER();
    struct gpu_memory *memory = gpu_handle_memory(handle);
    if (memory == NULL || (gpu_memory_types(memory) & type) == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        memset(out, 0, sizeof(CUmemFabricHandle));
        gpu_ticket_write(memory, out);
        return CUDA_SUCCESS;
    }
    int fd = gpu_memory_export(memory);
    if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
    memcpy(out, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
                                        CUmemAllocationHandleType type)
{
    ENTER();
    struct gpu_memory *memory = type == CU_MEM_HANDLE_TYPE_FABRIC ? gpu_ticket_open(os_handle)
                                                                  : gpu_memory_import((int)(intptr_t)os_handle);
    if (memory == NULL) return CUDA_ERROR_INVALID_VALUE;
    *handle = gpu_handle_make(memory);
    return *handle != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    ENTER();
    struct gpu_place place = gpu_find((CUdeviceptr)(uintptr_t)addr);
    if (place.kind != GPU_DEVICE || !place.is_piece) return CUDA_ERROR_INVALID_VALUE;
    *handle = gpu_handle_retain(place.memory);
    return *handle != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    ENTER();
    struct gpu_memory *memory = gpu_handle_memory(handle);
    if (memory == NULL) return CUDA_ERROR_INVALID_VALUE;
    int device = gpu_memory_device(memory);
    *prop = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)(gpu_memory_types(memory) & ~(unsigned)FOR_ADAPTERS),
        .location = {.type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE,
                     .id = device < 0 ? -1 - device : device},
        .allocFlags.gpuDirectRDMACapable = (gpu_memory_types(memory) & FOR_ADAPTERS) != 0,
    };
    return CUDA_SUCCESS;
}

/* The older way, which the plugin takes for memory that no peer reaches. */
CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t size)
{
    ENTER_CONTEXT();
    size_t rounded = (size + GPU_GRANULE_BYTES - 1) / GPU_GRANULE_BYTES * GPU_GRANULE_BYTES;
    struct gpu_memory *memory = size > 0 ? gpu_memory_create(current_context()->device, rounded) : NULL;
    if (memory == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    *addr = (CUdeviceptr)(uintptr_t)gpu_alloc(memory);
    gpu_memory_release(memory); /* the mapping has it */
    return *addr != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* As the driver, it waits for the device first. */
CUresult cuMemFree_v2(CUdeviceptr addr)
{
    ENTER();
    gpu_device_wait();
    return gpu_free(addr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Memory that the driver does not know has type 0, and the call succeeds. A range is that of the addresses, a mapping
 * what lies there. */
CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **values, CUdeviceptr addr)
{
    ENTER();
    struct gpu_place place = gpu_find(addr);
    for (unsigned i = 0; i < n; i++) {
        switch (attributes[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)values[i] = place.kind == GPU_UNKNOWN                       ? 0
                                     : place.kind == GPU_DEVICE && place.device >= 0 ? CU_MEMORYTYPE_DEVICE
                                                                                     : CU_MEMORYTYPE_HOST;
            break;
        case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)values[i] = NULL; break; /* memory of cuMemCreate has none */
        case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)values[i] = 0; break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)values[i] = place.device; break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *)values[i] = place.kind == GPU_DEVICE ? place.reserved_base : place.base;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *)values[i] = place.kind == GPU_DEVICE ? place.reserved_bytes : place.length_bytes;
            break;
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            *(CUdeviceptr *)values[i] = place.kind == GPU_DEVICE ? place.base : 0;
            break;
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            *(size_t *)values[i] = place.kind == GPU_DEVICE ? place.length_bytes : 0;
            break;
        default: return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

/* ---- host memory ---- */

CUresult cuMemHostAlloc(void **addr, size_t size, unsigned flags)
{
    ENTER_CONTEXT();
    (void)flags;
    *addr = size > 0 ? gpu_host_alloc(size) : NULL;
    return *addr != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Addresses are unified: both sides use the same. */
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *view, void *addr, unsigned flags)
{
    ENTER_CONTEXT();
    if (flags != 0 || gpu_find((CUdeviceptr)(uintptr_t)addr).kind != GPU_HOST) return CUDA_ERROR_INVALID_VALUE;
    *view = (CUdeviceptr)(uintptr_t)addr;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *addr)
{
    ENTER();
    return gpu_host_free(addr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostRegister_v2(void *addr, size_t size, unsigned flags)
{
    ENTER_CONTEXT();
    (void)flags;
    if (size == 0) return CUDA_ERROR_INVALID_VALUE;
    return gpu_pin(addr, size) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void *addr)
{
    ENTER();
    return gpu_unpin(addr) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

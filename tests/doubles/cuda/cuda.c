/* tests/doubles/cuda/cuda.c: libcuda.so.1, the double: the CUDA driver's calls on the device of tests/doubles/gpu.
 * It keeps the driver's rules as its documentation states them, so that host code which breaks one fails here: pieces of
 * 2 MiB, no access before cuMemSetAccess, whole mappings only, a current context per thread, handles that end, errors that
 * stay. Knobs: gpu.h. Where a rule was guessed, docs/transports/nvlink.md lists it for a comparison on hardware. */
#include "plugins/nvlink/cuda_api.h"
#include "tests/doubles/gpu/gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isthmus/amo_cpu.h>

enum { CONTEXT_DEPTH = 8, DEFAULT_VERSION = 12020 };

#define CUDA(name, parameters) CUresult name parameters;
#include "plugins/nvlink/cuda.def"
CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t size);
CUresult cuMemFree_v2(CUdeviceptr addr);

struct CUctx_st {
    int device, retained;
};
struct CUmod_st {
    uint32_t magic;
};
enum { MODULE_MAGIC = 0x6d6f6431 };

const int gpu_illegal_address = CUDA_ERROR_ILLEGAL_ADDRESS;

static bool is_initialized;
static struct CUctx_st contexts[GPU_DEVICES_MAX];
static _Thread_local struct {
    CUcontext stack[CONTEXT_DEPTH];
    int n;
} current;

static _Thread_local bool is_in_host_function; /* of a stream: it must not call the driver */

static CUcontext current_context(void) { return current.n > 0 ? current.stack[current.n - 1] : NULL; }

/* What every call begins with. */
#define ENTER_CODE(code)                                          \
    do {                                                          \
        int failed_ = gpu_enter(__func__, code);                  \
        if (failed_ != 0) return (CUresult)failed_;               \
        if (is_in_host_function) return CUDA_ERROR_NOT_PERMITTED; \
    } while (0)
#define ENTER()                                                           \
    do {                                                                  \
        ENTER_CODE(CUDA_ERROR_OUT_OF_MEMORY);                             \
        if (!is_initialized) return CUDA_ERROR_NOT_INITIALIZED;           \
        if (gpu_device_error() != 0) return (CUresult)gpu_device_error(); \
    } while (0)
#define ENTER_CONTEXT()                                                   \
    do {                                                                  \
        ENTER();                                                          \
        if (current_context() == NULL) return CUDA_ERROR_INVALID_CONTEXT; \
    } while (0)

static bool is_device(int device) { return device >= 0 && device < gpu_knobs()->devices; }

/* ---- driver, devices, contexts ---- */

CUresult cuInit(unsigned flags)
{
    ENTER_CODE(CUDA_ERROR_NO_DEVICE);
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (gpu_knobs()->devices == 0) return CUDA_ERROR_NO_DEVICE;
    for (int i = 0; i < GPU_DEVICES_MAX; i++) contexts[i].device = i;
    is_initialized = true;
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
    bool is_fabric = attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : is_fabric ? gpu_knobs()->has_fabric : 1;
    return CUDA_SUCCESS;
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
    *value = gpu_knobs()->has_peers;
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
    *context = current.stack[--current.n];
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
    gpu_memory_set_types(memory, prop->requestedHandleTypes);
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
        .requestedHandleTypes = (CUmemAllocationHandleType)gpu_memory_types(memory),
        .location = {.type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE,
                     .id = device < 0 ? -1 - device : device},
    };
    return CUDA_SUCCESS;
}

/* For programs that allocate in the older way; our plugin does not. */
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

CUresult cuMemFree_v2(CUdeviceptr addr)
{
    ENTER();
    return gpu_free(addr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Memory that the driver does not know has type 0, and the call succeeds. A range is that of the addresses, a mapping what lies there. */
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

/* ---- streams ---- */

static struct gpu_stream *stream_of(CUstream stream)
{
    return stream != NULL ? (struct gpu_stream *)(void *)stream : gpu_stream_default();
}

static CUresult submit(CUstream stream, const struct gpu_op *op)
{
    return gpu_stream_submit(stream_of(stream), op) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    ENTER_CONTEXT();
    if ((flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
    *stream = (CUstream)(void *)gpu_stream_create();
    return *stream != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Also on a device that has failed: what a program holds can always be given back. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER_CODE(CUDA_ERROR_INVALID_HANDLE);
    if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
    gpu_stream_destroy(stream_of(stream));
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER_CONTEXT();
    gpu_stream_wait(stream_of(stream));
    return (CUresult)gpu_device_error();
}

CUresult cuCtxSynchronize(void)
{
    ENTER_CONTEXT();
    gpu_device_wait();
    return (CUresult)gpu_device_error();
}

/* Memory of the host that the driver does not know is copied by way of its own: all that goes there, and much that comes from
 * there, is done when the call returns, and so is what the stream had before. */
static bool must_wait(CUdeviceptr dest, CUdeviceptr source, size_t size)
{
    enum { IN_THE_COMMAND = 64 << 10 };
    return gpu_find(dest).kind == GPU_UNKNOWN || (gpu_find(source).kind == GPU_UNKNOWN && size > IN_THE_COMMAND);
}

CUresult cuMemcpyAsync(CUdeviceptr dest, CUdeviceptr source, size_t size, CUstream stream)
{
    ENTER_CONTEXT();
    if (!gpu_is_valid(dest, size) || !gpu_is_valid(source, size)) return CUDA_ERROR_INVALID_VALUE;
    if (size == 0) return CUDA_SUCCESS;
    CUresult result = submit(
        stream, &(struct gpu_op){.run = gpu_run_copy, .dest = dest, .source = source, .length_bytes = size});
    if (result == CUDA_SUCCESS && must_wait(dest, source, size)) gpu_stream_wait(stream_of(stream));
    return result;
}

CUresult cuMemsetD8Async(CUdeviceptr dest, unsigned char value, size_t size, CUstream stream)
{
    ENTER_CONTEXT();
    if (gpu_find(dest).kind != GPU_DEVICE || !gpu_is_valid(dest, size)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, &(struct gpu_op){.run = gpu_run_fill, .dest = dest, .value = value, .length_bytes = size});
}

static int run_wait_value(struct gpu_op *op)
{
    const uint64_t *word = gpu_word(op->dest, sizeof *word);
    if (word == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (;;) {
        uint64_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        bool is_equal = op->source == CU_STREAM_WAIT_VALUE_EQ;
        if (is_equal ? now == op->value : (int64_t)(now - op->value) >= 0) return 0;
        usleep(20); /* a device polls; this one leaves the processor to others */
    }
}

static CUresult wait_value(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags)
{
    if (flags > CU_STREAM_WAIT_VALUE_EQ || addr % 8 != 0 || gpu_find(addr).kind == GPU_UNKNOWN)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, &(struct gpu_op){.run = run_wait_value, .dest = addr, .value = value, .source = flags});
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned flags)
{
    ENTER_CONTEXT();
    return wait_value(stream, addr, value, flags);
}

static int run_write_value(struct gpu_op *op)
{
    void *word = gpu_word(op->dest, op->length_bytes);
    if (word == NULL) return CUDA_ERROR_ILLEGAL_ADDRESS;
    (void)isthmus_amo_cpu(ISTHMUS_AMO_SET, word, op->value, 0, op->length_bytes);
    return 0;
}

static CUresult write_value(CUstream stream, CUdeviceptr addr, uint64_t value, uint64_t bytes, unsigned flags)
{
    if (flags != 0 || addr % bytes != 0 || gpu_find(addr).kind == GPU_UNKNOWN || !gpu_is_valid(addr, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return submit(stream,
                  &(struct gpu_op){.run = run_write_value, .dest = addr, .value = value, .length_bytes = bytes});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags)
{
    ENTER_CONTEXT();
    return write_value(stream, addr, value, sizeof value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned flags)
{
    ENTER_CONTEXT();
    return write_value(stream, addr, value, sizeof value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned n, CUstreamBatchMemOpParams *list, unsigned flags)
{
    enum { MOST = 256 };
    ENTER_CONTEXT();
    CUresult result = n > 0 && n <= MOST && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n && result == CUDA_SUCCESS; i++) {
        const CUstreamBatchMemOpParams *op = &list[i];
        if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            result = wait_value(stream, op->waitValue.address, op->waitValue.value64, op->waitValue.flags);
        else if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
            result = write_value(stream, op->writeValue.address, op->writeValue.value64, sizeof(uint64_t),
                                 op->writeValue.flags);
        else
            result = CUDA_ERROR_INVALID_VALUE;
    }
    return result;
}

static int run_host_function(struct gpu_op *op)
{
    is_in_host_function = true;
    int result = gpu_run_function(op);
    is_in_host_function = false;
    return result;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *argument)
{
    ENTER_CONTEXT();
    if (function == NULL) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, &(struct gpu_op){.run = run_host_function, .function = function, .argument = argument});
}

/* ---- kernels: those of our plugin, each in C under the name of its entry in the image ---- */

static const struct kernel {
    const char *name;
    int n;
    const uint8_t *bytes; /* of each parameter */
    int (*run)(struct gpu_op *op);
} kernels[] = {
    {"isthmus_amo", GPU_AMO_PARAMETERS, gpu_amo_parameter_bytes, gpu_run_isthmus_amo},
};

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER_CONTEXT();
    if (strncmp(image, ".version ", 9) != 0) return CUDA_ERROR_INVALID_IMAGE;
    CUmodule own = malloc(sizeof *own);
    if (own == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char entry[80];
        snprintf(entry, sizeof entry, ".visible .entry %s(", kernels[i].name);
        if (strstr(image, entry) == NULL) {
            free(own);
            return CUDA_ERROR_INVALID_PTX;
        }
    }
    own->magic = MODULE_MAGIC;
    gpu_count(GPU_MODULE, 1);
    *module = own;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER();
    if (module == NULL || module->magic != MODULE_MAGIC) return CUDA_ERROR_INVALID_HANDLE;
    free(module);
    gpu_count(GPU_MODULE, -1);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER();
    if (module == NULL || module->magic != MODULE_MAGIC) return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(kernels[i].name, name) != 0) continue;
        *function = (CUfunction)(uintptr_t)&kernels[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* Parameters are taken here, as the driver does. */
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                        void **extra)
{
    ENTER_CONTEXT();
    (void)shared_bytes;
    const struct kernel *kernel = (const struct kernel *)(const void *)function;
    if (function == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (grid_x * grid_y * grid_z != 1 || block_x * block_y * block_z != 1 || extra != NULL || parameters == NULL)
        return CUDA_ERROR_INVALID_VALUE; /* the double runs one thread */
    struct gpu_op op = {.run = kernel->run};
    for (int i = 0; i < kernel->n; i++) memcpy(&op.parameters[i], parameters[i], kernel->bytes[i]);
    return submit(stream, &op);
}

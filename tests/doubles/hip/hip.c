/* tests/doubles/hip/hip.c: libamdhip64.so.5, the double: HIP's calls on the device of tests/doubles/gpu. Knobs: gpu.h.
 * A handle to memory is opaque to its holders: it names a file of the process that made it. */
#include "tests/doubles/hip/hip.h"

#include <hip/hiprtc.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The plugin's kernel, run by a CPU. */
#undef __global__ /* what the headers have for it is for compilers of kernels */
#undef __device__
#define __global__ static
#define __device__
#define __HIP_MEMORY_SCOPE_SYSTEM 0
#define __hip_atomic_load(addr, order, scope) __atomic_load_n(addr, order)
#define __hip_atomic_store(addr, value, order, scope) __atomic_store_n(addr, value, order)
#define __hip_atomic_exchange(addr, value, order, scope) __atomic_exchange_n(addr, value, order)
#define __hip_atomic_compare_exchange_strong(addr, expected, value, order, otherwise, scope) \
    __atomic_compare_exchange_n(addr, expected, value, 0, order, otherwise)
#define __hip_atomic_fetch_add(addr, value, order, scope) __atomic_fetch_add(addr, value, order)
#define __hip_atomic_fetch_and(addr, value, order, scope) __atomic_fetch_and(addr, value, order)
#define __hip_atomic_fetch_or(addr, value, order, scope) __atomic_fetch_or(addr, value, order)
#define __hip_atomic_fetch_xor(addr, value, order, scope) __atomic_fetch_xor(addr, value, order)
#include "plugins/xgmi/amo.hip"

enum { PAGE_BYTES = 4 << 10, DEFAULT_VERSION = 70051831 };

const int gpu_illegal_address = hipErrorIllegalAddress;

static _Thread_local int current_device;

bool double_is_device(int device) { return device >= 0 && device < gpu_knobs()->devices; }
static uint64_t number_of(const void *addr) { return (uint64_t)(uintptr_t)addr; }

/* ---- devices ---- */

hipError_t hipInit(unsigned flags)
{
    ENTER(hipErrorInvalidDevice);
    return flags == 0 ? hipSuccess : hipErrorInvalidValue;
}

const char *hipGetErrorName(hipError_t error)
{
    return error == hipErrorNoDevice      ? "hipErrorNoDevice"
           : error == hipErrorOutOfMemory ? "hipErrorOutOfMemory"
                                          : "an error";
}

hipError_t hipRuntimeGetVersion(int *version)
{
    ENTER(hipErrorInvalidValue);
    *version = gpu_knobs()->version != 0 ? gpu_knobs()->version : DEFAULT_VERSION;
    return hipSuccess;
}

hipError_t hipGetDeviceCount(int *n)
{
    ENTER(hipErrorNoDevice);
    *n = gpu_knobs()->devices;
    return hipSuccess;
}

hipError_t hipGetDevice(int *device)
{
    ENTER(hipErrorInvalidDevice);
    *device = current_device;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    ENTER(hipErrorInvalidDevice);
    if (!double_is_device(device)) return hipErrorInvalidDevice;
    current_device = device;
    return hipSuccess;
}

hipError_t hipDeviceGetName(char *name, int room, hipDevice_t device)
{
    ENTER(hipErrorInvalidDevice);
    snprintf(name, (size_t)room, "double of a GPU %d", device);
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *address, int room, int device)
{
    ENTER(hipErrorInvalidDevice);
    if (!double_is_device(device)) return hipErrorInvalidDevice;
    snprintf(address, (size_t)room, "0000:%02x:00.0", 0x60 + device);
    return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
    ENTER(hipErrorInvalidDevice);
    if (!double_is_device(device)) return hipErrorInvalidDevice;
    *value = attribute == hipDeviceAttributeCanUseStreamWaitValue;
    return hipSuccess;
}

hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER(hipErrorInvalidDevice);
    if (!double_is_device(device) || !double_is_device(peer)) return hipErrorInvalidDevice;
    *can = device != peer && gpu_knobs()->has_peers;
    return hipSuccess;
}

hipError_t hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr attribute, int device, int peer)
{
    (void)attribute;
    ENTER(hipErrorInvalidDevice);
    if (!double_is_device(device) || !double_is_device(peer) || device == peer) return hipErrorInvalidDevice;
    *value = gpu_knobs()->has_peers;
    return hipSuccess;
}

/* ---- memory ---- */

static hipError_t put_at_address(struct gpu_memory *memory, void **out)
{
    if (memory == NULL) return hipErrorOutOfMemory;
    *out = gpu_alloc(memory);
    gpu_memory_release(memory); /* the mapping has it */
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipExtMallocWithFlags(void **out, size_t size, unsigned flags)
{
    ENTER(hipErrorOutOfMemory);
    if (size == 0 || flags > hipDeviceMallocFinegrained) return hipErrorInvalidValue;
    return put_at_address(gpu_memory_create(current_device, (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES), out);
}

/* Waits for the device, as HIP documents. */
hipError_t hipFree(void *addr)
{
    ENTER(hipErrorInvalidValue);
    gpu_device_wait();
    return gpu_free(number_of(addr)) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipHostMalloc(void **out, size_t size, unsigned flags)
{
    (void)flags;
    ENTER(hipErrorOutOfMemory);
    *out = gpu_host_alloc(size);
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

/* The address of the host is the device's, too. */
hipError_t hipHostGetDevicePointer(void **view, void *addr, unsigned flags)
{
    ENTER(hipErrorInvalidValue);
    if (flags != 0 || gpu_find(number_of(addr)).kind != GPU_HOST) return hipErrorInvalidValue;
    *view = addr;
    return hipSuccess;
}

hipError_t hipHostFree(void *addr)
{
    ENTER(hipErrorInvalidValue);
    return gpu_host_free(addr) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipHostRegister(void *addr, size_t size, unsigned flags)
{
    (void)flags;
    ENTER(hipErrorOutOfMemory);
    return gpu_pin(addr, size) ? hipSuccess : hipErrorHostMemoryAlreadyRegistered;
}

hipError_t hipHostUnregister(void *addr)
{
    ENTER(hipErrorInvalidValue);
    return gpu_unpin(addr) ? hipSuccess : hipErrorHostMemoryNotRegistered;
}

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *out, void *addr)
{
    ENTER(hipErrorOutOfMemory);
    struct gpu_place place = gpu_find(number_of(addr));
    if (place.kind != GPU_DEVICE || place.is_piece || place.base != number_of(addr)) return hipErrorInvalidValue;
    memset(out, 0, sizeof *out);
    gpu_ticket_write(place.memory, out->reserved);
    return hipSuccess;
}

hipError_t hipIpcOpenMemHandle(void **out, hipIpcMemHandle_t opaque, unsigned flags)
{
    ENTER(hipErrorOutOfMemory);
    if (flags != hipIpcMemLazyEnablePeerAccess) return hipErrorInvalidValue;
    struct gpu_memory *memory = gpu_ticket_open(opaque.reserved);
    return memory != NULL ? put_at_address(memory, out) : hipErrorInvalidValue;
}

hipError_t hipIpcCloseMemHandle(void *addr)
{
    ENTER(hipErrorInvalidValue);
    return gpu_free(number_of(addr)) ? hipSuccess : hipErrorInvalidValue;
}

/* An address that HIP does not know is an error here, unlike with CUDA. */
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out, const void *addr)
{
    ENTER(hipErrorOutOfMemory);
    struct gpu_place place = gpu_find(number_of(addr));
    if (place.kind == GPU_UNKNOWN) return hipErrorInvalidValue;
    *out = (hipPointerAttribute_t){
        .memoryType = place.kind == GPU_DEVICE ? hipMemoryTypeDevice : hipMemoryTypeHost,
        .device = place.device,
        .devicePointer = (void *)(uintptr_t)addr,
        .hostPointer = place.kind == GPU_HOST ? (void *)(uintptr_t)addr : NULL,
    };
    return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t addr)
{
    ENTER(hipErrorOutOfMemory);
    struct gpu_place place = gpu_find(number_of(addr));
    if (place.kind == GPU_UNKNOWN) return hipErrorInvalidValue;
    *base = (hipDeviceptr_t)(uintptr_t)place.base;
    *size = place.length_bytes;
    return hipSuccess;
}

/* ---- streams ---- */

static struct gpu_stream *stream_of(hipStream_t stream)
{
    return stream != NULL ? (struct gpu_stream *)(void *)stream : gpu_stream_default();
}

static hipError_t submit(hipStream_t stream, const struct gpu_op *op)
{
    return gpu_stream_submit(stream_of(stream), op) ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *out, unsigned flags)
{
    ENTER(hipErrorOutOfMemory);
    if (flags != hipStreamNonBlocking) return hipErrorInvalidValue;
    *out = (hipStream_t)(void *)gpu_stream_create(false);
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

enum { GREATEST_PRIORITY = -1 };

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER(hipErrorLaunchFailure);
    *least = 1;
    *greatest = GREATEST_PRIORITY;
    return hipSuccess;
}

hipError_t hipStreamCreateWithPriority(hipStream_t *out, unsigned flags, int priority)
{
    ENTER(hipErrorOutOfMemory);
    if (flags != hipStreamNonBlocking) return hipErrorInvalidValue;
    *out = (hipStream_t)(void *)gpu_stream_create(priority <= GREATEST_PRIORITY);
    return *out != NULL ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    ENTER(hipErrorInvalidHandle);
    gpu_stream_destroy(stream_of(stream));
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    ENTER(hipErrorLaunchFailure);
    gpu_stream_wait(stream_of(stream));
    return (hipError_t)gpu_device_error();
}

hipError_t hipDeviceSynchronize(void)
{
    ENTER(hipErrorLaunchFailure);
    gpu_device_wait();
    return (hipError_t)gpu_device_error();
}

hipError_t hipMemcpyAsync(void *dest, const void *source, size_t size, hipMemcpyKind kind, hipStream_t stream)
{
    ENTER(hipErrorLaunchFailure);
    if (kind != hipMemcpyDefault || !gpu_is_valid(number_of(dest), size) || !gpu_is_valid(number_of(source), size))
        return hipErrorInvalidValue;
    const struct gpu_op op = {
        .run = gpu_run_copy, .dest = number_of(dest), .source = number_of(source), .length_bytes = size};
    return submit(stream, &op);
}

hipError_t hipMemsetAsync(void *dest, int value, size_t size, hipStream_t stream)
{
    ENTER(hipErrorLaunchFailure);
    if (!gpu_is_valid(number_of(dest), size)) return hipErrorInvalidValue;
    const struct gpu_op op = {
        .run = gpu_run_fill, .dest = number_of(dest), .value = (uint8_t)value, .length_bytes = size};
    return submit(stream, &op);
}

/* Unsigned numbers, and memory that HIP knows. */
static int run_wait_value(struct gpu_op *op)
{
    const uint64_t *word = gpu_word(op->dest, sizeof *word);
    if (word == NULL) return gpu_illegal_address;
    for (;;) {
        uint64_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        if (op->source == hipStreamWaitValueEq ? now == op->value : now >= op->value) return 0;
        usleep(20); /* a device polls; this one leaves the processor to others */
    }
}

hipError_t hipStreamWaitValue64(hipStream_t stream, void *addr, uint64_t value, unsigned flags, uint64_t mask)
{
    ENTER(hipErrorLaunchFailure);
    if (flags > hipStreamWaitValueEq || mask != UINT64_MAX || gpu_find(number_of(addr)).kind == GPU_UNKNOWN)
        return hipErrorInvalidValue;
    return submit(stream,
                  &(struct gpu_op){.run = run_wait_value, .dest = number_of(addr), .value = value, .source = flags});
}

static int run_write_value(struct gpu_op *op)
{
    uint64_t *word = gpu_word(op->dest, sizeof *word);
    if (word == NULL) return gpu_illegal_address;
    __atomic_store_n(word, op->value, __ATOMIC_RELEASE);
    return 0;
}

hipError_t hipStreamWriteValue64(hipStream_t stream, void *addr, uint64_t value, unsigned flags)
{
    ENTER(hipErrorLaunchFailure);
    if (flags != 0 || gpu_find(number_of(addr)).kind == GPU_UNKNOWN) return hipErrorInvalidValue;
    return submit(stream, &(struct gpu_op){.run = run_write_value, .dest = number_of(addr), .value = value});
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *argument)
{
    ENTER(hipErrorLaunchFailure);
    if (function == NULL) return hipErrorInvalidValue;
    return submit(stream, &(struct gpu_op){.run = gpu_run_function, .function = function, .argument = argument});
}

/* ---- the compiler: it returns the text itself ---- */

#define ENTER_RTC()                                                    \
    do {                                                               \
        int failed_ = gpu_enter(__func__, HIPRTC_ERROR_OUT_OF_MEMORY); \
        if (failed_ != 0) return (hiprtcResult)failed_;                \
    } while (0)

static char *text_of(hiprtcProgram program) { return (char *)(void *)program; }

hiprtcResult hiprtcCreateProgram(hiprtcProgram *out, const char *source, const char *name, int n_headers,
                                 const char **headers, const char **include_names)
{
    (void)name, (void)headers, (void)include_names;
    ENTER_RTC();
    if (n_headers != 0) return HIPRTC_ERROR_INVALID_INPUT;
    *out = (hiprtcProgram)(void *)strdup(source);
    gpu_count(GPU_MODULE, 1);
    return *out != NULL ? HIPRTC_SUCCESS : HIPRTC_ERROR_OUT_OF_MEMORY;
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int n_options, const char **options)
{
    (void)options;
    ENTER_RTC();
    bool is_known = strstr(text_of(program), "__global__ void isthmus_amo(") != NULL;
    return is_known && n_options == 0 ? HIPRTC_SUCCESS : HIPRTC_ERROR_COMPILATION;
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *size)
{
    ENTER_RTC();
    *size = strlen(text_of(program)) + 1;
    return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code)
{
    ENTER_RTC();
    memcpy(code, text_of(program), strlen(text_of(program)) + 1);
    return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program)
{
    ENTER_RTC();
    free(text_of(*program));
    gpu_count(GPU_MODULE, -1);
    return HIPRTC_SUCCESS;
}

/* ---- kernels ---- */

static int run_isthmus_amo(struct gpu_op *op)
{
    const uint64_t *p = op->parameters;
    void *word = gpu_word(p[0], (size_t)p[5]), *result = p[3] != 0 ? gpu_word(p[3], sizeof(uint64_t)) : NULL;
    if (word == NULL || (p[3] != 0 && result == NULL)) return gpu_illegal_address;
    isthmus_amo(word, p[1], p[2], result, (unsigned)p[4], (unsigned)p[5]);
    return 0;
}

/* Parameters are copied at the launch, as HIP does. */
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 hipStream_t stream, void **parameters, void **extra)
{
    (void)shared_bytes;
    ENTER(hipErrorLaunchFailure);
    if (!double_is_amo(function) || extra != NULL || grid_x * grid_y * grid_z != 1 || block_x * block_y * block_z != 1)
        return hipErrorInvalidValue; /* the double runs one thread */
    struct gpu_op op = {.run = run_isthmus_amo, .blocks = 1};
    for (int i = 0; i < GPU_AMO_PARAMETERS; i++) memcpy(&op.parameters[i], parameters[i], gpu_amo_parameter_bytes[i]);
    return submit(stream, &op);
}

/* tests/doubles/cuda/cudart.c: libcudart.so.13, the double: what PyTorch calls of CUDA's runtime to hold tensors in
 * memory of the double of the driver, and to copy them. NVIDIA's own runtime returns error 36 on that double; the
 * probable reason, not confirmed, is that it calls cuGetExportTable, whose tables are not documented: the double has
 * none. A kernel of CUDA's is not executed: a launch fails with cudaErrorNotSupported. Cooperative launches run
 * functions of the processor, for programs that have given the double of the driver an engine (cuda_launch.c). Calls
 * that are missing here end the process in the dynamic linker, which prints their names. */
#include "tests/doubles/cuda/cuda_double.h"
#include "tests/doubles/cuda/launch_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNTIME_VERSION = 13000, NOT_SUPPORTED = 801, NAME_BYTES = 256, MEMORY_BYTES_SHIFT = 34 };

typedef struct gpu_event *double_event;

/* The first members of the runtime's cudaDeviceProp; those behind them keep their values. */
struct device_prop {
    char name[NAME_BYTES];
    CUuuid uuid;
    char luid[8];
    unsigned luid_device_node_mask;
    size_t total_bytes, shared_bytes_per_block;
    int regs_per_block, warp_size;
    size_t pitch_bytes;
    int threads_per_block, threads_dim[3], grid_size[3];
    size_t constant_bytes;
    int major, minor;
};

struct pointer_attributes { /* cudaPointerAttributes */
    int type, device;
    void *device_pointer, *host_pointer;
};

/* The first members of cudaFuncAttributes. */
struct func_attributes {
    size_t shared_bytes, constant_bytes, local_bytes;
    int threads_per_block, registers;
};

struct dims { /* dim3 */
    unsigned x, y, z;
};

/* Calls of the driver that no header of Isthmus has. */
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuEventCreate(double_event *event, unsigned flags);
CUresult cuEventDestroy_v2(double_event event);
CUresult cuEventRecord(double_event event, CUstream stream);
CUresult cuEventQuery(double_event event);
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags, int *found);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, CUfunction function, int threads,
                                                     size_t shared_bytes);
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void **parameters);

static void *driver_call(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *call = driver != NULL ? dlsym(driver, name) : NULL;
    if (call == NULL) {
        fprintf(stderr, "double of CUDA's runtime: %s\n", dlerror());
        abort();
    }
    return call;
}
#define DRIVER(name) ((__typeof__(&(name)))driver_call(#name))

static _Thread_local int current_device;

/* As the runtime, it makes the primary context of the thread's device current on first use. */
static CUresult enter(void)
{
    CUcontext context = NULL;
    CUresult status = DRIVER(cuInit)(0);
    if (status == CUDA_SUCCESS) status = DRIVER(cuCtxGetCurrent)(&context);
    if (status != CUDA_SUCCESS || context != NULL) return status;
    status = DRIVER(cuDevicePrimaryCtxRetain)(&context, current_device);
    return status == CUDA_SUCCESS ? DRIVER(cuCtxSetCurrent)(context) : status;
}

/* cudart(NAME, PARAMETERS): the head of a call of the runtime; no header here declares them. */
#define CUDART(name, parameters) \
    CUresult name parameters;    \
    CUresult name parameters

/* ---- devices ---- */

CUDART(cudaGetDeviceCount, (int *count))
{
    CUresult status = DRIVER(cuInit)(0);
    return status == CUDA_SUCCESS ? DRIVER(cuDeviceGetCount)(count) : status;
}

CUDART(cudaGetDevice, (int *device))
{
    *device = current_device;
    return CUDA_SUCCESS;
}

CUDART(cudaSetDevice, (int device))
{
    CUcontext context = NULL;
    CUresult status = DRIVER(cuInit)(0);
    if (status == CUDA_SUCCESS) status = DRIVER(cuDevicePrimaryCtxRetain)(&context, device);
    if (status == CUDA_SUCCESS) current_device = device;
    return status == CUDA_SUCCESS ? DRIVER(cuCtxSetCurrent)(context) : status;
}

CUDART(cudaGetDeviceProperties, (struct device_prop * prop, int device))
{
    prop->total_bytes = (size_t)1 << MEMORY_BYTES_SHIFT;
    prop->warp_size = 32;
    prop->threads_per_block = 1024;
    prop->major = 9;
    prop->minor = 0;
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuDeviceGetName)(prop->name, NAME_BYTES, device) : status;
}

CUDART(cudaDeviceGetAttribute, (int *value, int attribute, int device))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuDeviceGetAttribute)(value, (CUdevice_attribute)attribute, device) : status;
}

CUDART(cudaDeviceSynchronize, (void))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuCtxSynchronize)() : status;
}

CUDART(cudaDriverGetVersion, (int *version))
{
    *version = RUNTIME_VERSION;
    return CUDA_SUCCESS;
}

CUDART(cudaRuntimeGetVersion, (int *version))
{
    *version = RUNTIME_VERSION;
    return CUDA_SUCCESS;
}

CUDART(cudaGetLastError, (void)) { return CUDA_SUCCESS; }
CUDART(cudaPeekAtLastError, (void)) { return CUDA_SUCCESS; }

CUDART(cudaGetDriverEntryPointByVersion,
       (const char *name, void **function, unsigned version, unsigned long long flags, int *found))
{
    return DRIVER(cuGetProcAddress_v2)(name, function, (int)version, flags, found);
}

const char *cudaGetErrorString(CUresult status);
const char *cudaGetErrorString(CUresult status)
{
    const char *name = "unknown";
    (void)DRIVER(cuGetErrorName)(status, &name);
    return name;
}

/* ---- memory ---- */

CUDART(cudaMalloc, (void **memory, size_t size))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuMemAlloc_v2)((CUdeviceptr *)(void *)memory, size) : status;
}

CUDART(cudaFree, (void *memory))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS && memory != NULL ? DRIVER(cuMemFree_v2)((CUdeviceptr)(uintptr_t)memory) : status;
}

CUDART(cudaMemcpyAsync, (void *dest, const void *source, size_t size, int kind, CUstream stream))
{
    (void)kind;
    CUresult status = enter();
    return status == CUDA_SUCCESS
               ? DRIVER(cuMemcpyAsync)((CUdeviceptr)(uintptr_t)dest, (CUdeviceptr)(uintptr_t)source, size, stream)
               : status;
}

CUDART(cudaMemsetAsync, (void *memory, int value, size_t size, CUstream stream))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS
               ? DRIVER(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)memory, (unsigned char)value, size, stream)
               : status;
}

CUDART(cudaPointerGetAttributes, (struct pointer_attributes * out, const void *memory))
{
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    unsigned type = 0;
    int device = 0;
    void *values[] = {&type, &device};
    CUresult status = enter();
    if (status == CUDA_SUCCESS)
        status = DRIVER(cuPointerGetAttributes)(2, asked, values, (CUdeviceptr)(uintptr_t)memory);
    *out = (struct pointer_attributes){.type = (int)type,
                                       .device = type == CU_MEMORYTYPE_DEVICE ? device : -1,
                                       .device_pointer = (void *)(uintptr_t)memory};
    return status;
}

/* ---- streams and events ---- */

CUDART(cudaStreamSynchronize, (CUstream stream))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuStreamSynchronize)(stream) : status;
}

CUDART(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuCtxGetStreamPriorityRange)(least, greatest) : status;
}

CUDART(cudaStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuStreamCreateWithPriority)(stream, flags, priority) : status;
}

CUDART(cudaStreamIsCapturing, (CUstream stream, int *is_capturing))
{
    (void)stream;
    *is_capturing = 0;
    return CUDA_SUCCESS;
}

CUDART(cudaStreamGetCaptureInfo, (CUstream stream, int *is_capturing))
{
    return cudaStreamIsCapturing(stream, is_capturing);
}

CUDART(cudaThreadExchangeStreamCaptureMode, (int *mode))
{
    (void)mode;
    return CUDA_SUCCESS;
}

CUDART(cudaEventCreateWithFlags, (double_event * event, unsigned flags))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuEventCreate)(event, flags) : status;
}

CUDART(cudaEventRecord, (double_event event, CUstream stream)) { return DRIVER(cuEventRecord)(event, stream); }
CUDART(cudaEventQuery, (double_event event)) { return DRIVER(cuEventQuery)(event); }
CUDART(cudaEventDestroy, (double_event event)) { return DRIVER(cuEventDestroy_v2)(event); }

/* ---- kernels that are functions of the processor ---- */

/* NULL, which the driver refuses, for what is no kernel. */
static CUfunction function_of(const void *kernel)
{
    double_kernel function;
    memcpy(&function, &kernel, sizeof function);
    return DRIVER(cuda_double_function)(function);
}

CUDART(cudaFuncGetAttributes, (struct func_attributes * out, const void *kernel))
{
    CUresult status = enter();
    CUfunction function = status == CUDA_SUCCESS ? function_of(kernel) : NULL;
    *out = (struct func_attributes){0};
    if (status == CUDA_SUCCESS)
        status = DRIVER(cuFuncGetAttribute)(&out->threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (status == CUDA_SUCCESS)
        status = DRIVER(cuFuncGetAttribute)(&out->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    return status;
}

CUDART(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
       (int *n_blocks, const void *kernel, int threads, size_t shared_bytes))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS ? DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(n_blocks, function_of(kernel),
                                                                                        threads, shared_bytes)
                                  : status;
}

CUDART(cudaLaunchCooperativeKernel,
       (const void *kernel, struct dims grid, struct dims block, void **args, size_t shared_bytes, CUstream stream))
{
    CUresult status = enter();
    return status == CUDA_SUCCESS
               ? DRIVER(cuLaunchCooperativeKernel)(function_of(kernel), grid.x, grid.y, grid.z, block.x, block.y,
                                                   block.z, (unsigned)shared_bytes, stream, args)
               : status;
}

/* ---- kernels of CUDA's: registered by each library, never run ---- */

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void);
void __cudaRegisterVar(void);

void **__cudaRegisterFatBinary(void *image)
{
    static void *handle;
    (void)image;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
void __cudaRegisterFunction(void) {}
void __cudaRegisterVar(void) {}

CUDART(cudaLaunchKernel, (void)) { return (CUresult)NOT_SUPPORTED; }
CUDART(cudaProfilerStart, (void)) { return CUDA_SUCCESS; }
CUDART(cudaProfilerStop, (void)) { return CUDA_SUCCESS; }

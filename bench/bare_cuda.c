/* bench/bare_cuda.c: see bare_cuda.h. */
#include "bare_cuda.h"

#include "tests/doubles/cuda/load.h"

#include <stdio.h>
#include <stdlib.h>

static struct cuda_api cu;
static CUresult (*copy_on_device)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
static CUresult (*copy_to_device)(CUdeviceptr, const void *, size_t);
static CUresult (*copy_from_device)(void *, CUdeviceptr, size_t);
static CUcontext context;
static CUdevice device;
static CUstream stream;
static CUmodule module;
static CUfunction store;
static uint64_t *pinned;
static char name[128];

static const char store_ptx[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry store(.param .u64 addr, .param .u64 value) {\n"
                                ".reg .b64 %r<3>;\nld.param.u64 %r1, [addr];\nld.param.u64 %r2, [value];\n"
                                "st.relaxed.sys.global.u64 [%r1], %r2;\nret;\n}\n";

static void check(CUresult result, const char *call)
{
    const char *error = NULL;
    if (result == CUDA_SUCCESS) return;
    (void)cu.cuGetErrorName(result, &error);
    fprintf(stderr, "%s: %s\n", call, error != NULL ? error : "an unknown error");
    exit(1);
}

#define CU(call) check(cu.call, #call)

static CUdeviceptr at(const void *addr) { return (CUdeviceptr)(uintptr_t)addr; }

static bool load(void)
{
    const char *file = getenv("ISTHMUS_NVLINK_LIBRARY");
    void *driver = dlopen(file != NULL ? file : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda_load(driver, &cu)) return false;
    *(void **)(void *)&copy_on_device = dlsym(driver, "cuMemcpyDtoDAsync_v2");
    *(void **)(void *)&copy_to_device = dlsym(driver, "cuMemcpyHtoD_v2");
    *(void **)(void *)&copy_from_device = dlsym(driver, "cuMemcpyDtoH_v2");
    return copy_on_device != NULL && copy_to_device != NULL && copy_from_device != NULL;
}

bool bare_cuda_open(const void *device_memory)
{
    int ordinal = 0, version = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&ordinal}, *memory = NULL;
    if (!load()) return false;
    CU(cuInit(0));
    CU(cuPointerGetAttributes(1, asked, values, at(device_memory)));
    CU(cuDeviceGet(&device, ordinal));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxPushCurrent_v2(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemHostAlloc(&memory, sizeof *pinned, CU_MEMHOSTALLOC_PORTABLE));
    pinned = memory;
    CU(cuModuleLoadData(&module, store_ptx));
    CU(cuModuleGetFunction(&store, module, "store"));
    char model[64] = "";
    CU(cuDeviceGetName(model, sizeof model, device));
    CU(cuDriverGetVersion(&version));
    snprintf(name, sizeof name, "%s, driver for CUDA %d.%d", model, version / 1000, version % 1000 / 10);
    return true;
}

void bare_cuda_close(void)
{
    CUcontext ours;
    CU(cuModuleUnload(module));
    CU(cuMemFreeHost(pinned));
    CU(cuStreamDestroy_v2(stream));
    CU(cuCtxPopCurrent_v2(&ours));
    CU(cuDevicePrimaryCtxRelease_v2(device));
}

const char *bare_cuda_device(void) { return name; }
void *bare_cuda_stream(void) { return stream; }
void bare_cuda_synchronize(void) { CU(cuStreamSynchronize(stream)); }

void bare_cuda_copy(void *dest, const void *source, size_t n_bytes)
{
    check(copy_on_device(at(dest), at(source), n_bytes, stream), "cuMemcpyDtoDAsync");
}

void bare_cuda_write(void *dest, uint64_t value) { CU(cuStreamWriteValue64_v2(stream, at(dest), value, 0)); }

void bare_cuda_wait(const void *word, uint64_t value)
{
    CU(cuStreamWaitValue64_v2(stream, at(word), value, CU_STREAM_WAIT_VALUE_GEQ));
}

void bare_cuda_store(void *dest, uint64_t value)
{
    CUdeviceptr addr = at(dest);
    void *parameters[] = {&addr, &value};
    CU(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

void bare_cuda_from_pinned(void *dest, uint64_t value)
{
    *pinned = value;
    CU(cuMemcpyAsync(at(dest), at(pinned), sizeof value, stream));
}

void bare_cuda_to_device(void *dest, uint64_t value)
{
    check(copy_to_device(at(dest), &value, sizeof value), "cuMemcpyHtoD");
}

uint64_t bare_cuda_from_device(const void *source)
{
    uint64_t value;
    check(copy_from_device(&value, at(source), sizeof value), "cuMemcpyDtoH");
    return value;
}

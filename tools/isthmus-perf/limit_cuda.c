/* tools/isthmus-perf/limit_cuda.c: see limit_cuda.h. The few calls of the driver are declared here, by their documented
 * types: no header of CUDA is needed, and nothing is linked. */
#include "tools/isthmus-perf/limit_cuda.h"

#include <nvshmem.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { REASON_BYTES = 96, DEVICE_ORDINAL = 9 /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */, NON_BLOCKING = 1 };
typedef unsigned long long device_addr;

static struct {
    int (*cuInit)(unsigned flags);
    int (*cuPointerGetAttributes)(unsigned n, int *attributes, void **values, device_addr addr);
    int (*cuDeviceGet)(int *device, int ordinal);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuCtxPushCurrent_v2)(void *context);
    int (*cuCtxPopCurrent_v2)(void **context);
    int (*cuStreamCreate)(void **stream, unsigned flags);
    int (*cuStreamDestroy_v2)(void *stream);
    int (*cuStreamSynchronize)(void *stream);
    int (*cuMemcpyAsync)(device_addr dest, device_addr source, size_t size, void *stream);
    int (*cuGetErrorName)(int error, const char **name);
} driver;

static struct {
    int device;
    void *context, *stream;
    bool was_opened, has_failed;
    char reason[REASON_BYTES];
} cuda;

/* Returns true if the result is CUDA_SUCCESS; else keeps the first reason. */
static bool is_ok(int result, const char *call)
{
    const char *name = NULL;
    if (result == 0) return true;
    (void)driver.cuGetErrorName(result, &name);
    if (!cuda.has_failed)
        snprintf(cuda.reason, sizeof cuda.reason, "%s: %s", call, name != NULL ? name : "unknown error");
    cuda.has_failed = true;
    return false;
}

static device_addr at(const void *addr) { return (device_addr)(uintptr_t)addr; }

/* ---- batches ---- */

static void copy(const void *source, void *dest, size_t n_bytes)
{
    is_ok(driver.cuMemcpyAsync(at(dest), at(source), n_bytes, cuda.stream), "cuMemcpyAsync");
}

static void synchronize(void) { is_ok(driver.cuStreamSynchronize(cuda.stream), "cuStreamSynchronize"); }

static void batch_put(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !cuda.has_failed; i++) {
        copy(place->source, place->alias, place->size_bytes);
        synchronize();
    }
}

static void batch_get(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !cuda.has_failed; i++) {
        copy(place->alias, place->source, place->size_bytes);
        synchronize();
    }
}

static void batch_put_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !cuda.has_failed; i++) copy(place->source, place->alias, place->size_bytes);
    synchronize();
}

static void batch_get_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps && !cuda.has_failed; i++) copy(place->alias, place->source, place->size_bytes);
    synchronize();
}

perf_batch *limit_cuda_batch(enum transfer what)
{
    switch (what) {
    case TRANSFER_PUT: return batch_put;
    case TRANSFER_GET: return batch_get;
    case TRANSFER_PUT_NBI: return batch_put_nbi;
    case TRANSFER_GET_NBI: return batch_get_nbi;
    case TRANSFER_FETCH_ADD:
    case TRANSFER_NONE: break;
    }
    return NULL;
}

const char *limit_cuda_failure(void) { return cuda.has_failed ? cuda.reason : NULL; }

/* ---- set-up ---- */

/* Only a driver that is loaded already: transport nvlink has it if the heap is in this driver's memory. */
static bool load(void)
{
    static const struct {
        void *into;
        const char *name;
    } calls[] = {
        {&driver.cuInit, "cuInit"},
        {&driver.cuPointerGetAttributes, "cuPointerGetAttributes"},
        {&driver.cuDeviceGet, "cuDeviceGet"},
        {&driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"},
        {&driver.cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease_v2"},
        {&driver.cuCtxPushCurrent_v2, "cuCtxPushCurrent_v2"},
        {&driver.cuCtxPopCurrent_v2, "cuCtxPopCurrent_v2"},
        {&driver.cuStreamCreate, "cuStreamCreate"},
        {&driver.cuStreamDestroy_v2, "cuStreamDestroy_v2"},
        {&driver.cuStreamSynchronize, "cuStreamSynchronize"},
        {&driver.cuMemcpyAsync, "cuMemcpyAsync"},
        {&driver.cuGetErrorName, "cuGetErrorName"},
    };
    const char *file = getenv("ISTHMUS_NVLINK_LIBRARY");
    void *library = dlopen(file != NULL ? file : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; library != NULL && i < sizeof calls / sizeof *calls; i++)
        if ((*(void **)calls[i].into = dlsym(library, calls[i].name)) == NULL) return false;
    return library != NULL;
}

static bool open_device(const void *own)
{
    int ordinal = 0, attributes[] = {DEVICE_ORDINAL};
    void *values[] = {&ordinal};
    return is_ok(driver.cuInit(0), "cuInit") &&
           is_ok(driver.cuPointerGetAttributes(1, attributes, values, at(own)), "cuPointerGetAttributes") &&
           is_ok(driver.cuDeviceGet(&cuda.device, ordinal), "cuDeviceGet") &&
           is_ok(driver.cuDevicePrimaryCtxRetain(&cuda.context, cuda.device), "cuDevicePrimaryCtxRetain") &&
           is_ok(driver.cuCtxPushCurrent_v2(cuda.context), "cuCtxPushCurrent") &&
           is_ok(driver.cuStreamCreate(&cuda.stream, NON_BLOCKING), "cuStreamCreate");
}

const char *limit_cuda_open(const void *own)
{
    if (!cuda.was_opened && !load()) {
        snprintf(cuda.reason, sizeof cuda.reason, "bare copies are built in for CUDA's driver, which is not in use");
        cuda.has_failed = true;
    } else if (!cuda.was_opened) {
        (void)open_device(own);
    }
    cuda.was_opened = true;
    return limit_cuda_failure();
}

void limit_cuda_close(void)
{
    void *context;
    if (cuda.stream != NULL) {
        (void)driver.cuStreamDestroy_v2(cuda.stream);
        (void)driver.cuCtxPopCurrent_v2(&context);
    }
    if (cuda.context != NULL) (void)driver.cuDevicePrimaryCtxRelease_v2(cuda.device);
    cuda.stream = cuda.context = NULL;
}

void *limit_cuda_alias(const void *dest, int pe) { return nvshmem_ptr(dest, pe); }

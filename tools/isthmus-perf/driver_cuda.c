/* tools/isthmus-perf/driver_cuda.c: CUDA's driver. See limit_gpu.h. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <stdlib.h>

/* By the types and values that NVIDIA documents: no header of its is needed. */
enum { DEVICE_ORDINAL = 9 /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */, NON_BLOCKING = 1, WAIT_GEQ = 0 };
typedef unsigned long long device_addr;

/* In the order of `names`. */
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
    int (*cuStreamWriteValue64_v2)(void *stream, device_addr word, uint64_t value, unsigned flags);
    int (*cuStreamWaitValue64_v2)(void *stream, device_addr word, uint64_t value, unsigned flags);
    int (*cuGetErrorName)(int error, const char **name);
} driver;

static const char *const names[] = {
    "cuInit",
    "cuPointerGetAttributes",
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuMemcpyAsync",
    "cuStreamWriteValue64_v2",
    "cuStreamWaitValue64_v2",
    "cuGetErrorName",
};
_Static_assert(sizeof driver == sizeof names, "a name for each call");

static int device;
static void *context; /* retained, and current while it is open */
static bool is_current;

static device_addr at(const void *addr) { return (device_addr)(uintptr_t)addr; }

static bool load(void)
{
    const char *file = getenv("ISTHMUS_NVLINK_LIBRARY");
    const char *const files[] = {file != NULL ? file : "libcuda.so.1", NULL};
    return gpu_driver_find(files, names, (void **)(void *)&driver, sizeof names / sizeof *names);
}

static int open_stream(const void *own, size_t room_bytes, void **stream, const char **call)
{
    int ordinal = 0, attributes[] = {DEVICE_ORDINAL}, result;
    void *values[] = {&ordinal};
    (void)room_bytes;
    *call = "cuInit";
    if ((result = driver.cuInit(0)) != 0) return result;
    *call = "cuPointerGetAttributes";
    if ((result = driver.cuPointerGetAttributes(1, attributes, values, at(own))) != 0) return result;
    *call = "cuDeviceGet";
    if ((result = driver.cuDeviceGet(&device, ordinal)) != 0) return result;
    *call = "cuDevicePrimaryCtxRetain";
    if ((result = driver.cuDevicePrimaryCtxRetain(&context, device)) != 0) return result;
    *call = "cuCtxPushCurrent";
    if ((result = driver.cuCtxPushCurrent_v2(context)) != 0) return result;
    is_current = true;
    *call = "cuStreamCreate";
    return driver.cuStreamCreate(stream, NON_BLOCKING);
}

static int copy(void *dest, const void *source, size_t n_bytes, void *stream)
{
    return driver.cuMemcpyAsync(at(dest), at(source), n_bytes, stream);
}

static int synchronize(void *stream) { return driver.cuStreamSynchronize(stream); }

static bool has_words(void) { return true; }

static int write_word(void *word, uint64_t value, void *stream)
{
    return driver.cuStreamWriteValue64_v2(stream, at(word), value, 0);
}

static int wait_word(void *word, uint64_t value, void *stream)
{
    return driver.cuStreamWaitValue64_v2(stream, at(word), value, WAIT_GEQ);
}

static void close_stream(void *stream)
{
    void *popped;
    if (stream != NULL) (void)driver.cuStreamDestroy_v2(stream);
    if (is_current) (void)driver.cuCtxPopCurrent_v2(&popped);
    if (context != NULL) (void)driver.cuDevicePrimaryCtxRelease_v2(device);
    context = NULL;
    is_current = false;
}

static const char *error_name(int error)
{
    const char *name = NULL;
    (void)driver.cuGetErrorName(error, &name);
    return name;
}

const struct gpu_driver gpu_driver_cuda = {
    .copy_name = "cuMemcpyAsync",
    .load = load,
    .open = open_stream,
    .copy = copy,
    .synchronize = synchronize,
    .close = close_stream,
    .error_name = error_name,
    .has_streams = true,
    .has_words = has_words,
    .write_word = write_word,
    .wait_word = wait_word,
};

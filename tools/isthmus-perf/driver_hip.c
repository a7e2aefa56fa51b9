/* tools/isthmus-perf/driver_hip.c: HIP, for AMD's GPUs. See limit_gpu.h. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <stdlib.h>

/* hipPointerAttribute_t begins with the type of the memory and its device, and is shorter than this in all versions. */
enum { NON_BLOCKING = 1, COPY_DEFAULT = 4 /* hipMemcpyDefault */, ATTRIBUTE_WORDS = 64, ATTRIBUTE_DEVICE = 1 };

/* In the order of `names`. */
static struct {
    int (*hipPointerGetAttributes)(void *out, const void *addr);
    int (*hipSetDevice)(int device);
    int (*hipStreamCreateWithFlags)(void **stream, unsigned flags);
    int (*hipStreamDestroy)(void *stream);
    int (*hipStreamSynchronize)(void *stream);
    int (*hipMemcpyAsync)(void *dest, const void *source, size_t size, int kind, void *stream);
    const char *(*hipGetErrorName)(int error);
} driver;

static const char *const names[] = {
    "hipPointerGetAttributes", "hipSetDevice",   "hipStreamCreateWithFlags", "hipStreamDestroy",
    "hipStreamSynchronize",    "hipMemcpyAsync", "hipGetErrorName",
};
_Static_assert(sizeof driver == sizeof names, "a name for each call");

static bool load(void)
{
    const char *file = getenv("ISTHMUS_XGMI_LIBRARY");
    const char *const named[] = {file, NULL};
    const char *const usual[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL};
    return gpu_driver_find(file != NULL ? named : usual, names, (void **)(void *)&driver, sizeof names / sizeof *names);
}

static int open_stream(const void *own, void **stream, const char **call)
{
    int attributes[ATTRIBUTE_WORDS] = {0}, result;
    *call = "hipPointerGetAttributes";
    if ((result = driver.hipPointerGetAttributes(attributes, own)) != 0) return result;
    *call = "hipSetDevice";
    if ((result = driver.hipSetDevice(attributes[ATTRIBUTE_DEVICE])) != 0) return result;
    *call = "hipStreamCreateWithFlags";
    return driver.hipStreamCreateWithFlags(stream, NON_BLOCKING);
}

static int copy(void *dest, const void *source, size_t n_bytes, void *stream)
{
    return driver.hipMemcpyAsync(dest, source, n_bytes, COPY_DEFAULT, stream);
}

static int synchronize(void *stream) { return driver.hipStreamSynchronize(stream); }

static void close_stream(void *stream)
{
    if (stream != NULL) (void)driver.hipStreamDestroy(stream);
}

static const char *error_name(int error) { return driver.hipGetErrorName(error); }

const struct gpu_driver gpu_driver_hip = {
    .copy_name = "hipMemcpyAsync",
    .load = load,
    .open = open_stream,
    .copy = copy,
    .synchronize = synchronize,
    .close = close_stream,
    .error_name = error_name,
};

/* tools/isthmus-perf/driver_hip.c: HIP, for AMD's GPUs. See limit_gpu.h. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <stdlib.h>

/* hipPointerAttribute_t begins with the type of the memory and its device, and is shorter than this in all versions. */
enum {
    NON_BLOCKING = 1,
    COPY_DEFAULT = 4 /* hipMemcpyDefault */,
    ATTRIBUTE_WORDS = 64,
    ATTRIBUTE_DEVICE = 1,
    WAIT_GTE = 0
};

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

/* Of releases from ROCm 5 on. */
static struct {
    int (*hipStreamWriteValue64)(void *stream, void *word, uint64_t value, unsigned flags);
    int (*hipStreamWaitValue64)(void *stream, void *word, uint64_t value, unsigned flags, uint64_t mask);
} newer;

static const char *const newer_names[] = {"hipStreamWriteValue64", "hipStreamWaitValue64"};
_Static_assert(sizeof newer == sizeof newer_names, "a name for each call");

static bool load(void)
{
    const char *file = getenv("ISTHMUS_XGMI_LIBRARY");
    const char *const named[] = {file, NULL};
    const char *const usual[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL};
    const char *const *files = file != NULL ? named : usual;
    (void)gpu_driver_find(files, newer_names, (void **)(void *)&newer, sizeof newer_names / sizeof *newer_names);
    return gpu_driver_find(files, names, (void **)(void *)&driver, sizeof names / sizeof *names);
}

static int open_stream(const void *own, size_t room_bytes, void **stream, const char **call)
{
    int attributes[ATTRIBUTE_WORDS] = {0}, result;
    (void)room_bytes;
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

static bool has_words(void) { return newer.hipStreamWriteValue64 != NULL && newer.hipStreamWaitValue64 != NULL; }

static int write_word(void *word, uint64_t value, void *stream)
{
    return newer.hipStreamWriteValue64(stream, word, value, 0);
}

static int wait_word(void *word, uint64_t value, void *stream)
{
    return newer.hipStreamWaitValue64(stream, word, value, WAIT_GTE, UINT64_MAX);
}

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
    .has_streams = true,
    .has_words = has_words,
    .write_word = write_word,
    .wait_word = wait_word,
};

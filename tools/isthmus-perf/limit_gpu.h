/* tools/isthmus-perf/limit_gpu.h: the limit in memory of a GPU: its driver's own copy between the same buffers. Uses
 * the driver that the heap's transport has loaded: drivers are rows of limit_gpu.c. Only the PE that calls takes
 * part. */
#ifndef ISTHMUS_PERF_LIMIT_GPU_H
#define ISTHMUS_PERF_LIMIT_GPU_H

#include "tools/isthmus-perf/operations.h"

/* The few calls of a driver, by their documented types: no header of its maker is needed, and nothing is linked. The
 * integers are the driver's results, 0 for success. */
struct gpu_driver {
    const char *copy_name; /* of the call that copies */
    bool (*load)(void);    /* returns false unless this process has the driver loaded already */
    int (*open)(const void *own, void **stream, const char **call); /* a stream on the device of that memory */
    int (*copy)(void *dest, const void *source, size_t n_bytes, void *stream);
    int (*synchronize)(void *stream);
    void (*close)(void *stream); /* NULL: what a failed open has left */
    const char *(*error_name)(int error);
};
extern const struct gpu_driver gpu_driver_cuda, gpu_driver_hip;

/* Returns false if the calls are not all there. `names` and `entries` have n elements. */
bool gpu_driver_find(const char *const *files, const char *const *names, void **entries, size_t n);

/* Finds the driver, the device of `own`, symmetric memory of this PE, and a stream. Returns NULL, or the reason why
 * there is no such limit. Later calls return what the first one did. */
const char *limit_gpu_open(const void *own);
void limit_gpu_close(void); /* accepts any state */

/* Once it is open: that stream, also for the library's operations on streams. */
void *limit_gpu_stream(void);
void limit_gpu_synchronize(void);

/* The driver's call with which the limit is made. */
const char *limit_gpu_name(void);

/* Where the device of this PE reaches `dest` of a PE; NULL: it does not. */
void *limit_gpu_alias(const void *dest, int pe);

/* Returns NULL if there is no such operation. The batch uses place->alias. */
perf_batch *limit_gpu_batch(enum transfer what);

/* Why a batch failed; NULL: none has. Later batches return at once. */
const char *limit_gpu_failure(void);

#endif

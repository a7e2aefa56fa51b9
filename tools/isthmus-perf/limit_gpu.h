/* tools/isthmus-perf/limit_gpu.h: the limit in memory of a GPU: its driver's own copy between the same buffers, or
 * between the same devices. Uses the driver that the heap's transport has loaded: drivers are rows of limit_gpu.c. Only
 * the PE that calls takes part. */
#ifndef ISTHMUS_PERF_LIMIT_GPU_H
#define ISTHMUS_PERF_LIMIT_GPU_H

#include "tools/isthmus-perf/operations.h"

/* The few calls of a driver. The integers are the driver's results, 0 for success. */
struct gpu_driver {
    const char *copy_name; /* of the limit: the call that copies */
    bool (*load)(void);    /* returns false unless this process has the driver loaded already */

    /* A stream on the device of `own`, this PE's symmetric memory, and of buffers of room_bytes what is needed. */
    int (*open)(const void *own, size_t room_bytes, void **stream, const char **call);
    int (*copy)(void *dest, const void *source, size_t n_bytes, void *stream);
    int (*synchronize)(void *stream);
    void (*close)(void *stream); /* NULL: what a failed open has left */
    const char *(*error_name)(int error);

    bool has_streams; /* its stream is one that the library's calls take */

    /* Words of device memory in the order of the stream. NULL, or false from has_words: there is no such thing. */
    bool (*has_words)(void);
    int (*write_word)(void *word, uint64_t value, void *stream);
    int (*wait_word)(void *word, uint64_t value, void *stream); /* until it has at least this value */

    /* Sets the buffers of a bare operation between this PE and another: place->alias is what is accessed there, the
     * same as `symmetric`. NULL: that memory itself, by the address that the library knows. */
    bool (*reach)(struct place *place, const void *symmetric, int pe);
};
extern const struct gpu_driver gpu_driver_cuda, gpu_driver_hip, gpu_driver_ze;

/* Returns false if the calls are not all there. `names` and `entries` have n elements. */
bool gpu_driver_find(const char *const *files, const char *const *names, void **entries, size_t n);

/* Finds the driver, the device of `own`, symmetric memory of this PE, and a stream. Returns NULL, or the reason why
 * there is no such limit. Later calls return what the first one did. */
const char *limit_gpu_open(const void *own, size_t room_bytes);
void limit_gpu_close(void); /* accepts any state */

/* Once it is open: that stream, also for the library's operations on streams; whether they take it. */
void *limit_gpu_stream(void);
bool limit_gpu_has_streams(void);
void limit_gpu_synchronize(void);

/* The driver's call with which the limit is made. */
const char *limit_gpu_name(enum transfer what);

/* As in struct gpu_driver. Returns false if this PE's device does not reach that memory. */
bool limit_gpu_reach(struct place *place, const void *symmetric, int pe);

/* Returns true if the device reaches the flags of streams that this PE writes at others. */
bool limit_gpu_reaches_flags(const struct place *place);

/* Returns NULL if there is no such operation. The batch uses place->alias. */
perf_batch *limit_gpu_batch(enum transfer what);

/* Why a batch failed; NULL: none has. Later batches return at once. */
const char *limit_gpu_failure(void);

#endif

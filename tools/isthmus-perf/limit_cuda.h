/* tools/isthmus-perf/limit_cuda.h: the limit in memory of NVIDIA's GPUs: the driver's own copy between the same
 * buffers. Uses the driver that transport nvlink has loaded. Only the PE that calls takes part. */
#ifndef ISTHMUS_PERF_LIMIT_CUDA_H
#define ISTHMUS_PERF_LIMIT_CUDA_H

#include "tools/isthmus-perf/operations.h"

/* Finds the driver, the device of `own`, symmetric memory of this PE, and a stream. Returns NULL, or the reason why
 * there is no such limit. Later calls return what the first one did. */
const char *limit_cuda_open(const void *own);
void limit_cuda_close(void); /* accepts any state */

/* Where the device of this PE reaches `dest` of a PE; NULL: it does not. */
void *limit_cuda_alias(const void *dest, int pe);

/* Returns NULL if there is no such operation. The batch uses place->alias. */
perf_batch *limit_cuda_batch(enum transfer what);

/* Why a batch failed; NULL: none has. Later batches return at once. */
const char *limit_cuda_failure(void);

#endif

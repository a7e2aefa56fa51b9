/* bench/bare_cuda.h: the reference of bench_gpu.c: the same work by the CUDA driver itself, between the same buffers.
 * In a file of its own, because nvshmem.h declares the driver's types itself if there is a toolkit. */
#ifndef ISTHMUS_BARE_CUDA_H
#define ISTHMUS_BARE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Loads the driver, the context of the GPU that holds this device memory, a stream. Returns false if the driver or one
 * of its calls is missing. */
bool bare_cuda_open(const void *device_memory);
void bare_cuda_close(void);
const char *bare_cuda_device(void); /* its name and the driver's version */

void *bare_cuda_stream(void);
void bare_cuda_synchronize(void);

/* Into the stream, and no waiting. */
void bare_cuda_copy(void *dest, const void *source, size_t n_bytes); /* cuMemcpyDtoDAsync */
void bare_cuda_write(void *dest, uint64_t value);                    /* cuStreamWriteValue64 */
void bare_cuda_wait(const void *word, uint64_t value);               /* cuStreamWaitValue64 */
void bare_cuda_store(void *dest, uint64_t value);                    /* a kernel of one thread */
void bare_cuda_from_pinned(void *dest, uint64_t value);              /* cuMemcpyAsync from pinned memory */

/* Done on return. */
void bare_cuda_to_device(void *dest, uint64_t value); /* cuMemcpyHtoD */
uint64_t bare_cuda_from_device(const void *source);   /* cuMemcpyDtoH */

#endif

/* tests/device/cuda_stream.h: streams of the platform, for a program of nvshmem.h: by CUDA's driver, the one that the
 * job's transport has loaded (ISTHMUS_NVLINK_LIBRARY). A stream can be held at a gate, so that what is put into it
 * cannot happen before the gate is opened. */
#ifndef TESTS_DEVICE_CUDA_STREAM_H
#define TESTS_DEVICE_CUDA_STREAM_H

#include <stdint.h>

void cuda_begin(void);
void cuda_end(void);

void *stream_new(void); /* a cudaStream_t */
void stream_free(void *stream);
void stream_hold(void *stream, uint64_t turn); /* until the gate has been opened `turn` times */
void stream_end(void *stream);                 /* waits until all its operations are done */

void gate_open(void);
uint64_t gate_turn(void); /* how often the gate was opened */

/* Returns how many operations for streams the driver has received, or -1 if it is a real one, which does not count. */
int cuda_launches(void);

/* Of the double: how many of these were kernels; the last kernel once more, as a graph repeats it. */
int cuda_kernels(void);
void cuda_repeat(void);

#endif

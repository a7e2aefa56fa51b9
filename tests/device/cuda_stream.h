/* tests/device/cuda_stream.h: streams of the platform, for a program of nvshmem.h: by CUDA's driver, the one that the job's
 * transport has loaded (ISTHMUS_NVLINK_LIBRARY). A stream can be held at a gate, so that what is put into it cannot happen
 * before the gate is opened. */
#ifndef TESTS_DEVICE_CUDA_STREAM_H
#define TESTS_DEVICE_CUDA_STREAM_H

#include <stdint.h>

void cuda_begin(void);
void cuda_end(void);

void *stream_new(void); /* a cudaStream_t */
void stream_free(void *stream);
void stream_hold(void *stream, uint64_t turn); /* until the gate was opened that often */
void stream_end(void *stream);                 /* until it has done everything */

void gate_open(void);
uint64_t gate_turn(void); /* how often it was opened */

/* How often the driver was given work for streams so far; -1: that driver does not count, it is no double. */
int cuda_launches(void);

#endif

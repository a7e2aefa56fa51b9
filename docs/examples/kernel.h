/* kernel.h: what the examples with kernels need to be one text for two compilers: a CUDA compiler, where kernels run on
 * GPUs and symmetric memory is theirs, and a compiler for C, where both are the processor's (docs/device.md). A program
 * for one of the two needs none of this.
 *
 *     KERNEL(scale, struct vector, v) { v->at[isthmus_dev_thread_rank()] *= 2; }
 *     run_kernel(4, 64, scale, &vector)
 *
 * defines a kernel with a pointer to its argument, and runs it on 4 blocks of 64 threads. */
#ifndef EXAMPLES_KERNEL_H
#define EXAMPLES_KERNEL_H

#ifdef __CUDACC__

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>

#define ON_DEVICE static __device__               /* a function that kernels call */
#define ON_BOTH static __host__ __device__ inline /* one that the host calls too */
#define KERNEL(name, type, argument)                                                                 \
    static __device__ void name##_thread(const type *argument);                                      \
    static __global__ void name(const __grid_constant__ type argument) { name##_thread(&argument); } \
    static __device__ void name##_thread(const type *argument)
#define run_kernel(blocks, threads, name, argument) run_on_gpu(blocks, threads, (const void *)(name), argument)

/* Returns 0, or prints the error and returns -1. */
static inline int check_cuda(cudaError_t error, const char *call)
{
    if (error == cudaSuccess) return 0;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    return -1;
}

/* All blocks run at once, so that each may wait for others. Returns 0 when the kernel has ended, or -1. */
static inline int run_on_gpu(unsigned blocks, unsigned threads, const void *kernel, void *argument)
{
    void *arguments[] = {argument};
    if (nvshmemx_collective_launch(kernel, dim3(blocks), dim3(threads), arguments, 0, (cudaStream_t)NULL) != 0)
        return -1;
    return check_cuda(cudaDeviceSynchronize(), "the kernel");
}

/* Between the host's memory and symmetric memory of this PE. */
static inline void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy") != 0) nvshmem_global_exit(3);
}

#else

#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <string.h>

#define ON_DEVICE static
#define ON_BOTH static inline
#define KERNEL(name, type, argument)                                            \
    static void name##_thread(const type *argument);                            \
    static void name(void *argument) { name##_thread((const type *)argument); } \
    static void name##_thread(const type *argument)
#define run_kernel(blocks, threads, name, argument) isthmus_cpu_launch(blocks, threads, name, argument)

static inline void copy_bytes(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }

#endif

#endif

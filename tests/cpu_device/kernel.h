/* tests/cpu_device/kernel.h: kernels that are written once, in the C that nvcc takes for C++ too. For the CPU device
 * they are plain functions; nvcc compiles them for a GPU. */
#ifndef TESTS_CPU_DEVICE_KERNEL_H
#define TESTS_CPU_DEVICE_KERNEL_H

#ifdef __CUDACC__
#include <nvshmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL static __global__ void
#define ON_DEVICE static __device__ /* what kernels call */
#define ON_BOTH static __managed__  /* variables of both sides; kernels run while the host waits */
#define TABLE static __device__ const
#define KERNEL_COUNT(at) atomicAdd_system(at, 1)
#else
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL static void
#define ON_DEVICE static
#define ON_BOTH static
#define TABLE static const
#define KERNEL_COUNT(at) __atomic_fetch_add(at, 1, __ATOMIC_RELAXED)
#endif

typedef void (*kernel_function)(void *argument);

/* Runs a kernel and waits for it. It gets the address of a copy of the argument. Returns 0; -1 if it was stopped. */
#ifdef __CUDACC__
enum { KERNEL_ARGUMENT_BYTES = 64 };
static __managed__ char kernel_argument[KERNEL_ARGUMENT_BYTES];

/* Ends a program that has no GPU, before it touches what kernels share with it. */
static inline void kernel_need_device(void)
{
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess && n > 0) return;
    printf("skipped: no GPU: %s\n", cudaGetErrorString(error));
    exit(77);
}

static inline int kernel_launch(uint32_t blocks, uint32_t threads, kernel_function kernel, const void *argument,
                                size_t bytes)
{
    void *copy = kernel_argument, *arguments[] = {&copy};
    if (bytes > 0) memcpy(kernel_argument, argument, bytes);
    int status = nvshmemx_collective_launch((const void *)kernel, dim3(blocks), dim3(threads), arguments, 0, 0);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) fprintf(stderr, "the kernel: %s\n", cudaGetErrorString(error));
    return status == NVSHMEMX_SUCCESS && error == cudaSuccess ? 0 : -1;
}
#else
static inline void kernel_need_device(void) {}

static inline int kernel_launch(uint32_t blocks, uint32_t threads, kernel_function kernel, const void *argument,
                                size_t bytes)
{
    (void)bytes;
    return isthmus_cpu_launch(blocks, threads, kernel, (void *)(uintptr_t)argument);
}
#endif

#endif

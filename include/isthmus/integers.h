/* isthmus/integers.h: which compiler reads these headers, as far as device code is concerned; size_t, ptrdiff_t and the
 * integers of a fixed width, also for NVRTC, which has no headers of the system. There they are what libcu++ makes of
 * them. HIPRTC has them built in. */
#ifndef ISTHMUS_INTEGERS_H
#define ISTHMUS_INTEGERS_H

/* A compiler for GPUs: CUDA's (nvcc, NVRTC, clang) or HIP's (hipcc, HIPRTC).
 *   ISTHMUS_GPU_COMPILER  the text is compiled for the host and for the GPU
 *   ISTHMUS_GPU_PASS      the same, and now for the GPU
 *   ISTHMUS_GPU_RTC       the text is compiled while the program runs: there is no host's side, and no system header */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIP__)
#define ISTHMUS_GPU_COMPILER 1
#endif
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define ISTHMUS_GPU_PASS 1
#endif
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define ISTHMUS_GPU_RTC 1
#endif

/* Before the declaration of a routine that kernels call by the name that the host has too. */
#if defined(ISTHMUS_GPU_RTC)
#define ISTHMUS_HOST_DEVICE __device__
#elif defined(ISTHMUS_GPU_COMPILER)
#define ISTHMUS_HOST_DEVICE __host__ __device__
#else
#define ISTHMUS_HOST_DEVICE
#endif

#ifdef __CUDACC_RTC__
#if __has_include(<cuda/std/cstdint>)
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#endif
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
typedef long long intptr_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
#ifndef INT_MAX
#define INT_MAX 0x7fffffff
#endif
#elif !defined(ISTHMUS_GPU_RTC)
#include <stddef.h>
#include <stdint.h>
#endif

#endif

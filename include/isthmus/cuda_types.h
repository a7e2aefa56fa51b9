/* isthmus/cuda_types.h: the types of CUDA that nvshmem.h names: streams, half and bfloat16. CUDA's own where its
 * headers can be found, and HIP's half for HIP's compiler; else stand-ins of the same size and passed the same way, so
 * that programs compile without CUDA.
 * -DISTHMUS_NO_CUDA_HEADERS keeps to the stand-ins. */
#ifndef ISTHMUS_CUDA_TYPES_H
#define ISTHMUS_CUDA_TYPES_H

#include <isthmus/integers.h>

#if defined(__HIP__)
#ifndef __HIPCC_RTC__
#include <hip/hip_runtime.h>
#endif
#include <hip/hip_fp16.h>
#elif defined(__CUDACC__)
#define ISTHMUS_HAS_CUDA_HEADERS_
#elif defined(__has_include) && !defined(ISTHMUS_NO_CUDA_HEADERS)
#if __has_include(<driver_types.h>) && __has_include(<cuda_bf16.h>)
#define ISTHMUS_HAS_CUDA_HEADERS_
#endif
#endif

#ifdef ISTHMUS_HAS_CUDA_HEADERS_
#include <driver_types.h>
#elif !defined(__DRIVER_TYPES_H__)
typedef void *cudaStream_t; /* any pointer names a stream */
#endif

/* The headers of the 16-bit types are for C++. */
#if defined(ISTHMUS_HAS_CUDA_HEADERS_) && defined(__cplusplus)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#elif defined(__HIP__) /* which has half; a program may give any type of 16 bits to the names with bfloat16 */
typedef struct {
    unsigned short bits;
} __nv_bfloat16;
#elif !defined(__CUDA_FP16_H__) && !defined(__CUDA_BF16_H__)
typedef struct {
    unsigned short bits;
} __half;
typedef __half half;
typedef struct {
    unsigned short bits;
} __nv_bfloat16;
#endif

#endif

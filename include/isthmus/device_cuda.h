/* isthmus/device_cuda.h: the primitives of device.h for CUDA: nvcc, NVRTC and clang. Not the CPU device (device_cpu.h),
 * which has the same names. The accesses to memory are in device_ptx.h.
 *
 * Each file registers its state where the host's side of it is compiled, and the library writes it. Code that the
 * program loads itself is registered with nvshmemx_cumodule_init or nvshmemx_culibrary_init. */
#ifndef ISTHMUS_DEVICE_CUDA_H
#define ISTHMUS_DEVICE_CUDA_H

#include <isthmus/device_state.h>

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#ifndef __CUDACC_RTC__ /* which knows printf */
#include <stdio.h>
#endif

#define ISTHMUS_DEVICE static __device__ __forceinline__
#define ISTHMUS_DEVICE_COLD static __device__ __noinline__
#define ISTHMUS_DEVICE_APART static __device__ __noinline__
#define ISTHMUS_DEVICE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISTHMUS_DEVICE_UNROLL _Pragma("unroll")
#define ISTHMUS_DEVICE_ROLLED _Pragma("unroll 1")
#define ISTHMUS_NO_RETURN __attribute__((noreturn))
#define ISTHMUS_PTX(...) asm volatile(__VA_ARGS__)
#define ISTHMUS_GLOBAL(pointer) ((uint64_t)__cvta_generic_to_global(pointer))

/* The state: one object for a module. In one that is linked from relocatable code all files share it, or, before C++17,
 * which has inline variables, each file has and registers its own. */
#if defined(__CUDACC_RTC__)
extern "C" __constant__ struct isthmus_device_state isthmus_device_v1;
#elif defined(__CUDACC_RDC__) && __cplusplus >= 201703L
inline __constant__ struct isthmus_device_state isthmus_device_v1;
#else
static __constant__ struct isthmus_device_state isthmus_device_v1;
#endif

typedef uint8_t isthmus_u8;
typedef uint16_t isthmus_u16;
typedef uint32_t isthmus_u32;
typedef uint64_t isthmus_u64;
struct __align__(16) isthmus_u128 { uint64_t low, high; };

/* ---- threads ---- */

enum { ISTHMUS_WARP_THREADS = 32 };

ISTHMUS_DEVICE uint32_t isthmus_dev_thread_rank(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
ISTHMUS_DEVICE uint32_t isthmus_dev_thread_count(void) { return blockDim.x * blockDim.y * blockDim.z; }
ISTHMUS_DEVICE uint32_t isthmus_dev_block_rank(void)
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
ISTHMUS_DEVICE uint32_t isthmus_dev_block_count(void) { return gridDim.x * gridDim.y * gridDim.z; }

#include <isthmus/device_ptx.h>

ISTHMUS_DEVICE void isthmus_dev_barrier(int scope)
{
    if (scope == ISTHMUS_BLOCK)
        __syncthreads();
    else if (scope == ISTHMUS_WARP)
        __syncwarp();
    else
        isthmus_dev_warpgroup_barrier();
}

ISTHMUS_DEVICE void isthmus_dev_pause(void) { __nanosleep(20); }

/* The module, for a line about it. */
#ifdef __CUDACC_RTC__
#define ISTHMUS_CUDA_MODULE "code of NVRTC"
#else
#define ISTHMUS_CUDA_MODULE __BASE_FILE__
#endif

/* There is no report to write. */
ISTHMUS_DEVICE void isthmus_dev_print_uninitialised(int call, const void *addr, int value)
{
    printf(ISTHMUS_PTX_NO_STATE_LINE, isthmus_dev_call_name(call), addr, value, ISTHMUS_CUDA_MODULE);
}

/* ---- the module ---- */

#if !defined(__CUDACC_RTC__) && !defined(__CUDA_ARCH__)
extern "C" {
extern int isthmus_device_register_gpu_v1(uint32_t kind, void *(*find)(void)) __attribute__((weak));
extern void isthmus_device_unregister_gpu_v1(void *(*find)(void)) __attribute__((weak));
}

static void *isthmus_cuda_find_(void)
{
    void *at = nullptr;
    return cudaGetSymbolAddress(&at, isthmus_device_v1) == cudaSuccess ? at : nullptr;
}

/* An object and not a function with the attribute constructor: those come before the one in which the compiler makes
 * the variables of this file known to the runtime. */
namespace
{
struct isthmus_cuda_module_ {
    isthmus_cuda_module_()
    {
        enum { CUDA = 1 }; /* ISTHMUS_MEM_CUDA */
        if (isthmus_device_register_gpu_v1 != nullptr) (void)isthmus_device_register_gpu_v1(CUDA, isthmus_cuda_find_);
    }
    ~isthmus_cuda_module_()
    {
        if (isthmus_device_unregister_gpu_v1 != nullptr) isthmus_device_unregister_gpu_v1(isthmus_cuda_find_);
    }
} isthmus_cuda_this_module_;
} // namespace
#endif

#endif

#endif

/* isthmus/device_cuda.h: the primitives of device.h for CUDA: nvcc, NVRTC and clang. Not the CPU device (device_cpu.h),
 * which has the same names. Every access names its order and its scope in PTX: none is left to a compiler's idea of
 * volatile or of atomics.
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
#define ISTHMUS_DEVICE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISTHMUS_DEVICE_UNROLL _Pragma("unroll")

/* The state: one object for a module. In one that is linked from relocatable code all files share it. */
#if defined(__CUDACC_RTC__)
extern "C" __constant__ struct isthmus_device_state isthmus_device_v1;
#elif defined(__CUDACC_RDC__)
inline __constant__ struct isthmus_device_state isthmus_device_v1;
#else
static __constant__ struct isthmus_device_state isthmus_device_v1;
#endif

typedef uint8_t isthmus_u8;
typedef uint16_t isthmus_u16;
typedef uint32_t isthmus_u32;
typedef uint64_t isthmus_u64;
struct __align__(16) isthmus_u128 { uint64_t low, high; };

/* ---- memory ---- */

ISTHMUS_DEVICE uint64_t isthmus_dev_load(const void *from, size_t size)
{
    uint64_t wide;
    uint32_t value;
    uint16_t narrow;
    switch (size) {
    case 1: asm volatile("ld.relaxed.sys.u8 %0, [%1];" : "=h"(narrow) : "l"(from) : "memory"); return narrow;
    case 2: asm volatile("ld.relaxed.sys.u16 %0, [%1];" : "=h"(narrow) : "l"(from) : "memory"); return narrow;
    case 4: asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory"); return value;
    default: asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(wide) : "l"(from) : "memory"); return wide;
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_acquire(const void *from, size_t size)
{
    uint64_t wide;
    uint32_t value;
    uint16_t narrow;
    switch (size) {
    case 1: asm volatile("ld.acquire.sys.u8 %0, [%1];" : "=h"(narrow) : "l"(from) : "memory"); return narrow;
    case 2: asm volatile("ld.acquire.sys.u16 %0, [%1];" : "=h"(narrow) : "l"(from) : "memory"); return narrow;
    case 4: asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory"); return value;
    default: asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(wide) : "l"(from) : "memory"); return wide;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store(void *to, uint64_t bits, size_t size)
{
    switch (size) {
    case 1: asm volatile("st.relaxed.sys.u8 [%0], %1;" ::"l"(to), "h"((uint16_t)bits) : "memory"); break;
    case 2: asm volatile("st.relaxed.sys.u16 [%0], %1;" ::"l"(to), "h"((uint16_t)bits) : "memory"); break;
    case 4: asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"((uint32_t)bits) : "memory"); break;
    default: asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(bits) : "memory"); break;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store_release(uint64_t *to, uint64_t value)
{
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

ISTHMUS_DEVICE void isthmus_dev_add_release(uint64_t *to, uint64_t value)
{
    asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

/* One store of 16 bytes, of which each half shows by itself whether it has arrived. */
ISTHMUS_DEVICE void isthmus_dev_store_pair(uint64_t *to, uint64_t first, uint64_t second)
{
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second) : "memory");
}

ISTHMUS_DEVICE uint64_t isthmus_dev_add_device(uint64_t *at, uint64_t value)
{
    uint64_t old;
    asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");
    return old;
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_device(const uint64_t *at)
{
    uint64_t value;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

ISTHMUS_DEVICE void isthmus_dev_store_device(uint64_t *at, uint64_t value)
{
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

ISTHMUS_DEVICE uint32_t isthmus_dev_load_turn(const uint32_t *at)
{
    uint32_t value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

ISTHMUS_DEVICE void isthmus_dev_store_turn(uint32_t *at, uint32_t value)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

/* ---- atomics at system scope ---- */

ISTHMUS_DEVICE uint64_t isthmus_dev_amo_64(uint32_t op, void *at, uint64_t operand, uint64_t compare)
{
    uint64_t old = 0;
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return isthmus_dev_load(at, 8);
    case ISTHMUS_DEV_AMO_SET: isthmus_dev_store(at, operand, 8); return 0;
    case ISTHMUS_DEV_AMO_SWAP:
        asm volatile("atom.relaxed.sys.exch.b64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(operand) : "memory");
        break;
    case ISTHMUS_DEV_AMO_COMPARE_SWAP:
        asm volatile("atom.relaxed.sys.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(old)
                     : "l"(at), "l"(compare), "l"(operand)
                     : "memory");
        break;
    case ISTHMUS_DEV_AMO_ADD:
        asm volatile("atom.relaxed.sys.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(operand) : "memory");
        break;
    case ISTHMUS_DEV_AMO_AND:
        asm volatile("atom.relaxed.sys.and.b64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(operand) : "memory");
        break;
    case ISTHMUS_DEV_AMO_OR:
        asm volatile("atom.relaxed.sys.or.b64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(operand) : "memory");
        break;
    default:
        asm volatile("atom.relaxed.sys.xor.b64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(operand) : "memory");
        break;
    }
    return old;
}

ISTHMUS_DEVICE uint32_t isthmus_dev_amo_32(uint32_t op, void *at, uint32_t operand, uint32_t compare)
{
    uint32_t old = 0;
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return (uint32_t)isthmus_dev_load(at, 4);
    case ISTHMUS_DEV_AMO_SET: isthmus_dev_store(at, operand, 4); return 0;
    case ISTHMUS_DEV_AMO_SWAP:
        asm volatile("atom.relaxed.sys.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(operand) : "memory");
        break;
    case ISTHMUS_DEV_AMO_COMPARE_SWAP:
        asm volatile("atom.relaxed.sys.cas.b32 %0, [%1], %2, %3;"
                     : "=r"(old)
                     : "l"(at), "r"(compare), "r"(operand)
                     : "memory");
        break;
    case ISTHMUS_DEV_AMO_ADD:
        asm volatile("atom.relaxed.sys.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(operand) : "memory");
        break;
    case ISTHMUS_DEV_AMO_AND:
        asm volatile("atom.relaxed.sys.and.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(operand) : "memory");
        break;
    case ISTHMUS_DEV_AMO_OR:
        asm volatile("atom.relaxed.sys.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(operand) : "memory");
        break;
    default:
        asm volatile("atom.relaxed.sys.xor.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(operand) : "memory");
        break;
    }
    return old;
}

ISTHMUS_DEVICE uint64_t isthmus_dev_amo(uint32_t op, void *at, uint64_t operand, uint64_t compare, size_t size)
{
    return size == 8 ? isthmus_dev_amo_64(op, at, operand, compare)
                     : isthmus_dev_amo_32(op, at, (uint32_t)operand, (uint32_t)compare);
}

/* ---- order ---- */

ISTHMUS_DEVICE void isthmus_dev_fence(void) { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/* It waits until earlier stores have been performed; that later loads come after them is all that a quiet needs. */
ISTHMUS_DEVICE void isthmus_dev_drain(void) { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

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

/* The barrier counts whole warps. The last warpgroup of a block may have fewer than four. */
ISTHMUS_DEVICE uint32_t isthmus_dev_warpgroup_threads(void)
{
    uint32_t left = isthmus_dev_thread_count() - isthmus_dev_thread_rank() / 128 * 128;
    return left < 128 ? (left + ISTHMUS_WARP_THREADS - 1) / ISTHMUS_WARP_THREADS * ISTHMUS_WARP_THREADS : 128;
}

/* A warpgroup meets at a named barrier: 8 to 15 of the block's sixteen, by its number. */
ISTHMUS_DEVICE void isthmus_dev_barrier(int scope)
{
    if (scope == ISTHMUS_BLOCK)
        __syncthreads();
    else if (scope == ISTHMUS_WARP)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(8 + isthmus_dev_thread_rank() / 128 % 8),
                     "r"(isthmus_dev_warpgroup_threads())
                     : "memory");
}

ISTHMUS_DEVICE void isthmus_dev_pause(void) { __nanosleep(20); }

ISTHMUS_DEVICE uint64_t isthmus_dev_vary(void)
{
    uint32_t clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
    return clock;
}

ISTHMUS_DEVICE_COLD void isthmus_dev_trap(void) { asm volatile("trap;"); }

ISTHMUS_DEVICE int isthmus_dev_is_over(void) { return 0; } /* a trap ends all threads of the kernel */

ISTHMUS_DEVICE_COLD void isthmus_dev_misuse(const char *what, const void *addr, int pe)
{
    if (isthmus_device_v1.n == 0 || (isthmus_device_v1.flags & ISTHMUS_DEVICE_CHECK) != 0)
        printf("isthmus: PE %d: a kernel's call: %s: address %p, PE %d of %d\n", (int)isthmus_device_v1.me, what, addr,
               pe, (int)isthmus_device_v1.n);
    isthmus_dev_trap();
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

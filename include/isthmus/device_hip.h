/* isthmus/device_hip.h: the primitives of device.h for AMD's GPUs: hipcc, HIPRTC and clang. "warp" is a wavefront here,
 * of 64 threads or of 32, "block" a work-group. Not CUDA's dialect (device_cuda.h), which has the same names.
 *
 * Every access names its order and its scope, and the global address space: an access without one is "flat", which also
 * looks whether the address is one of the work-group's memory or of the thread's stack, and counts as an access to
 * both. Only local operands of calls may lie there; what other PEs have does not. */
#ifndef ISTHMUS_DEVICE_HIP_H
#define ISTHMUS_DEVICE_HIP_H

#include <isthmus/device_state.h>

#ifdef __HIP__

#ifndef __HIPCC_RTC__ /* which has these names without a header */
#include <hip/hip_runtime.h>
#endif

#define ISTHMUS_DEVICE static __device__ __forceinline__
#define ISTHMUS_DEVICE_COLD static __device__ __attribute__((noinline)) /* cold: short of memset, which is missing */
#define ISTHMUS_DEVICE_APART static __device__ __attribute__((noinline))
#define ISTHMUS_DEVICE_AWAIT ISTHMUS_DEVICE_APART /* inlined many times, LLVM 15 runs out of registers at -O1 */
#define ISTHMUS_DEVICE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISTHMUS_DEVICE_UNROLL _Pragma("unroll")
#define ISTHMUS_DEVICE_ROLLED _Pragma("unroll 1")
#define ISTHMUS_DEVICE_KEEP(a, b) (void)0
#define ISTHMUS_NO_RETURN __attribute__((noreturn))

/* By way of an integer: the compiler drops a conversion of address spaces and back. */
#define ISTHMUS_HIP_GLOBAL(T, pointer) ((__attribute__((address_space(1))) T *)(uint64_t)(pointer))
#define ISTHMUS_DEVICE_FAR(pointer) ((char *)ISTHMUS_HIP_GLOBAL(char, pointer))

/* The state: one object for a module. In one that is linked from relocatable code all files share it. */
#if defined(__HIPCC_RTC__)
extern "C" __constant__ struct isthmus_device_state isthmus_device_v1;
#elif defined(__CLANG_RDC__)
inline __constant__ struct isthmus_device_state isthmus_device_v1;
#else
static __constant__ struct isthmus_device_state isthmus_device_v1;
#endif

typedef uint8_t __attribute__((may_alias)) isthmus_u8;
typedef uint16_t __attribute__((may_alias)) isthmus_u16;
typedef uint32_t __attribute__((may_alias)) isthmus_u32;
typedef uint64_t __attribute__((may_alias)) isthmus_u64;
typedef uint64_t __attribute__((ext_vector_type(2), may_alias)) isthmus_u128;

/* ---- memory ---- */

#define ISTHMUS_HIP_LOAD(T, from, order) \
    __hip_atomic_load(ISTHMUS_HIP_GLOBAL(const T, from), order, __HIP_MEMORY_SCOPE_SYSTEM)
#define ISTHMUS_HIP_STORE(T, to, value) \
    __hip_atomic_store(ISTHMUS_HIP_GLOBAL(T, to), (T)(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)

ISTHMUS_DEVICE uint64_t isthmus_dev_load(const void *from, size_t size)
{
    switch (size) {
    case 1: return ISTHMUS_HIP_LOAD(uint8_t, from, __ATOMIC_RELAXED);
    case 2: return ISTHMUS_HIP_LOAD(uint16_t, from, __ATOMIC_RELAXED);
    case 4: return ISTHMUS_HIP_LOAD(uint32_t, from, __ATOMIC_RELAXED);
    default: return ISTHMUS_HIP_LOAD(uint64_t, from, __ATOMIC_RELAXED);
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_acquire(const void *from, size_t size)
{
    switch (size) {
    case 1: return ISTHMUS_HIP_LOAD(uint8_t, from, __ATOMIC_ACQUIRE);
    case 2: return ISTHMUS_HIP_LOAD(uint16_t, from, __ATOMIC_ACQUIRE);
    case 4: return ISTHMUS_HIP_LOAD(uint32_t, from, __ATOMIC_ACQUIRE);
    default: return ISTHMUS_HIP_LOAD(uint64_t, from, __ATOMIC_ACQUIRE);
    }
}

ISTHMUS_DEVICE void isthmus_dev_store(void *to, uint64_t bits, size_t size)
{
    switch (size) {
    case 1: ISTHMUS_HIP_STORE(uint8_t, to, bits); break;
    case 2: ISTHMUS_HIP_STORE(uint16_t, to, bits); break;
    case 4: ISTHMUS_HIP_STORE(uint32_t, to, bits); break;
    default: ISTHMUS_HIP_STORE(uint64_t, to, bits); break;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store_release(uint64_t *to, uint64_t value)
{
    __hip_atomic_store(ISTHMUS_HIP_GLOBAL(uint64_t, to), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

ISTHMUS_DEVICE void isthmus_dev_add_release(uint64_t *to, uint64_t value)
{
    (void)__hip_atomic_fetch_add(ISTHMUS_HIP_GLOBAL(uint64_t, to), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

ISTHMUS_DEVICE void isthmus_dev_store_pair(uint64_t *to, uint64_t first, uint64_t second)
{
    ISTHMUS_HIP_STORE(uint64_t, to, first);
    ISTHMUS_HIP_STORE(uint64_t, to + 1, second);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_add_device(uint64_t *at, uint64_t value)
{
    return __hip_atomic_fetch_add(ISTHMUS_HIP_GLOBAL(uint64_t, at), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_device(const uint64_t *at)
{
    return __hip_atomic_load(ISTHMUS_HIP_GLOBAL(const uint64_t, at), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}

ISTHMUS_DEVICE void isthmus_dev_store_device(uint64_t *at, uint64_t value)
{
    __hip_atomic_store(ISTHMUS_HIP_GLOBAL(uint64_t, at), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

ISTHMUS_DEVICE uint32_t isthmus_dev_load_turn(const uint32_t *at)
{
    return __hip_atomic_load(ISTHMUS_HIP_GLOBAL(const uint32_t, at), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}

ISTHMUS_DEVICE void isthmus_dev_store_turn(uint32_t *at, uint32_t value)
{
    __hip_atomic_store(ISTHMUS_HIP_GLOBAL(uint32_t, at), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

/* Returns 1 for a thread's variables and a block's shared memory, whose addresses mean nothing outside of the
 * kernel. */
ISTHMUS_DEVICE int isthmus_dev_is_private(const void *addr)
{
    const auto *generic = (const __attribute__((address_space(0))) void *)addr; /* for the pass of the host, too */
    return __builtin_amdgcn_is_private(generic) || __builtin_amdgcn_is_shared(generic);
}

/* ---- atomics at system scope ---- */

template <typename T> ISTHMUS_DEVICE T isthmus_hip_amo(uint32_t op, void *addr, T operand, T compare)
{
    auto *at = ISTHMUS_HIP_GLOBAL(T, addr);
    switch (op) {
    case ISTHMUS_DEV_AMO_FETCH: return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    case ISTHMUS_DEV_AMO_SET: __hip_atomic_store(at, operand, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); return 0;
    case ISTHMUS_DEV_AMO_SWAP: return __hip_atomic_exchange(at, operand, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    case ISTHMUS_DEV_AMO_COMPARE_SWAP:
        (void)__hip_atomic_compare_exchange_strong(at, &compare, operand, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_SYSTEM);
        return compare;
    case ISTHMUS_DEV_AMO_ADD: return __hip_atomic_fetch_add(at, operand, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    case ISTHMUS_DEV_AMO_AND: return __hip_atomic_fetch_and(at, operand, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    case ISTHMUS_DEV_AMO_OR: return __hip_atomic_fetch_or(at, operand, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    default: return __hip_atomic_fetch_xor(at, operand, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_amo(uint32_t op, void *at, uint64_t operand, uint64_t compare, size_t size)
{
    return size == 8 ? isthmus_hip_amo<uint64_t>(op, at, operand, compare)
                     : isthmus_hip_amo<uint32_t>(op, at, (uint32_t)operand, (uint32_t)compare);
}

/* ---- order; the scope "" is the system ---- */

ISTHMUS_DEVICE void isthmus_dev_fence(void) { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }

/* The same, and earlier stores have arrived before later loads. */
ISTHMUS_DEVICE void isthmus_dev_drain(void) { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

/* ---- threads ---- */

#if defined(__AMDGCN_WAVEFRONT_SIZE)
enum { ISTHMUS_WARP_THREADS = __AMDGCN_WAVEFRONT_SIZE };
#elif defined(__GFX9__) || !defined(__HIP_DEVICE_COMPILE__)
enum { ISTHMUS_WARP_THREADS = 64 };
#else
enum { ISTHMUS_WARP_THREADS = 32 };
#endif

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

ISTHMUS_DEVICE void isthmus_dev_pause(void) { __builtin_amdgcn_s_sleep(1); }
ISTHMUS_DEVICE uint64_t isthmus_dev_vary(void) { return __builtin_readcyclecounter(); }
ISTHMUS_DEVICE int isthmus_dev_is_over(void) { return 0; } /* a trap ends all threads of the kernel */

ISTHMUS_DEVICE ISTHMUS_NO_RETURN void isthmus_dev_trap(void)
{
    __builtin_trap();
    __builtin_unreachable();
}

/* There is no report to write, and no line: a printf would make every kernel with calls need the service of printf on
 * the host, and a stack. The kernel ends with an error of its queue. */
ISTHMUS_DEVICE void isthmus_dev_print_uninitialised(int call, const void *addr, int value)
{
    (void)call, (void)addr, (void)value;
}

ISTHMUS_DEVICE_COLD void isthmus_dev_misuse(int call, int mistake, const void *addr, int value); /* device_report.h */

/* Of a block: the wavefronts' stores have arrived in the GPU's memory, and not only left the compute unit, because a
 * later fence of one of them waits for its own stores alone. A warpgroup has no barrier of its own: it is the whole
 * block, or a mistake. */
ISTHMUS_DEVICE void isthmus_dev_barrier(int scope)
{
    if (scope == ISTHMUS_WARP) {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
        __builtin_amdgcn_wave_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
        return;
    }
    if (scope == ISTHMUS_WARPGROUP && isthmus_dev_thread_count() > 4 * ISTHMUS_WARP_THREADS)
        isthmus_dev_misuse(ISTHMUS_CALL_BARRIER, ISTHMUS_MISTAKE_WARPGROUP, NULL, (int)isthmus_dev_thread_count());
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* ---- the module ---- */

/* Also read where the device's code is compiled: without a use by the host the compiler takes the state for a constant
 * that nothing fills. */
#ifndef __HIPCC_RTC__
extern "C" {
extern int isthmus_device_register_gpu_v1(uint32_t kind, void *(*find)(void)) __attribute__((weak));
extern void isthmus_device_unregister_gpu_v1(void *(*find)(void)) __attribute__((weak));
}

static void *isthmus_hip_find_(void)
{
    void *at = nullptr;
    return hipGetSymbolAddress(&at, HIP_SYMBOL(isthmus_device_v1)) == hipSuccess ? at : nullptr;
}

namespace
{
struct isthmus_hip_module_ {
    isthmus_hip_module_()
    {
        enum { HIP = 3 }; /* ISTHMUS_MEM_HIP */
        if (isthmus_device_register_gpu_v1 != nullptr) (void)isthmus_device_register_gpu_v1(HIP, isthmus_hip_find_);
    }
    ~isthmus_hip_module_()
    {
        if (isthmus_device_unregister_gpu_v1 != nullptr) isthmus_device_unregister_gpu_v1(isthmus_hip_find_);
    }
} isthmus_hip_this_module_;
} // namespace
#endif

#endif

#endif

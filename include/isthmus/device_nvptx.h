/* isthmus/device_nvptx.h: the primitives of device.h in plain C for NVIDIA's GPUs: clang --target=nvptx64-nvidia-
 * cuda, without any header of CUDA. libnvshmem_device.bc is compiled with it, for compilers that link bitcode. Not
 * CUDA's dialect (device_cuda.h), which has the same names. */
#ifndef ISTHMUS_DEVICE_NVPTX_H
#define ISTHMUS_DEVICE_NVPTX_H

#include <isthmus/device_state.h>

#if defined(__NVPTX__) && !defined(__CUDACC__)

/* Without `inline`: the library is small that way, and the compiler that links it inlines what is not cold. */
#define ISTHMUS_DEVICE static __attribute__((unused))
#define ISTHMUS_DEVICE_COLD static __attribute__((noinline, cold, unused))
#define ISTHMUS_DEVICE_APART ISTHMUS_DEVICE_COLD
#define ISTHMUS_DEVICE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISTHMUS_DEVICE_UNROLL _Pragma("clang loop unroll(full)")
#define ISTHMUS_DEVICE_ROLLED _Pragma("clang loop unroll(disable)")
#define ISTHMUS_NO_RETURN __attribute__((noreturn))
#define ISTHMUS_PTX(...) __asm__ volatile(__VA_ARGS__)
#define ISTHMUS_GLOBAL(pointer) ((uint64_t)(const __attribute__((address_space(1))) void *)(pointer))

/* The state, in constant memory: one object for each module, also of one that is linked from several. */
__attribute__((address_space(4), weak)) struct isthmus_device_state isthmus_nvptx_state_ __asm__("isthmus_device_v1");
#define isthmus_device_v1 (*(const struct isthmus_device_state *)&isthmus_nvptx_state_)

typedef uint8_t __attribute__((may_alias)) isthmus_u8;
typedef uint16_t __attribute__((may_alias)) isthmus_u16;
typedef uint32_t __attribute__((may_alias)) isthmus_u32;
typedef uint64_t __attribute__((may_alias)) isthmus_u64;
typedef uint64_t __attribute__((ext_vector_type(2), may_alias)) isthmus_u128;

/* ---- threads ---- */

enum { ISTHMUS_WARP_THREADS = 32 };

ISTHMUS_DEVICE uint32_t isthmus_dev_thread_rank(void)
{
    return (uint32_t)(__nvvm_read_ptx_sreg_tid_x() +
                      __nvvm_read_ptx_sreg_ntid_x() * (__nvvm_read_ptx_sreg_tid_y() +
                                                       __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_tid_z()));
}
ISTHMUS_DEVICE uint32_t isthmus_dev_thread_count(void)
{
    return (uint32_t)(__nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_ntid_z());
}
ISTHMUS_DEVICE uint32_t isthmus_dev_block_rank(void)
{
    return (uint32_t)(__nvvm_read_ptx_sreg_ctaid_x() +
                      __nvvm_read_ptx_sreg_nctaid_x() *
                          (__nvvm_read_ptx_sreg_ctaid_y() +
                           __nvvm_read_ptx_sreg_nctaid_y() * __nvvm_read_ptx_sreg_ctaid_z()));
}
ISTHMUS_DEVICE uint32_t isthmus_dev_block_count(void)
{
    return (uint32_t)(__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_nctaid_y() *
                      __nvvm_read_ptx_sreg_nctaid_z());
}

#include <isthmus/device_ptx.h>

/* A barrier of a block takes the name 0, as CUDA's __syncthreads. */
ISTHMUS_DEVICE void isthmus_dev_barrier(int scope)
{
    if (scope == ISTHMUS_BLOCK)
        ISTHMUS_PTX("barrier.sync 0;" ::: "memory");
    else if (scope == ISTHMUS_WARP)
        ISTHMUS_PTX("bar.warp.sync %0;" ::"r"(0xffffffffu) : "memory");
    else
        isthmus_dev_warpgroup_barrier();
}

ISTHMUS_DEVICE void isthmus_dev_pause(void) { ISTHMUS_PTX("nanosleep.u32 20;"); }

extern int vprintf(const char *format, void *arguments); /* the device's, which takes them as a struct */

/* There is no report to write. */
ISTHMUS_DEVICE void isthmus_dev_print_uninitialised(int call, const void *addr, int value)
{
    struct {
        const char *name;
        const void *addr;
        int value;
        const char *module;
    } arguments = {isthmus_dev_call_name(call), addr, value, "a module with bitcode"};
    (void)vprintf(ISTHMUS_PTX_NO_STATE_LINE, &arguments);
}

#endif

#endif

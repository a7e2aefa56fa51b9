/* isthmus/kernel_names.h: how nvshmem_device.h and rocshmem_device.hpp define their routines. What these call is in
 * device_entry.h. */
#ifndef ISTHMUS_KERNEL_NAMES_H
#define ISTHMUS_KERNEL_NAMES_H

#include <isthmus/cuda_types.h>
#include <isthmus/device_entry.h>

/* ---- a name that the host has too ---- */

#ifdef ISTHMUS_GPU_COMPILER
/* The host's side of a name is the library's: only the compilation for the device defines it. */
#define ISTHMUS_KERNEL_HOST(returns, name, parameters) ISTHMUS_HOST_DEVICE returns name parameters
#define ISTHMUS_KERNEL_BOTH ISTHMUS_HOST_DEVICE __forceinline__
#define ISTHMUS_KERNEL_ON_HOST(name, arguments) (void)0
#define ISTHMUS_KERNEL_ON_HOST_VOID(name, arguments) (void)0
#elif defined(__NVPTX__)
/* There is no host, and every name is a function of a library. */
#define ISTHMUS_KERNEL_NAME
#define ISTHMUS_KERNEL_HOST(returns, name, parameters) returns name parameters
#define ISTHMUS_KERNEL_BOTH
#define ISTHMUS_KERNEL_ON_HOST(name, arguments) (void)0
#define ISTHMUS_KERNEL_ON_HOST_VOID(name, arguments) (void)0
#else
/* One compilation is for both: outside of kernels the library's routine is called, by its name in the object file. */
#define ISTHMUS_KERNEL_HOST(returns, name, parameters) extern returns isthmus_host_##name parameters __asm__(#name)
#define ISTHMUS_KERNEL_BOTH extern __inline__ __attribute__((gnu_inline, always_inline))
#define ISTHMUS_KERNEL_ON_HOST(name, arguments) \
    if (isthmus_cpu_thread_v1 == NULL) return isthmus_host_##name arguments
#define ISTHMUS_KERNEL_ON_HOST_VOID(name, arguments) \
    if (isthmus_cpu_thread_v1 == NULL) {             \
        isthmus_host_##name arguments;               \
        return;                                      \
    } else                                           \
        (void)0
#endif

/* Before a name that only kernels have, and before one that the host has inline too. */
#ifdef ISTHMUS_KERNEL_NAME
#define ISTHMUS_KERNEL_ANYWHERE ISTHMUS_KERNEL_NAME
#else
#define ISTHMUS_KERNEL_NAME ISTHMUS_DEVICE
#define ISTHMUS_KERNEL_ANYWHERE ISTHMUS_HOST_DEVICE static inline
#endif

#define ISTHMUS_KERNEL_IS_SIGNED(T) ((T)-1 < (T)1)

#endif

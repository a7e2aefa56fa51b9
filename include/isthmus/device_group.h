/* isthmus/device_group.h: the threads that make a call together; and the choice of the dialect, whose primitives
 * everything else in device.h uses.
 *
 * The dialect follows from the compiler: CUDA's if it compiles for CUDA, HIP's if for HIP, SYCL's if it compiles SYCL,
 * plain C's if it compiles for NVPTX, else the CPU device's; ISTHMUS_DEVICE_CPU selects that in SYCL too. nvshmem.h
 * includes device.h for CUDA's and HIP's compilers, and else if ISTHMUS_DEVICE_CPU is defined; ishmem.h does for SYCL
 * compilers. */
#ifndef ISTHMUS_DEVICE_GROUP_H
#define ISTHMUS_DEVICE_GROUP_H

#include <isthmus/device_state.h>

/* A warpgroup: 4 warps, 128 threads. */
enum { ISTHMUS_THREAD = 0, ISTHMUS_WARP = 1, ISTHMUS_WARPGROUP = 2, ISTHMUS_BLOCK = 3 };

#if defined(__HIP__)
#include <isthmus/device_hip.h>
#elif defined(ISTHMUS_GPU_COMPILER)
#include <isthmus/device_cuda.h>
#elif defined(SYCL_LANGUAGE_VERSION) && !defined(ISTHMUS_DEVICE_CPU)
#include <isthmus/device_sycl.hpp>
#elif defined(__NVPTX__)
#include <isthmus/device_nvptx.h>
#else
#include <isthmus/device_cpu.h>
#endif

#include <isthmus/device_report.h>

/* Memory of another PE, or of this one that others reach, to which the dialect may give its address space. */
#ifndef ISTHMUS_DEVICE_FAR
#define ISTHMUS_DEVICE_FAR(pointer) (pointer)
#endif

/* A rare path that a group takes together. */
#ifndef ISTHMUS_DEVICE_COLD_GROUP
#define ISTHMUS_DEVICE_COLD_GROUP ISTHMUS_DEVICE_COLD
#endif

/* A wait that collectives have in many places. */
#ifndef ISTHMUS_DEVICE_AWAIT
#define ISTHMUS_DEVICE_AWAIT ISTHMUS_DEVICE
#endif

/* ---- groups ---- */

#ifndef ISTHMUS_DEVICE_HAS_GROUPS /* the dialect has none of its own */

ISTHMUS_DEVICE uint32_t isthmus_dev_group_threads(int scope)
{
    return scope == ISTHMUS_THREAD      ? 1u
           : scope == ISTHMUS_WARP      ? (uint32_t)ISTHMUS_WARP_THREADS
           : scope == ISTHMUS_WARPGROUP ? 4u * ISTHMUS_WARP_THREADS
                                        : isthmus_dev_thread_count();
}

/* The calling thread's number in its group. */
ISTHMUS_DEVICE uint32_t isthmus_dev_rank(int scope)
{
    return scope == ISTHMUS_THREAD  ? 0
           : scope == ISTHMUS_BLOCK ? isthmus_dev_thread_rank()
                                    : isthmus_dev_thread_rank() % isthmus_dev_group_threads(scope);
}

/* How many threads the group has; the last one of a block may be smaller. */
ISTHMUS_DEVICE uint32_t isthmus_dev_size(int scope)
{
    if (scope == ISTHMUS_THREAD || scope == ISTHMUS_BLOCK) return isthmus_dev_group_threads(scope);
    uint32_t first = isthmus_dev_thread_rank() - isthmus_dev_rank(scope);
    uint32_t left = isthmus_dev_thread_count() - first, threads = isthmus_dev_group_threads(scope);
    return left < threads ? left : threads;
}

#endif

ISTHMUS_DEVICE int isthmus_dev_is_leader(int scope) { return isthmus_dev_rank(scope) == 0; }

/* Nothing to wait for where the group is one thread. */
ISTHMUS_DEVICE void isthmus_dev_meet(int scope)
{
    if (scope != ISTHMUS_THREAD) isthmus_dev_barrier(scope);
}

#endif

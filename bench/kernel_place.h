/* Where the kernels of bench_kernels.c run: on a GPU if nvcc compiles them, against any library that has NVSHMEM's
 * interface; on the CPU device if a C compiler does (docs/device.md). A kernel has a copy of struct kernel_args, named
 * a, and is launched by place_run(). Not about the calls that are measured.
 * Read on: kernel_calls.h. */
#ifndef ISTHMUS_BENCH_KERNEL_PLACE_H
#define ISTHMUS_BENCH_KERNEL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_TEXT_BYTES = 256, PLACE_GROUP_THREADS = 32 };

/* The arguments of every kernel. `far_...`: the peer's copy, as this device loads and stores it. */
struct kernel_args {
    long *words, *far_words; /* symmetric; those of a block begin at WORDS_OF_BLOCK times its number */
    uint64_t *signals, *far_signals;
    char *dest, *far_dest, *source, *far_source;
    size_t bytes;
    long reps, seed; /* the values of a batch begin with its seed, and grow from batch to batch */
    int me, peer;
    uint64_t *times; /* begin and end of each block, in ns */
    long *results;   /* of this PE */
};

enum { WORDS_OF_BLOCK = 16 };

#ifdef __CUDACC__

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#define ON_DEVICE static __device__ inline
#define KERNEL(name) static __global__ void name(const struct kernel_args a)
typedef void (*kernel_function)(const struct kernel_args a);
enum { PLACE_IS_GPU = 1, PLACE_BLOCK_THREADS = 1024 };

ON_DEVICE uint32_t thread_rank(void) { return threadIdx.x; }
ON_DEVICE uint32_t thread_count(void) { return blockDim.x; }
ON_DEVICE uint32_t block_rank(void) { return blockIdx.x; }
ON_DEVICE uint32_t block_count(void) { return gridDim.x; }
ON_DEVICE void block_barrier(void) { __syncthreads(); }
ON_DEVICE void warp_barrier(void) { __syncwarp(); }

ON_DEVICE uint64_t now_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

/* ---- bare operations: the plain instructions of the GPU for memory that other GPUs reach ---- */

struct bare_vector {
    uint64_t low, high;
} __attribute__((aligned(16)));

ON_DEVICE void bare_store(long *to, long value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

ON_DEVICE void bare_store_release(uint64_t *to, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

ON_DEVICE long bare_load(const long *from)
{
    long value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

ON_DEVICE uint64_t bare_load_acquire(const uint64_t *from)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

ON_DEVICE void bare_add(long *at, long value)
{
    asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

ON_DEVICE long bare_fetch_add(long *at, long value)
{
    long old;
    asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");
    return old;
}

ON_DEVICE long bare_compare_swap(long *at, long expected, long value)
{
    long old;
    asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(at), "l"(expected), "l"(value)
                 : "memory");
    return old;
}

ON_DEVICE void bare_quiet(void) { __threadfence_system(); }
ON_DEVICE void bare_pause(void) {}

/* ---- the host ---- */

/* Ends this PE if a call has failed. */
static void place_check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

static int place_n_gpus;

/* Takes the GPU of this PE. Returns false, with the reason, if there is none; `about` is a line about it. */
static bool place_open(int me, char *about, char *reason)
{
    struct cudaDeviceProp device;
    int version = 0;
    cudaError_t error = cudaGetDeviceCount(&place_n_gpus);
    if (error != cudaSuccess || place_n_gpus == 0) {
        snprintf(reason, PLACE_TEXT_BYTES, "no GPU: %s",
                 error != cudaSuccess ? cudaGetErrorString(error) : "the driver has no device");
        return false;
    }
    place_check(cudaSetDevice(me % place_n_gpus), "cudaSetDevice");
    place_check(cudaGetDeviceProperties(&device, me % place_n_gpus), "cudaGetDeviceProperties");
    place_check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    snprintf(about, PLACE_TEXT_BYTES, "%.160s, driver for CUDA %d.%d", device.name, version / 1000,
             version % 1000 / 10);
    return true;
}

/* NULL: kernels of that many PEs run at the same time. Otherwise the reason why they do not. */
static const char *place_takes_turns(int n_pes)
{
    int has_mps = 0;
    if (n_pes <= place_n_gpus) return NULL;
    place_check(cudaDeviceGetAttribute(&has_mps, cudaDevAttrMpsEnabled, 0), "cudaDeviceGetAttribute");
    return has_mps ? NULL : "the PEs share one GPU without MPS: their kernels take turns";
}

/* One block for each multiprocessor. */
static uint32_t place_all_blocks(void)
{
    int device = 0, n = 0;
    place_check(cudaGetDevice(&device), "cudaGetDevice");
    place_check(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return (uint32_t)n;
}

static void *place_allocate(size_t bytes)
{
    void *memory = NULL;
    place_check(cudaMalloc(&memory, bytes), "cudaMalloc");
    place_check(cudaMemset(memory, 0, bytes), "cudaMemset");
    return memory;
}

static void place_free(void *memory) { place_check(cudaFree(memory), "cudaFree"); }

/* Between memory of the host and of the device. */
static void place_copy(void *to, const void *from, size_t bytes)
{
    place_check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

/* Several blocks run at once, so that each may wait for others. */
static void place_run(uint32_t blocks, uint32_t threads, kernel_function kernel, struct kernel_args *args)
{
    void *arguments[] = {args};
    if (blocks > 1)
        place_check(cudaLaunchCooperativeKernel((const void *)kernel, dim3(blocks), dim3(threads), arguments, 0, 0),
                    "cudaLaunchCooperativeKernel");
    else
        place_check(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(threads), arguments, 0, 0),
                    "cudaLaunchKernel");
    place_check(cudaDeviceSynchronize(), "the kernel");
}

/* One for all calls on streams, apart from the default stream. */
static cudaStream_t place_stream(void)
{
    static cudaStream_t stream;
    if (stream == NULL) place_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    return stream;
}

static void place_await_stream(void) { place_check(cudaStreamSynchronize(place_stream()), "the stream"); }

#else

#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <time.h>

#define ON_DEVICE static inline
#define KERNEL(name)                                                                           \
    static void name##_thread(struct kernel_args a);                                           \
    static void name(void *argument) { name##_thread(*(const struct kernel_args *)argument); } \
    static void name##_thread(struct kernel_args a)
typedef isthmus_cpu_kernel kernel_function;
enum { PLACE_IS_GPU = 0, PLACE_BLOCK_THREADS = 8, PLACE_ALL_BLOCKS = 2 };

ON_DEVICE uint32_t thread_rank(void) { return isthmus_dev_thread_rank(); }
ON_DEVICE uint32_t thread_count(void) { return isthmus_dev_thread_count(); }
ON_DEVICE uint32_t block_rank(void) { return isthmus_dev_block_rank(); }
ON_DEVICE uint32_t block_count(void) { return isthmus_dev_block_count(); }
ON_DEVICE void block_barrier(void) { isthmus_dev_barrier(ISTHMUS_BLOCK); }
ON_DEVICE void warp_barrier(void) { isthmus_dev_barrier(ISTHMUS_WARP); }

ON_DEVICE uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- bare operations ---- */

struct bare_vector {
    uint64_t low, high;
} __attribute__((aligned(16), may_alias));

ON_DEVICE void bare_store(long *to, long value) { __atomic_store_n(to, value, __ATOMIC_RELAXED); }
ON_DEVICE void bare_store_release(uint64_t *to, uint64_t value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
ON_DEVICE long bare_load(const long *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }
ON_DEVICE uint64_t bare_load_acquire(const uint64_t *from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
ON_DEVICE void bare_add(long *at, long value) { (void)__atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
ON_DEVICE long bare_fetch_add(long *at, long value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }

ON_DEVICE long bare_compare_swap(long *at, long expected, long value)
{
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

ON_DEVICE void bare_quiet(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ON_DEVICE void bare_pause(void) { sched_yield(); } /* the other PE may need this processor */

/* ---- the host ---- */

static bool place_open(int me, char *about, char *reason)
{
    (void)me;
    reason[0] = 0;
    snprintf(about, PLACE_TEXT_BYTES, "CPU device");
    return true;
}

static const char *place_takes_turns(int n_pes)
{
    (void)n_pes;
    return NULL;
}

static uint32_t place_all_blocks(void) { return PLACE_ALL_BLOCKS; }

static void *place_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL) exit(1);
    return memory;
}

static void place_free(void *memory) { free(memory); }
static void place_copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }

static void place_run(uint32_t blocks, uint32_t threads, kernel_function kernel, struct kernel_args *args)
{
    if (isthmus_cpu_launch(blocks, threads, kernel, args) != 0) exit(1);
}

/* A call on a stream has ended when it returns. */
static void *place_stream(void) { return NULL; }
static void place_await_stream(void) {}

#endif

#endif

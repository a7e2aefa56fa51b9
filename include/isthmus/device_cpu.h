/* isthmus/device_cpu.h: the primitives of device.h on a processor: the CPU device, which runs kernels as plain
 * functions. Not the engine that starts them (device_cpu_launch.h): without it a thread is a group of one. Each dialect
 * has these names; the operations in device.h use no others. "device" is the scope of one GPU, "system" includes other
 * GPUs, processors and adapters; here they are one. */
#ifndef ISTHMUS_DEVICE_CPU_H
#define ISTHMUS_DEVICE_CPU_H

#include <isthmus/amo_cpu.h>
#include <isthmus/device_state.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISTHMUS_DEVICE static inline __attribute__((unused))
#define ISTHMUS_DEVICE_COLD static __attribute__((noinline, cold, unused))
#define ISTHMUS_DEVICE_APART static inline __attribute__((unused))
#define ISTHMUS_DEVICE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISTHMUS_DEVICE_UNROLL
#define ISTHMUS_DEVICE_ROLLED
#define ISTHMUS_DEVICE_KEEP(a, b) (void)0
#define ISTHMUS_DEVICE_LASTS (1 << 10) /* device_waiting.h: a poll may be a turn of every other process here */
#define ISTHMUS_NO_RETURN __attribute__((noreturn))

/* One GPU thread, as the engine runs it. */
struct isthmus_cpu_thread {
    uint32_t rank, count, block, blocks;
    void (*barrier)(int scope); /* of this thread's group */
    void (*pause)(void);        /* lets other threads of the block run */
    void (*trap)(void);         /* ends this thread; the launch fails. Does not return */
    const uint32_t *is_over;    /* not 0: a thread of the launch has trapped */
};

/* The GPU thread that runs now; NULL outside kernels. */
extern __thread struct isthmus_cpu_thread *isthmus_cpu_thread_v1;
__attribute__((weak)) __thread struct isthmus_cpu_thread *isthmus_cpu_thread_v1;

/* The state, one for the executable and one for each shared object. */
extern struct isthmus_device_state isthmus_device_v1;
__attribute__((weak, visibility("hidden"))) struct isthmus_device_state isthmus_device_v1;

/* ---- memory ----
 * Elements have any type of their width, so that these pointers may alias anything. */
typedef uint8_t __attribute__((may_alias)) isthmus_u8;
typedef uint16_t __attribute__((may_alias)) isthmus_u16;
typedef uint32_t __attribute__((may_alias)) isthmus_u32;
typedef uint64_t __attribute__((may_alias)) isthmus_u64;
typedef struct __attribute__((may_alias, aligned(16))) {
    uint64_t low, high;
} isthmus_u128;

/* Loads and stores at system scope; size is constant: 1, 2, 4 or 8 bytes. The value is in the low bits. */
ISTHMUS_DEVICE uint64_t isthmus_dev_load(const void *from, size_t size)
{
    switch (size) {
    case 1: return __atomic_load_n((const isthmus_u8 *)from, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const isthmus_u16 *)from, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const isthmus_u32 *)from, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const isthmus_u64 *)from, __ATOMIC_RELAXED);
    }
}

ISTHMUS_DEVICE uint64_t isthmus_dev_load_acquire(const void *from, size_t size)
{
    switch (size) {
    case 1: return __atomic_load_n((const isthmus_u8 *)from, __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n((const isthmus_u16 *)from, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const isthmus_u32 *)from, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const isthmus_u64 *)from, __ATOMIC_ACQUIRE);
    }
}

ISTHMUS_DEVICE void isthmus_dev_store(void *to, uint64_t bits, size_t size)
{
    switch (size) {
    case 1: __atomic_store_n((isthmus_u8 *)to, (uint8_t)bits, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((isthmus_u16 *)to, (uint16_t)bits, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((isthmus_u32 *)to, (uint32_t)bits, __ATOMIC_RELAXED); break;
    default: __atomic_store_n((isthmus_u64 *)to, bits, __ATOMIC_RELAXED); break;
    }
}

ISTHMUS_DEVICE void isthmus_dev_store_release(uint64_t *to, uint64_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

ISTHMUS_DEVICE void isthmus_dev_add_release(uint64_t *to, uint64_t value)
{
    (void)__atomic_fetch_add(to, value, __ATOMIC_RELEASE);
}

/* Two words of a request to its slot, in any order. */
ISTHMUS_DEVICE void isthmus_dev_store_pair(uint64_t *to, uint64_t first, uint64_t second)
{
    __atomic_store_n(to, first, __ATOMIC_RELAXED);
    __atomic_store_n(to + 1, second, __ATOMIC_RELAXED);
}

/* Words that only threads of this device use. */
ISTHMUS_DEVICE uint64_t isthmus_dev_add_device(uint64_t *at, uint64_t value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
ISTHMUS_DEVICE uint64_t isthmus_dev_load_device(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
ISTHMUS_DEVICE void isthmus_dev_store_device(uint64_t *at, uint64_t v) { __atomic_store_n(at, v, __ATOMIC_RELEASE); }
ISTHMUS_DEVICE uint32_t isthmus_dev_load_turn(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
ISTHMUS_DEVICE void isthmus_dev_store_turn(uint32_t *at, uint32_t v) { __atomic_store_n(at, v, __ATOMIC_RELEASE); }

/* Memory whose addresses mean nothing outside of the kernel: there is none, but a test has some. */
#ifndef ISTHMUS_CPU_IS_PRIVATE
#define ISTHMUS_CPU_IS_PRIVATE(addr) 0
#endif
ISTHMUS_DEVICE int isthmus_dev_is_private(const void *addr)
{
    (void)addr;
    return ISTHMUS_CPU_IS_PRIVATE(addr);
}

/* An atomic operation at system scope on 4 or 8 bytes; returns the old value. op and size are constant. */
ISTHMUS_DEVICE uint64_t isthmus_dev_amo(uint32_t op, void *at, uint64_t operand, uint64_t compare, size_t size)
{
    return isthmus_amo_cpu(op, at, operand, compare, size);
}

/* ---- order ---- */

#if defined(__SANITIZE_THREAD__)
#define ISTHMUS_DEVICE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ISTHMUS_DEVICE_TSAN 1
#endif
#endif
#ifdef ISTHMUS_DEVICE_TSAN
extern uint32_t isthmus_cpu_fence_v1;
__attribute__((weak)) uint32_t isthmus_cpu_fence_v1;
#endif

/* Earlier accesses, also those of other threads that this one has synchronised with, come before later ones.
 * ThreadSanitizer knows no fences: all fences meet in one word instead, which orders them as they were executed. */
ISTHMUS_DEVICE void isthmus_dev_fence(void)
{
#ifdef ISTHMUS_DEVICE_TSAN
    (void)__atomic_fetch_add(&isthmus_cpu_fence_v1, 1, __ATOMIC_ACQ_REL);
#else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/* The same, and earlier stores have arrived before later loads. */
ISTHMUS_DEVICE void isthmus_dev_drain(void)
{
#ifdef ISTHMUS_DEVICE_TSAN
    (void)__atomic_fetch_add(&isthmus_cpu_fence_v1, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* ---- threads ---- */

enum { ISTHMUS_WARP_THREADS = 32 };

ISTHMUS_DEVICE uint32_t isthmus_dev_thread_rank(void)
{
    return isthmus_cpu_thread_v1 != NULL ? isthmus_cpu_thread_v1->rank : 0;
}
ISTHMUS_DEVICE uint32_t isthmus_dev_thread_count(void)
{
    return isthmus_cpu_thread_v1 != NULL ? isthmus_cpu_thread_v1->count : 1;
}
ISTHMUS_DEVICE uint32_t isthmus_dev_block_rank(void)
{
    return isthmus_cpu_thread_v1 != NULL ? isthmus_cpu_thread_v1->block : 0;
}
ISTHMUS_DEVICE uint32_t isthmus_dev_block_count(void)
{
    return isthmus_cpu_thread_v1 != NULL ? isthmus_cpu_thread_v1->blocks : 1;
}

/* Of the calling thread's group; scope: ISTHMUS_WARP and so on. Orders the group's memory accesses. */
ISTHMUS_DEVICE void isthmus_dev_barrier(int scope)
{
    if (isthmus_cpu_thread_v1 != NULL) isthmus_cpu_thread_v1->barrier(scope);
}

ISTHMUS_DEVICE void isthmus_dev_pause(void)
{
    if (isthmus_cpu_thread_v1 != NULL)
        isthmus_cpu_thread_v1->pause();
    else
        sched_yield();
}

/* A number that differs from call to call. */
ISTHMUS_DEVICE uint64_t isthmus_dev_vary(void)
{
    static __thread uint64_t calls;
    return calls++;
}

/* The library prints a report at once: that of the state for NULL. */
extern int isthmus_device_report_v1(const uint64_t *words) __attribute__((weak));

/* Ends the kernel; the process, if the kernel was called like any function. */
ISTHMUS_DEVICE_COLD ISTHMUS_NO_RETURN void isthmus_dev_trap(void)
{
    if (isthmus_cpu_thread_v1 != NULL) isthmus_cpu_thread_v1->trap();
    if (isthmus_device_report_v1 != NULL) (void)isthmus_device_report_v1(NULL);
    abort();
}

/* Returns whether another thread has ended the kernel: what this one waits for may not come any more. A GPU ends all
 * threads by itself. */
ISTHMUS_DEVICE int isthmus_dev_is_over(void)
{
    return isthmus_cpu_thread_v1 != NULL && __atomic_load_n(isthmus_cpu_thread_v1->is_over, __ATOMIC_RELAXED) != 0;
}

/* The module, for reports of wrong calls. */
#define ISTHMUS_DEVICE_SOURCE __BASE_FILE__

/* There is no report to write: the library prints it at once. */
ISTHMUS_DEVICE void isthmus_dev_print_uninitialised(int call, const void *addr, int value)
{
    uint64_t words[ISTHMUS_REPORT_WORDS] = {0};
    words[ISTHMUS_REPORT_CALL] = (uint64_t)ISTHMUS_MISTAKE_STATE << 32 | (uint32_t)call;
    words[ISTHMUS_REPORT_ADDRESS] = (uint64_t)(uintptr_t)addr;
    words[ISTHMUS_REPORT_VALUE] = (uint64_t)(int64_t)value;
    words[ISTHMUS_REPORT_THREAD] = (uint64_t)isthmus_dev_block_rank() << 32 | isthmus_dev_thread_rank();
    words[ISTHMUS_REPORT_SOURCE] = (uint64_t)(uintptr_t)ISTHMUS_DEVICE_SOURCE;
    if (isthmus_device_report_v1 != NULL) (void)isthmus_device_report_v1(words);
}

/* ---- the module ---- */

extern int isthmus_device_register_v1(uint32_t kind, int (*fill)(const struct isthmus_device_state *state))
    __attribute__((weak));
extern void isthmus_device_unregister_v1(int (*fill)(const struct isthmus_device_state *state)) __attribute__((weak));

static __attribute__((unused)) int isthmus_cpu_fill_(const struct isthmus_device_state *state)
{
    isthmus_device_v1 = *state;
    return 0;
}

/* Without the library there is no state: a program may fill it itself. */
static __attribute__((constructor, unused)) void isthmus_cpu_register_(void)
{
    if (isthmus_device_register_v1 != NULL) (void)isthmus_device_register_v1(0, isthmus_cpu_fill_);
}

static __attribute__((destructor, unused)) void isthmus_cpu_unregister_(void)
{
    if (isthmus_device_unregister_v1 != NULL) isthmus_device_unregister_v1(isthmus_cpu_fill_);
}

#ifdef __cplusplus
}
#endif

#endif

/* What the bench programs share: clock, pinning, interleaved batches, medians, one line per row of the table.
 * Not part of the runtime, and plain OpenSHMEM: run.py --reference builds the same sources with another SHMEM.
 * Read on: bench_p_g.c is the smallest user; run.py starts the programs and makes the table. */
#ifndef ISTHMUS_BENCH_H
#define ISTHMUS_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "median.h"

#include <sched.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_BATCHES_DEFAULT = 101, BENCH_BATCHES_MAX = 1001, BENCH_SKIPPED = 77 };

/* The PEs and buffers of a run: dest is symmetric, alias is the peer's copy of it by shmem_ptr. */
struct bench_target {
    int my_pe, n_pes, peer;
    int batches; /* how often each side of a comparison is timed */
    void *dest, *alias;
    void *local; /* private memory of the same length */
    size_t length_bytes;
};

/* A batch does reps operations. The clock is read around it, never inside. */
typedef void bench_batch(const struct bench_target *target, long reps);

struct bench_row {
    const char *name;
    bench_batch *call;
    bench_batch *bare; /* the same work by loads and stores; NULL: the budget is absolute */
    long reps;
    double budget;    /* 0: for information only */
    const char *unit; /* of the budget: "x" (times the bare operation) or "ns" */
};

/* Hides the origin of a value, without an instruction: the loop around it stays as it is written, and no computation on
 * the value moves out of it. Both sides of a comparison use it in the same way. */
static inline long *bench_hide(long *pointer)
{
    __asm__ volatile("" : "+r"(pointer));
    return pointer;
}

static inline int bench_hide_int(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* The bare operations. Relaxed: a plain mov that the compiler neither drops nor merges. */
static inline void bench_store(long *to, long value) { __atomic_store_n(to, value, __ATOMIC_RELAXED); }
static inline long bench_load(const long *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }

/* The cheapest full barrier of the CPU: on x86-64 any locked instruction. */
static inline void bench_full_barrier(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lock; orl $0, -8(%%rsp)" ::: "memory", "cc");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The barrier that compilers used to emit, which waits for more than is needed. */
static inline void bench_mfence(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mfence" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline double bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* PE i to the i-th CPU that it may use; none is pinned when there are fewer CPUs than PEs. */
static inline void bench_pin(int my_pe, int n_pes)
{
    cpu_set_t allowed, mine;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < n_pes) return;
    int seen = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || seen++ != my_pe) continue;
        CPU_ZERO(&mine);
        CPU_SET(cpu, &mine);
        sched_setaffinity(0, sizeof mine, &mine);
    }
}

/* Ends the program on all PEs; run.py reads the status and the reason. */
static inline void bench_skip(const struct bench_target *target, const char *reason)
{
    if (target->my_pe == 0) printf("skipped\t%s\n", reason);
    fflush(stdout);
    shmem_finalize();
    exit(BENCH_SKIPPED);
}

/* Collective. PEs 0 and 1 are each other's peers, on one host or not; the only argument of a program is the number of
 * batches. */
static inline struct bench_target bench_open_anywhere(int argc, char **argv, size_t length_bytes)
{
    shmem_init();
    struct bench_target target = {.my_pe = shmem_my_pe(), .n_pes = shmem_n_pes(), .length_bytes = length_bytes};
    target.batches = argc > 1 ? atoi(argv[1]) : BENCH_BATCHES_DEFAULT;
    if (target.batches < 1 || target.batches > BENCH_BATCHES_MAX) bench_skip(&target, "batches: 1 to 1001");
    if (target.n_pes < 2) bench_skip(&target, "needs two PEs");
    target.peer = target.my_pe ^ 1;
    target.local = calloc(length_bytes, 1);
    target.dest = shmem_calloc(length_bytes, 1);
    if (!target.dest || !target.local) bench_skip(&target, "not enough memory");
    return target;
}

/* The same with a CPU of its own for each PE, where there are as many, and an alias of the peer's memory. */
static inline struct bench_target bench_open(int argc, char **argv, size_t length_bytes)
{
    struct bench_target target = bench_open_anywhere(argc, argv, length_bytes);
    bench_pin(target.my_pe, target.n_pes);
    if (target.peer < target.n_pes) target.alias = shmem_ptr(target.dest, target.peer);
    if (target.peer < target.n_pes && !target.alias) bench_skip(&target, "shmem_ptr gives no alias of the peer");
    return target;
}

static inline int bench_close(struct bench_target *target)
{
    fflush(stdout);
    shmem_barrier_all();
    shmem_free(target->dest);
    free(target->local);
    shmem_finalize();
    return 0;
}

static inline double bench_time_ns(bench_batch *batch, const struct bench_target *target, long reps)
{
    double start_ns = bench_now_ns();
    batch(target, reps);
    return (bench_now_ns() - start_ns) / (double)reps;
}

static inline void bench_print(const struct bench_row *row, double call_ns, double bare_ns)
{
    printf("row\t%s\t%.4g\t", row->name, call_ns);
    if (row->bare)
        printf("%.4g\t%.4g\t", bare_ns, call_ns / bare_ns);
    else
        printf("-\t-\t");
    if (row->budget > 0)
        printf("%.4g", row->budget);
    else
        printf("-");
    printf("\t%s\n", row->unit);
    fflush(stdout);
}

/* Times call and bare in turn, each first every other time, and prints the medians. The first round only warms up.
 * together: all PEs run the batches, in step; else this PE alone runs them. */
static inline void bench_compare(const struct bench_target *target, const struct bench_row *row, bool together)
{
    static double call_ns[BENCH_BATCHES_MAX], bare_ns[BENCH_BATCHES_MAX];
    for (int round = -1; round < target->batches; round++) {
        for (int half = 0; half < 2; half++) {
            bool is_call = (round + half) % 2 != 0;
            if (!is_call && !row->bare) continue;
            if (together) shmem_barrier_all();
            double ns = bench_time_ns(is_call ? row->call : row->bare, target, row->reps);
            if (round >= 0) *(is_call ? &call_ns[round] : &bare_ns[round]) = ns;
        }
    }
    if (target->my_pe == 0)
        bench_print(row, bench_median(call_ns, target->batches),
                    row->bare ? bench_median(bare_ns, target->batches) : 0.0);
}

/* The usual main of a one-sided comparison: PE 0 measures, the others wait in a barrier. */
static inline void bench_compare_all(const struct bench_target *target, const struct bench_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows && target->my_pe == 0; i++) bench_compare(target, &rows[i], false);
    shmem_barrier_all();
}

#endif

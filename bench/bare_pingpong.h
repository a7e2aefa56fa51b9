/* The fastest way to the other CPU and back: two processes, a cache line each, a store and a spinning load.
 * Without a SHMEM call; the measure of every call that waits for the peer.
 * Read on: bench_pingpong.c, bench_barrier.c. */
#ifndef ISTHMUS_BARE_PINGPONG_H
#define ISTHMUS_BARE_PINGPONG_H

#include "bench.h"

/* Keeps counting through all batches, so that no line has to be reset between them. */
static long bench_turn;

/* Acquire and release pair with each other across the two processes. */
static inline void bench_bare_pingpong(const struct bench_target *target, long reps)
{
    long *mine = target->dest, *theirs = target->alias;
    for (long last = bench_turn + reps; bench_turn < last;) {
        long turn = ++bench_turn;
        if (target->my_pe == 0) __atomic_store_n(theirs, turn, __ATOMIC_RELEASE);
        while (__atomic_load_n(mine, __ATOMIC_ACQUIRE) != turn) continue;
        if (target->my_pe == 1) __atomic_store_n(theirs, turn, __ATOMIC_RELEASE);
    }
}

#endif

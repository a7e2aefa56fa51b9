/* R146: a lock is granted in the order in which PEs began to wait for it. PE 0 holds it and lets the others in one by
 * one: the next one when the lock words show that the one before is in the queue. The test reads the words of
 * core/sync/lock.c: half a word is 0 or names a PE; a PE that has joined is named twice, as the last of the queue and
 * behind the one before. */
#include "check.h"

static long lock, order[1024], granted, go;

static int times_named(int who)
{
    int times = 0;
    for (int i = 0; i < pe.n; i++) {
        uint64_t word = (uint64_t)shmem_long_atomic_fetch(&lock, i);
        times += (uint32_t)word == (uint32_t)who + 1;
        times += (uint32_t)(word >> 32) == (uint32_t)who + 1;
    }
    return times;
}

static void hold_and_let_in(int first)
{
    shmem_set_lock(&lock);
    for (int i = 1; i < pe.n; i++) {
        int next = 1 + (first + i) % (pe.n - 1);
        shmem_long_atomic_set(&go, 1, next);
        while (times_named(next) < 2) sched_yield();
    }
    shmem_clear_lock(&lock);
}

static void queue_up(void)
{
    shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1);
    shmem_set_lock(&lock);
    long place = shmem_long_g(&granted, 0);
    shmem_long_p(&order[place], pe.me, 0);
    shmem_long_p(&granted, place + 1, 0);
    shmem_clear_lock(&lock);
}

int main(void)
{
    pe_begin();
    for (int round = 0; round < pe_rounds(100) && pe.n > 1; round++) {
        granted = go = 0;
        shmem_barrier_all();
        if (pe.me == 0)
            hold_and_let_in(round);
        else
            queue_up();
        shmem_barrier_all();
        for (int i = 1; i < pe.n && pe.me == 0; i++) CHECK_EQ(order[i - 1], 1 + (round + i) % (pe.n - 1));
        shmem_barrier_all();
    }
    return pe_end();
}

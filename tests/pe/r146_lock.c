/* R146: a lock excludes, in static data and in the heap, one and many at once; what its holder put is seen by the next
 * holder without further ordering; test_lock takes it or returns 1 at once. */
#include "check.h"

enum { MANY = 100 };

static long lock, counter, locks[MANY], counters[MANY];

static void check_counter(long *which_lock, long *which, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        shmem_set_lock(which_lock);
        shmem_long_p(which, shmem_long_g(which, pe.n - 1) + 1, pe.n - 1);
        shmem_clear_lock(which_lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(which, pe.n - 1), (long)rounds * pe.n);
    shmem_barrier_all();
}

/* PE 0 holds the lock while the others test it. */
static void check_test_lock(void)
{
    if (pe.me == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    for (int i = 0; i < 100 && pe.me != 0; i++) CHECK_EQ(shmem_test_lock(&lock), 1);
    shmem_barrier_all();
    if (pe.me == 0) shmem_clear_lock(&lock);
    shmem_barrier_all();
    for (int turn = 0; turn < pe.n; turn++) {
        if (turn == pe.me) {
            CHECK_EQ(shmem_test_lock(&lock), 0);
            shmem_clear_lock(&lock);
        }
        shmem_barrier_all();
    }
}

/* All of them held at once by each PE in turn. */
static void check_many(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < MANY; i++) shmem_set_lock(&locks[i]);
        for (int i = 0; i < MANY; i++) shmem_long_p(&counters[i], shmem_long_g(&counters[i], 0) + 1, 0);
        for (int i = 0; i < MANY; i++) shmem_clear_lock(&locks[i]);
    }
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++) CHECK_EQ(shmem_long_g(&counters[i], 0), (long)rounds * pe.n);
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    int rounds = pe_rounds(10000);
    check_counter(&lock, &counter, rounds);
    check_test_lock();
    long *heap = shmem_calloc(2, sizeof *heap);
    check_counter(&heap[0], &heap[1], rounds);
    shmem_free(heap);
    check_many(pe_rounds(100));
    return pe_end();
}

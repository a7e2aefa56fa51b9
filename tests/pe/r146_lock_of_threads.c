/* R7, R146: threads of a PE exclude each other at a lock, by set_lock and by test_lock, whether they follow each other
 * in the queue or threads of other PEs are between them; a thread that holds many locks blocks only those that want one
 * of them; any thread of the PE may clear a lock. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, LOCKS = 3, MANY = 5000 };

static long locks[LOCKS], counters[LOCKS], many[MANY], handed;
static int rounds;

/* All of them add with a get and a put: a second holder loses a sum. */
static void *add(void *argument)
{
    uint64_t random = pe.seed + (uint64_t)(pe.me * THREADS) + (uint64_t)(uintptr_t)argument;
    for (int i = 0; i < rounds; i++) {
        size_t which = random_below(&random, LOCKS);
        if (random_below(&random, 3) > 0)
            shmem_set_lock(&locks[which]);
        else
            while (shmem_test_lock(&locks[which]) != 0) sched_yield();
        int home = (int)which % pe.n;
        long before = shmem_long_g(&counters[which], home);
        if (random_below(&random, 4) == 0) sched_yield();
        shmem_long_p(&counters[which], before + 1, home);
        shmem_clear_lock(&locks[which]);
    }
    return NULL;
}

static void check_counts(void)
{
    long sum = 0;
    shmem_barrier_all();
    for (int i = 0; i < LOCKS; i++) sum += shmem_long_g(&counters[i], i % pe.n);
    CHECK_EQ(sum, (long)rounds * THREADS * pe.n);
    shmem_barrier_all();
}

static void *hold_every_other(void *argument)
{
    int first = (int)(uintptr_t)argument;
    for (int i = first; i < MANY; i += 2) shmem_set_lock(&many[i]);
    for (int i = first; i < MANY; i += 2) CHECK_EQ(shmem_test_lock(&many[i]), 1);
    for (int i = first; i < MANY; i += 2) shmem_clear_lock(&many[i]);
    return NULL;
}

static void *clear_handed(void *unused)
{
    CHECK_EQ(shmem_test_lock(&handed), 1);
    shmem_clear_lock(&handed);
    return unused;
}

static void run(void *(*body)(void *), int n)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < n; i++) CHECK_EQ(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < n; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    pe_begin_threads();
    pe_seed();
    rounds = pe_part_of(pe.n <= 4 ? 2000 : 100);
    run(add, THREADS);
    check_counts();
    for (int turn = 0; turn < pe.n; turn++) {
        if (turn == pe.me) run(hold_every_other, 2);
        shmem_barrier_all();
    }
    for (int i = 0; i < 3; i++) {
        shmem_set_lock(&handed);
        run(clear_handed, 1);
    }
    return pe_end();
}

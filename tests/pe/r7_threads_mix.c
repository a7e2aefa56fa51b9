/* R7: with MULTIPLE any two threads may call at the same time, and a blocked call blocks its own thread only.
 * Per PE: a thread that waits for what another thread of the same PE sets at the end, and workers that mix
 * operations. */
#include "check.h"

#include <pthread.h>

enum { WORKERS = 6, WORDS = 32 };

static uint64_t sums[WORKERS], last_word, flags[WORKERS];
static uint64_t area[WORKERS][WORDS];
static pthread_mutex_t allocation = PTHREAD_MUTEX_INITIALIZER;
static int rounds;

static void *wait_for_the_end(void *unused)
{
    shmem_uint64_wait_until(&last_word, SHMEM_CMP_EQ, 7);
    return unused;
}

static void *work(void *arg)
{
    int w = (int)(uintptr_t)arg;
    uint64_t words[WORDS], random = pe.seed + (uint64_t)(pe.me * WORKERS + w);
    for (int i = 1; i <= rounds; i++) {
        for (int k = 0; k < WORDS; k++) words[k] = random_next(&random);
        shmem_uint64_put(area[w], words, WORDS, pe.right);
        shmem_uint64_atomic_add(&sums[w], 1, (int)random_below(&random, (size_t)pe.n));
        shmem_quiet();
        uint64_t back[WORDS];
        shmem_uint64_get(back, area[w], WORDS, pe.right);
        CHECK_BYTES(back, words, sizeof words);
        shmem_uint64_atomic_set(&flags[w], (uint64_t)i, pe.me); /* to this PE, then wait for it */
        shmem_uint64_wait_until(&flags[w], SHMEM_CMP_EQ, (uint64_t)i);
    }
    return NULL;
}

/* The program keeps collective calls of different threads apart: one thread allocates. */
static void *allocate(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&allocation);
        uint64_t *block = shmem_malloc(4096);
        CHECK(block != NULL);
        shmem_uint64_p(block, (uint64_t)i, pe.right);
        shmem_free(block);
        pthread_mutex_unlock(&allocation);
    }
    return unused;
}

int main(void)
{
    pthread_t waiter, allocator, workers[WORKERS];
    pe_begin_threads();
    pe_seed();
    rounds = pe_rounds(2000);
    CHECK_EQ(pthread_create(&waiter, NULL, wait_for_the_end, NULL), 0);
    CHECK_EQ(pthread_create(&allocator, NULL, allocate, NULL), 0);
    for (int w = 0; w < WORKERS; w++) CHECK_EQ(pthread_create(&workers[w], NULL, work, (void *)(uintptr_t)w), 0);
    for (int w = 0; w < WORKERS; w++) pthread_join(workers[w], NULL);
    pthread_join(allocator, NULL);
    shmem_uint64_atomic_set(&last_word, 7, pe.me);
    pthread_join(waiter, NULL);

    shmem_barrier_all();
    uint64_t total = 0;
    for (int from = 0; from < pe.n; from++)
        for (int w = 0; w < WORKERS; w++) total += shmem_uint64_atomic_fetch(&sums[w], from);
    CHECK_EQ(total, (uint64_t)rounds * WORKERS * (uint64_t)pe.n);
    return pe_end();
}

/* R108: threads may use one context at once, and quiet it while others issue: sums are exact, puts arrive. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 6, WORDS = 64 };

static shmem_ctx_t ctx;
static uint64_t counter, area[THREADS][WORDS];
static int n_rounds;

static void *storm(void *arg)
{
    int t = (int)(uintptr_t)arg;
    uint64_t words[WORDS], back[WORDS], old;
    for (int i = 0; i < n_rounds; i++) {
        shmem_ctx_uint64_atomic_inc(ctx, &counter, 0);
        shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &old, &counter, 1, 0);
        for (int k = 0; k < WORDS; k++) words[k] = (uint64_t)(i * WORDS + k);
        shmem_ctx_uint64_put_nbi(ctx, area[t], words, WORDS, pe.right);
        shmem_ctx_quiet(ctx); /* while others issue */
        CHECK(old < (uint64_t)(2 * n_rounds * THREADS * pe.n));
        shmem_ctx_uint64_get(ctx, back, area[t], WORDS, pe.right);
        CHECK_BYTES(back, words, sizeof words);
        if (i % 3 == 0) shmem_ctx_fence(ctx);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pe_begin_threads();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    n_rounds = pe_rounds(4000);
    for (int t = 0; t < THREADS; t++) CHECK_EQ(pthread_create(&threads[t], NULL, storm, (void *)(uintptr_t)t), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    if (pe.me == 0) CHECK_EQ(counter, (uint64_t)(2 * n_rounds * THREADS * pe.n));
    return pe_end();
}

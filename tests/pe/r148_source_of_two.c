/* R148: sources are only read: several puts, of several threads, may have one source at the same time. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, WORDS = 4000 };

static uint64_t dest[THREADS][WORDS];
static uint64_t source[WORDS];

static void *put(void *arg)
{
    int t = (int)(uintptr_t)arg;
    for (int i = 0; i < 20; i++) {
        shmem_uint64_put_nbi(dest[t], source, WORDS / 2, pe.right);
        shmem_uint64_put(dest[t] + WORDS / 2, source + WORDS / 2, WORDS / 2, pe.right);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pe_begin_threads();
    for (int i = 0; i < WORDS; i++) source[i] = (uint64_t)(pe.me * WORDS + i);
    for (int t = 0; t < THREADS; t++) CHECK_EQ(pthread_create(&threads[t], NULL, put, (void *)(uintptr_t)t), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    shmem_barrier_all();
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < WORDS; i++) CHECK_EQ(dest[t][i], pe.left * WORDS + i);
    return pe_end();
}

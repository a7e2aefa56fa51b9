/* R69: quiet covers operations that other threads have issued on the context, if the program has ordered them
 * before. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, WORDS = 2000 };

static uint64_t data[THREADS][WORDS], flag;
static uint64_t source[THREADS][WORDS];
static pthread_barrier_t meeting;
static int rounds;

static void *work(void *arg)
{
    int t = (int)(uintptr_t)arg;
    for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
        for (int i = 0; i < WORDS; i++) source[t][i] = round;
        shmem_uint64_put_nbi(data[t], source[t], WORDS, pe.right);
        pthread_barrier_wait(&meeting);
        if (t == 0) {
            shmem_quiet();
            shmem_uint64_atomic_set(&flag, round, pe.right);
            shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
            for (int k = 0; k < THREADS; k++)
                for (int i = 0; i < WORDS; i++) CHECK_EQ(data[k][i], round);
            shmem_barrier_all();
        }
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pe_begin_threads();
    rounds = pe_rounds(200);
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) CHECK_EQ(pthread_create(&threads[t], NULL, work, (void *)(uintptr_t)t), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    return pe_end();
}

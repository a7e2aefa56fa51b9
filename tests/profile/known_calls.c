/* tests/profile/known_calls.c: calls whose numbers and bytes profile.py knows, by each PE alike, with any number of
 * PEs; "threads": each by two threads besides; "levels": and once more at level 0, which records none. Compiled
 * with inlined fast paths: a profile has to switch them off. */
#include <shmem.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_THREADS = 2,
    N_P = 7,
    N_PUTS = 5,
    PUT_LONGS = 100,
    N_GETS = 3,
    GET_BYTES = 24,
    N_ADDS = 4,
    BLOCKS = 6,
    REDUCED = 1000
};

static long slots[1 + N_THREADS][64], numbers[1 + N_THREADS][PUT_LONGS], word, sums[REDUCED], parts[REDUCED];
static uint64_t signal_word;
static int me, n, next;

/* What several threads may do at once, each with variables of its own. */
static void communicate(int thread)
{
    long values[PUT_LONGS] = {me};
    char bytes[GET_BYTES];
    for (int i = 0; i < N_P; i++) shmem_long_p(&slots[thread][i], me, next);
    for (int i = 0; i < N_PUTS; i++) shmem_long_put(numbers[thread], values, PUT_LONGS, next);
    for (int i = 0; i < N_GETS; i++) shmem_getmem_nbi(bytes, numbers[thread], sizeof bytes, next);
    for (int i = 0; i < N_ADDS; i++) shmem_long_atomic_add(&word, 1, next);
    (void)shmem_long_g(&slots[thread][0], next);
    shmem_long_iput(slots[thread], values, 2, 3, BLOCKS, next);
    shmem_quiet();
}

static void *work(void *thread)
{
    communicate((int)(intptr_t)thread);
    return NULL;
}

static void communicate_in_threads(void)
{
    pthread_t threads[N_THREADS];
    for (intptr_t i = 0; i < N_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0) exit(1);
    for (int i = 0; i < N_THREADS; i++) (void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE) return 1;
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
    communicate(0);
    if (strcmp(what, "threads") == 0) communicate_in_threads();
    if (strcmp(what, "levels") == 0) {
        shmem_pcontrol(0);
        communicate(0);
        shmem_pcontrol(2);
    }
    shmem_barrier_all();
    if (strcmp(what, "dies") == 0 && me == n - 1) abort();
    shmem_long_put_signal(numbers[0], parts, PUT_LONGS, &signal_word, 1, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, parts, REDUCED);
    shmem_finalize();
    return 0;
}

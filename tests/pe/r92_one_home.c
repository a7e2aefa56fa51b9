/* R92, R94: one executor per location, whichever PE starts the atomic: the owner, threads of the owner and its peers
 * all draw numbers from one counter; every number is drawn once, and the owner's wait sees the last. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3 };

static uint64_t counter;
static unsigned char *drawn; /* on PE 0: how often */
static int n_draws, most;

static void *draw(void *unused)
{
    for (int i = 0; i < n_draws; i++) {
        uint64_t number = shmem_uint64_atomic_fetch_inc(&counter, 0);
        CHECK(number < (uint64_t)most);
        shmem_uchar_p(&drawn[number], (unsigned char)(shmem_uchar_g(&drawn[number], 0) + 1), 0);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    pe_begin_threads();
    most = pe_part_of(300000);
    drawn = shmem_calloc((size_t)most, 1);
    CHECK(drawn != NULL);
    n_draws = most / THREADS / pe.n;
    for (int t = 0; t < THREADS; t++) CHECK_EQ(pthread_create(&threads[t], NULL, draw, NULL), 0);
    size_t total = (size_t)(THREADS * n_draws * pe.n);
    if (pe.me == 0) shmem_uint64_wait_until(&counter, SHMEM_CMP_EQ, total);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    shmem_barrier_all();
    if (pe.me == 0) CHECK_FILLED(drawn, 1, total);
    return pe_end();
}

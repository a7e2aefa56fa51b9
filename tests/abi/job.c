/* tests/abi/job.c: a small program that uses all of a transport: puts, gets, atomics, order, waits, barriers.
 * Every PE checks what it sees. Over every transport it must end with status 0. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 100000, ROUNDS = 50 };

static long cells[4];
static uint64_t flag, count;

static void check(int is_right, const char *what)
{
    if (is_right) return;
    fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(EXIT_FAILURE);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, previous = (me + n - 1) % n;
    unsigned char *block = shmem_malloc(BLOCK_BYTES), *local = malloc(BLOCK_BYTES);
    check(block != NULL && local != NULL, "no memory");
    for (int round = 1; round <= ROUNDS; round++) {
        memset(local, me + round, BLOCK_BYTES);
        shmem_long_p(&cells[0], 100 * round + me, next);
        shmem_putmem_nbi(block, local, BLOCK_BYTES, next);
        shmem_fence();
        shmem_uint64_atomic_set(&flag, (uint64_t)round, next);
        shmem_uint64_wait_until(&flag, SHMEM_CMP_GE, (uint64_t)round);
        check(cells[0] == 100 * round + previous, "p did not arrive before the flag");
        check(block[0] == (unsigned char)(previous + round) && memcmp(block, block + 1, BLOCK_BYTES - 1) == 0,
              "put_nbi did not arrive before the flag");
        shmem_quiet();
        shmem_getmem_nbi(local, block, BLOCK_BYTES, next);
        shmem_quiet();
        check(local[0] == (unsigned char)(me + round) && memcmp(local, local + 1, BLOCK_BYTES - 1) == 0,
              "get_nbi brought something else");
        check(shmem_long_g(&cells[0], next) == 100 * round + me, "g brought something else");
        shmem_uint64_atomic_inc(&count, 0);
        (void)shmem_uint64_atomic_fetch_add(&count, 2, 0);
        uint64_t fetched = 0;
        shmem_uint64_atomic_fetch_add_nbi(&fetched, &count, 1, 0);
        shmem_quiet();
        check(fetched >= (uint64_t)4 * (uint64_t)(round - 1), "a fetched value is too small");
        shmem_barrier_all();
        check(shmem_uint64_atomic_fetch(&count, 0) >= (uint64_t)(4 * n * round), "additions are lost");
        shmem_barrier_all();
    }
    check(shmem_uint64_g(&count, 0) == (uint64_t)(4 * n * ROUNDS), "the sum is wrong");
    shmem_free(block);
    free(local);
    shmem_finalize();
    return EXIT_SUCCESS;
}

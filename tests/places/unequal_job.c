/* tests/places/unequal_job.c: a job that needs of each PE what jobs need: allocations up to the first one that fails,
 * puts, gets and atomics between all PEs, collectives, a team. Its PEs run on machines that differ; whatever these are,
 * all PEs have to see the same. */
#include "tests/pe/check.h"

enum { WORDS = 1 << 16, ROUNDS = 8, MAX_BLOCKS = 64 };

/* In the heap: a machine may differ in what becomes of static data. */
static struct cells {
    long value, sum, here, least, most, gathered[2];
} * cells;

/* Allocates blocks, each twice as large as the one before, until there is no room: all PEs get each, or none does. */
static void allocate_all(void)
{
    void *blocks[MAX_BLOCKS];
    int n = 0;
    for (size_t bytes = (size_t)1 << 20; n < MAX_BLOCKS; bytes *= 2) {
        blocks[n] = shmem_malloc(bytes);
        cells->here = blocks[n] != NULL;
        shmem_long_min_reduce(SHMEM_TEAM_WORLD, &cells->least, &cells->here, 1);
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, &cells->most, &cells->here, 1);
        CHECK_EQ(cells->most, cells->least);
        if (!cells->here) break;
        char *mark = (char *)blocks[n++] + bytes - 1;
        shmem_char_p(mark, (char)pe.me, pe.right);
        shmem_barrier_all();
        CHECK_EQ(*mark, (char)pe.left);
    }
    while (n > 0) shmem_free(blocks[--n]);
}

static void exchange(long *block)
{
    static long got[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < WORDS; i++) block[i] = -1;
        for (long i = 0; i < WORDS; i++) got[i] = i * (pe.me + 1) + round;
        shmem_barrier_all();
        shmem_long_put(block, got, WORDS, pe.right);
        shmem_barrier_all();
        for (long i = 0; i < WORDS; i++) CHECK_EQ(block[i], i * (pe.left + 1) + round);
        shmem_long_get(got, block, WORDS, pe.right);
        CHECK_EQ(got[WORDS - 1], (WORDS - 1) * (pe.me + 1) + round);
        shmem_barrier_all();
    }
}

static void count(void)
{
    cells->value = 0;
    shmem_barrier_all();
    for (int i = 0; i < pe.n; i++) shmem_long_atomic_add(&cells->value, 1 + i, i);
    shmem_barrier_all();
    CHECK_EQ(cells->value, (long)pe.n * (1 + pe.me));
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &cells->sum, &cells->value, 1);
    CHECK_EQ(cells->sum, (long)pe.n * pe.n * (pe.n + 1) / 2);
}

static void use_team(void)
{
    shmem_team_t pairs;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n < 2 ? pe.n : 2, NULL, 0, &pairs);
    if (pairs != SHMEM_TEAM_INVALID) shmem_long_collect(pairs, cells->gathered, &cells->value, 1);
    if (pairs != SHMEM_TEAM_INVALID) shmem_team_destroy(pairs);
}

int main(void)
{
    pe_begin();
    cells = shmem_malloc(sizeof *cells);
    CHECK(cells != NULL);
    allocate_all();
    long *block = shmem_malloc(sizeof(long) * WORDS);
    CHECK(block != NULL);
    exchange(block);
    count();
    use_team();
    shmem_finalize();
    return 0;
}

/* R38, R50: kernels add one number to a symmetric address to get that of a PE, in all of the heap, also where it
 * grows by pieces after they have got the number; and if one PE cannot map a piece, no PE uses it. The driver's copies
 * stand for kernels here: views FILE of the driver; views FILE GPU_DOUBLE_FAIL: on a double of it, which then fails at
 * one PE. */
#include "device.h"
#include "tests/device/cuda_program.h"

#include <nvshmem.h>

enum { MAX_PES = 8, BLOCKS = 4, BLOCK_BYTES = 5 << 20, WORDS = BLOCK_BYTES / sizeof(long) };

static ptrdiff_t distance[MAX_PES];
static bool is_known[MAX_PES];

static long number(int round, int owner, size_t word)
{
    return 1000000L * (round + 1) + 1000 * owner + (long)(word % 997);
}

static const size_t places[] = {0, (2 << 20) / sizeof(long) - 1, WORDS / 2, WORDS - 1};
enum { N_PLACES = sizeof places / sizeof *places };

/* One PE more in each round: the first ones before the heap has grown, the last ones after that. */
static void learn(long *block, int round)
{
    for (int i = 0; i < pe.n; i++) {
        if (is_known[i] || (i > round && pe.me > round)) continue;
        long *view = nvshmem_ptr(block, i);
        CHECK(view != NULL);
        distance[i] = (char *)view - (char *)block;
        is_known[i] = true;
    }
    CHECK_EQ(distance[pe.me], 0);
}

static long *at(long *symmetric, int owner) { return (long *)(void *)((char *)symmetric + distance[owner]); }

/* Reads and writes at addresses that are computed, of memory that this PE has not used otherwise. */
static void use(long *block, int round)
{
    for (size_t i = 0; i < N_PLACES; i++) {
        long mine = number(round, pe.me, places[i]);
        to_heap(&block[places[i]], &mine, sizeof mine);
    }
    shmem_barrier_all();
    for (int other = 0; other < pe.n; other++)
        for (size_t i = 0; i < N_PLACES && is_known[other]; i++)
            CHECK_EQ(program_word(at(&block[places[i]], other)), number(round, other, places[i]));
    shmem_barrier_all();
    long mark = number(round, pe.me, 1);
    if (is_known[pe.right]) program_copy(at(&block[WORDS - 2], pe.right), &mark, sizeof mark);
    shmem_barrier_all();
    long left = shmem_long_g(&block[WORDS - 2], pe.me);
    CHECK(left == number(round, pe.left, 1) || left == 0);
    CHECK(round < pe.n || left != 0);
    shmem_barrier_all();
}

/* The last PE cannot map what the others grow by. */
static void one_cannot(const char *variable)
{
    if (pe.me == pe.n - 1) setenv(variable, "cuMemImportFromShareableHandle:1+", 1);
    CHECK(shmem_malloc(64 << 20) == NULL);
    unsetenv(variable);
}

int main(int argc, char **argv)
{
    long *blocks[BLOCKS];
    pe_begin();
    CHECK(argc > 1 && program_open(argv[1], 1));
    CHECK(pe.n <= MAX_PES);
    for (int round = 0; round < BLOCKS; round++) {
        blocks[round] = shmem_malloc(BLOCK_BYTES);
        CHECK(blocks[round] != NULL);
        learn(blocks[round], round);
        use(blocks[round], round);
        for (int other = 0; other < pe.n; other++)
            CHECK(!is_known[other] ||
                  nvshmem_ptr(blocks[round] + WORDS - 1, other) == at(blocks[round] + WORDS - 1, other));
        if (round == 1 && argc > 2) one_cannot(argv[2]);
    }
    for (int round = 0; round < BLOCKS; round++) use(blocks[round], round);
    program_close();
    shmem_finalize();
    return 0;
}

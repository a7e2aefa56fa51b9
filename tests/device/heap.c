/* R28, R37, R38, R47, R49, R50: the heap on a device: zeroed, moved, aligned, grown, short on one PE; and at which
 * addresses it is reached. */
#include "device.h"

#include <nvshmem.h>

enum { MIB = 1 << 20 };

static void contents(void)
{
    char pattern[3000];
    static char zeroes[200000];
    char *block = shmem_malloc(sizeof zeroes);
    fill_heap(block, 0x5a, sizeof zeroes);
    shmem_free(block);
    block = shmem_calloc(sizeof zeroes, 1);
    CHECK(block != NULL);
    expect_in_heap(block, zeroes, sizeof zeroes);
    make_pattern(pattern, sizeof pattern, pe.me);
    to_heap(block, pattern, sizeof pattern);
    char *behind = shmem_malloc(64); /* in its way */
    block = shmem_realloc(block, 3 * MIB);
    CHECK(block != NULL);
    expect_in_heap(block, pattern, sizeof pattern);
    shmem_free(behind);
    shmem_free(block);
    for (size_t align = sizeof(void *); align <= MIB; align *= 2) {
        block = shmem_align(align, 100);
        CHECK(block != NULL || align > 4096); /* of a heap that does not grow no more is promised */
        CHECK((uintptr_t)block % align == 0);
        shmem_free(block);
    }
}

static void addresses(void)
{
    static long global;
    long *block = shmem_malloc(1000);
    for (int other = 0; other < pe.n; other++) {
        long *view = nvshmem_ptr(block + 2, other);
        CHECK(shmem_ptr(block, other) == NULL);
        CHECK(view != NULL && (other != pe.me || view == block + 2));
        CHECK(shmem_ptr(&global, other) != NULL);
        CHECK_EQ(shmem_addr_accessible(block, other), 1);
    }
    CHECK(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, block) == NULL);
    shmem_free(block);
}

/* Allocates until a device is full; all PEs get NULL then, and can continue. At least `least` MiB must fit. */
static void shortage(size_t least)
{
    enum { MOST = 4096, STEP = 3 * MIB };
    static char *blocks[MOST];
    char pattern[100];
    size_t n = 0;
    while (n < MOST && (blocks[n] = shmem_malloc(STEP)) != NULL) n++;
    CHECK(n < MOST);
    CHECK(n * 3 + 3 >= least);
    make_pattern(pattern, sizeof pattern, pe.me);
    for (size_t i = 0; i < n; i++) to_heap(blocks[i] + STEP - sizeof pattern, pattern, sizeof pattern);
    shmem_barrier_all();
    make_pattern(pattern, sizeof pattern, pe.right);
    for (size_t i = 0; i < n; i++) {
        char seen[sizeof pattern];
        shmem_getmem(seen, blocks[i] + STEP - sizeof seen, sizeof seen, pe.right);
        CHECK_BYTES(seen, pattern, sizeof pattern);
    }
    shmem_barrier_all();
    while (n > 0) shmem_free(blocks[--n]);
    blocks[0] = shmem_malloc(STEP);
    CHECK(blocks[0] != NULL);
    shmem_free(blocks[0]);
}

int main(int argc, char **argv)
{
    pe_begin();
    contents();
    addresses();
    if (argc > 1) shortage(strtoul(argv[1], NULL, 10));
    shmem_finalize();
    return 0;
}

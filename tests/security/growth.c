/* tests/security/growth.c: a heap that gets extents after init, each with a descriptor of its own: all are reached, by
 * every way of passing descriptors. r47_growth checks the contents of the heap. */
#include "tests/pe/check.h"

enum { BLOCK_BYTES = 40 << 20, BLOCKS = 3 };

int main(void)
{
    char *blocks[BLOCKS];
    pe_begin();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = shmem_malloc(BLOCK_BYTES);
        CHECK(blocks[i] != NULL);
        int *last = (int *)(void *)(blocks[i] + BLOCK_BYTES) - 1;
        shmem_int_p(last, pe.me + i, pe.right);
        shmem_barrier_all();
        CHECK_EQ(*last, pe.left + i);
        CHECK_EQ(shmem_int_g(last, pe.right), pe.me + i);
    }
    return pe_end();
}

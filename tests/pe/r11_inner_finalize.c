/* R11: a finalize that is not the last one is a barrier_all and releases nothing. */
#include "check.h"

static long cell;

int main(void)
{
    pe_begin();
    long *block = shmem_malloc(sizeof *block);
    CHECK(block != NULL);
    shmem_init();
    if (pe.me == 0) dawdle_us(3000);
    shmem_long_put_nbi(&cell, (long[]){pe.me + 10}, 1, pe.right);
    shmem_long_p(block, pe.me + 20, pe.right);
    shmem_finalize();
    CHECK_EQ(cell, pe.left + 10);
    CHECK_EQ(*block, pe.left + 20);

    shmem_barrier_all();
    shmem_long_p(block, pe.me + 30, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*block, pe.left + 30);
    shmem_free(block);
    return pe_end();
}

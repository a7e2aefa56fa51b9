/* Each PE sends its number to its right neighbour: through the heap, so that what is installed has to work as a
 * whole. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *cell = shmem_calloc(1, sizeof *cell);
    shmem_long_p(cell, me, (me + 1) % n);
    shmem_barrier_all();
    printf("PE %d of %d: neighbour %ld\n", me, n, *cell);
    shmem_free(cell);
    shmem_finalize();
    return 0;
}

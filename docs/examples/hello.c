#include <shmem.h>
#include <stdio.h>

static long cell, sum; /* symmetric: every PE has its own copy, and the others reach it */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_p(&cell, me, (me + 1) % n); /* to my right neighbour */
    shmem_long_atomic_add(&sum, me, 0);    /* all add up on PE 0 */
    shmem_barrier_all();
    printf("PE %d of %d: my left neighbour is PE %ld\n", me, n, cell);
    if (me == 0) printf("the sum of all PE numbers is %ld\n", sum);
    shmem_finalize();
    return 0;
}

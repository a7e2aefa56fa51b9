/* The same with NVSHMEM's interface. */
#include <nvshmem.h>
#include <stdio.h>

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    long *cell = nvshmem_calloc(1, sizeof *cell);
    nvshmemx_long_p_on_stream(cell, me, (me + 1) % n, NULL);
    nvshmem_barrier_all();
    printf("PE %d of %d: neighbour %ld\n", me, n, *cell);
    nvshmem_free(cell);
    nvshmem_finalize();
    return 0;
}

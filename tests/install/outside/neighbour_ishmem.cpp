// The same with Intel SHMEM's interface.
#include <ishmem.h>

#include <cstdio>

int main()
{
    ishmem_init();
    int me = ishmem_my_pe(), n = ishmem_n_pes();
    long *cell = static_cast<long *>(ishmem_calloc(1, sizeof *cell));
    ishmem_p(cell, static_cast<long>(me), (me + 1) % n);
    ishmem_barrier_all();
    std::printf("PE %d of %d: neighbour %ld\n", me, n, *cell);
    ishmem_free(cell);
    ishmem_finalize();
}

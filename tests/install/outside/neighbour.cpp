// The same from C++.
#include <shmem.h>

#include <cstdio>

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *cell = static_cast<long *>(shmem_calloc(1, sizeof *cell));
    shmem_long_p(cell, me, (me + 1) % n);
    shmem_barrier_all();
    std::printf("PE %d of %d: neighbour %ld\n", me, n, *cell);
    shmem_free(cell);
    shmem_finalize();
}

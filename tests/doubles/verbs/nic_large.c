/* Atomics by adapters on both ends of a block of 1 GiB, which is registered when it is allocated. */
#include "tests/pe/check.h"

int main(void)
{
    const size_t n = (size_t)1 << 27;
    pe_begin();
    uint64_t *block = shmem_malloc(n * sizeof *block);
    CHECK(block != NULL);
    block[0] = block[n - 1] = 7;
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_atomic_fetch_inc(&block[0], pe.right), 7);
    CHECK_EQ(shmem_uint64_atomic_fetch_add(&block[n - 1], 2, pe.right), 7);
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_atomic_fetch(&block[0], pe.me), 8);
    CHECK_EQ(shmem_uint64_atomic_fetch(&block[n - 1], pe.me), 9);
    return pe_end();
}

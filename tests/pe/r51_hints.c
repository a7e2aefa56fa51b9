/* R51: malloc_with_hints is malloc for any hints, unknown ones too; atomics and signals work in the block. */
#include "check.h"

int main(void)
{
    pe_begin();
    static const long unknown[] = {4, 1L << 40, -1};
    for (size_t i = 0; i < 4 + sizeof unknown / sizeof *unknown; i++) {
        long hints = i < 4 ? (i & 1 ? SHMEM_MALLOC_ATOMICS_REMOTE : 0) | (i & 2 ? SHMEM_MALLOC_SIGNAL_REMOTE : 0)
                           : unknown[i - 4];
        uint64_t *block = shmem_malloc_with_hints(64, hints);
        CHECK(block != NULL);
        memset(block, 0, 64);
        shmem_barrier_all();
        shmem_uint64_atomic_add(&block[0], 5, pe.right);
        shmem_uint64_put_signal(&block[2], (uint64_t[]){8}, 1, &block[1], 3, SHMEM_SIGNAL_ADD, pe.right);
        shmem_signal_wait_until(&block[1], SHMEM_CMP_EQ, 3);
        CHECK_EQ(block[2], 8);
        shmem_barrier_all();
        CHECK_EQ(block[0], 5);
        shmem_free(block);
    }
    CHECK(shmem_malloc_with_hints(SIZE_MAX, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
    return pe_end();
}

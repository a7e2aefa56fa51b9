/* R96: fence and quiet treat a non-fetching atomic like a put: after them a fetch of the same PE sees it. */
#include "check.h"

static uint64_t word;
static uint32_t half;

int main(void)
{
    pe_begin(); /* only this PE touches its words on the right neighbour */
    for (uint64_t i = 1; i <= (uint64_t)pe_rounds(20000); i++) {
        shmem_uint64_atomic_set(&word, i, pe.right);
        shmem_fence();
        CHECK_EQ(shmem_uint64_atomic_fetch(&word, pe.right), i);
        shmem_uint64_atomic_add(&word, 5, pe.right);
        shmem_quiet();
        CHECK_EQ(shmem_uint64_g(&word, pe.right), i + 5);
        shmem_uint32_atomic_set(&half, (uint32_t)i, pe.right);
        shmem_fence();
        shmem_uint32_atomic_xor(&half, 0xff, pe.right);
        shmem_fence();
        CHECK_EQ(shmem_uint32_atomic_fetch_or(&half, 0, pe.right), (uint32_t)i ^ 0xff);
    }
    return pe_end();
}

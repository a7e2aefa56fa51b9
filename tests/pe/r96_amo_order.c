/* R96: fence and quiet treat a non-fetching atomic like a put: after them a fetch of the same PE sees it. A fence also
 * orders atomics of two widths, which two agents may execute: the target never sees the later one alone. */
#include "check.h"

static uint64_t word, wide;
static uint32_t half, narrow;

/* narrow and wide count up in turn, with a fence between. */
static void check_own_words(uint32_t *seen)
{
    uint64_t at_least = shmem_signal_fetch(&wide);
    CHECK(shmem_uint32_test(&narrow, SHMEM_CMP_GE, (uint32_t)at_least));
    while (shmem_uint32_test(&narrow, SHMEM_CMP_GT, *seen)) ++*seen;
    CHECK(shmem_signal_fetch(&wide) + 1 >= *seen);
}

static void order_two_widths(void)
{
    uint32_t seen = 0;
    for (uint32_t i = 1; i <= (uint32_t)pe_rounds(8000); i++) {
        shmem_uint32_atomic_set(&narrow, i, pe.right);
        shmem_fence();
        shmem_uint64_atomic_set(&wide, i, pe.right);
        shmem_fence();
        check_own_words(&seen);
    }
}

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
    order_two_widths();
    return pe_end();
}

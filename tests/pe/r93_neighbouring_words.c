/* R93: an atomic of 4 bytes does not rewrite the 4 bytes beside it: one half of an 8-byte word is counted up by all
 * PEs, the other half by its owner's plain stores, by puts and by other atomics. */
#include "check.h"

static struct {
    _Alignas(8) uint32_t counted, other;
} pairs[2];

int main(void)
{
    pe_begin();
    uint32_t n = (uint32_t)pe_contended_rounds();
    int home = pe.n - 1;
    volatile uint32_t *mine = &pairs[0].other;
    for (uint32_t i = 1; i <= n; i++) {
        pe_collide(i);
        shmem_uint32_atomic_inc(&pairs[0].counted, home);
        shmem_uint32_atomic_add(&pairs[1].counted, 2, home);
        if (pe.me == home) *mine = i; /* a store of the owner */
        if (pe.me == 0) shmem_uint32_p(&pairs[1].other, i, home);
        if (pe.me == home) CHECK_EQ(*mine, i);
        if (pe.me == 0) {
            shmem_fence();
            CHECK_EQ(shmem_uint32_g(&pairs[1].other, home), i);
        }
    }
    shmem_barrier_all();
    if (pe.me == home) {
        CHECK_EQ(pairs[0].counted, n * (uint32_t)pe.n);
        CHECK_EQ(pairs[0].other, n);
        CHECK_EQ(pairs[1].counted, 2 * n * (uint32_t)pe.n);
        CHECK_EQ(pairs[1].other, n);
    }
    return pe_end();
}

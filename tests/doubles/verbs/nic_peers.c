/* Atomics by adapters between all PEs, round by round, where the adapter has fewer queue pairs than that takes at a
 * time. */
#include "tests/pe/check.h"

enum { ROUNDS = 20 };

static uint64_t counter, posted, word[2];

int main(void)
{
    pe_begin();
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < pe.n; i++) {
            int peer = (pe.me + i) % pe.n;
            (void)shmem_uint64_atomic_fetch_inc(&counter, peer);
            shmem_uint64_atomic_add(&posted, 3, peer); /* is under way when the next peer's turn comes */
            shmem_fence();
            (void)shmem_uint64_atomic_swap(&word[round % 2], round, peer);
        }
        shmem_barrier_all();
        uint64_t all = (round + 1) * (uint64_t)pe.n;
        CHECK_EQ(shmem_uint64_atomic_fetch(&counter, pe.me), all);
        CHECK_EQ(shmem_uint64_atomic_fetch(&posted, pe.right), 3 * all);
        CHECK_EQ(shmem_uint64_atomic_fetch(&word[round % 2], pe.left), round);
        shmem_barrier_all();
    }
    return pe_end();
}

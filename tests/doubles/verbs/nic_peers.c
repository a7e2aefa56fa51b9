/* nic_peers [hot]: atomics by adapters between all PEs, or of all PEs on words of PE 0, round by round, where the
 * adapter has fewer queue pairs than that takes at a time. */
#include "tests/pe/check.h"

enum { ROUNDS = 20 };

static uint64_t counter, posted, word[2];

static void count_at_first(uint64_t round)
{
    (void)shmem_uint64_atomic_fetch_inc(&counter, 0);
    for (int i = 0; i < 5; i++) shmem_uint64_atomic_add(&posted, 3, 0);
    shmem_barrier_all();
    uint64_t all = (round + 1) * (uint64_t)pe.n;
    CHECK_EQ(shmem_uint64_atomic_fetch(&counter, 0), all);
    CHECK_EQ(shmem_uint64_atomic_fetch(&posted, 0), 15 * all);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    pe_begin();
    if (argc > 1 && strcmp(argv[1], "hot") == 0) {
        for (uint64_t round = 0; round < ROUNDS; round++) count_at_first(round);
        return pe_end();
    }
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

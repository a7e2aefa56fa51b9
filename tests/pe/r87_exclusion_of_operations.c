/* R87: exclusion covers every operation of the set: additions against swaps, sets against compare_swaps, and, or and
 * xor on disjoint bits. */
#include "check.h"

static uint64_t purse, removed, bits, owner_word;

/* The sum of the swapped values and of the rest equals the additions. */
static void add_against_swap(int n, int home)
{
    uint64_t taken = 0;
    for (int i = 0; i < n; i++) {
        pe_collide((uint64_t)i);
        shmem_uint64_atomic_add(&purse, 3, home);
        if (i % 2 == 0) taken += shmem_uint64_atomic_swap(&purse, 0, home);
    }
    shmem_uint64_atomic_add(&removed, taken, home);
    shmem_barrier_all();
    if (pe.me == home) CHECK_EQ(purse + removed, 3 * (uint64_t)n * (uint64_t)pe.n);
}

/* PE 0 sets an odd number, and the others replace odd numbers by their double: a set is never lost, so that after the
 * last set and all swaps the word is that number, or its double. */
static void set_against_compare_swap(uint64_t n, int home)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t odd = 2 * i + 1;
        pe_collide(i);
        if (pe.me == 0) {
            shmem_uint64_atomic_set(&owner_word, odd, home);
            shmem_fence();
            uint64_t seen = shmem_uint64_atomic_fetch(&owner_word, home);
            if (seen != odd && seen != 2 * odd)
                check_fail(__FILE__, __LINE__, "set %" PRIu64 " was lost: the word is %" PRIu64, odd, seen);
        } else {
            uint64_t seen = shmem_uint64_atomic_fetch(&owner_word, home);
            if (seen % 2 == 1) (void)shmem_uint64_atomic_compare_swap(&owner_word, seen, 2 * seen, home);
        }
    }
    shmem_barrier_all();
}

/* Each PE has its own three bits. */
static void bits_against_bits(int n, int home)
{
    uint64_t mine = (uint64_t)7 << 3 * (pe.me % 21), expected = 0;
    for (int i = 0; i < n; i++) {
        pe_collide((uint64_t)i);
        if (pe.me >= 21) continue;
        switch (i % 3) {
        case 0: shmem_uint64_atomic_or(&bits, mine, home), expected = mine; break;
        case 1: shmem_uint64_atomic_and(&bits, ~mine | (mine & mine << 1), home), expected &= mine << 1; break;
        default: shmem_uint64_atomic_xor(&bits, mine, home), expected ^= mine; break;
        }
        shmem_fence();
        CHECK_EQ(shmem_uint64_atomic_fetch(&bits, home) & mine, expected);
    }
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    int n = pe_contended_rounds() / 2, home = pe.n - 1;
    add_against_swap(n, home);
    set_against_compare_swap((uint64_t)n, home);
    bits_against_bits(n, home);
    return pe_end();
}

/* R64: fence orders what goes to one PE: of two words that two PEs write in opposite order with a fence between, at
 * least one keeps the later value (2+2W); and a reader that sees the second of two values sees the first. */
#include "check.h"

static uint64_t x, lines[16], y, seen_y, seen_x;

static void two_plus_two(uint64_t round)
{
    uint64_t *first = pe.me == 0 ? &x : &y, *second = pe.me == 0 ? &y : &x;
    if (pe.me < 2) {
        shmem_uint64_p(first, 2 * round, 0);
        shmem_fence();
        shmem_uint64_p(second, 2 * round + 1, 0);
    }
    shmem_barrier_all();
    if (pe.me == 0 && pe.n > 1) CHECK(!(x == 2 * round && y == 2 * round));
}

int main(void)
{
    pe_begin();
    pe_seed();
    uint64_t random = pe.seed + (uint64_t)pe.me;
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(8000); round++) {
        jitter(&random);
        two_plus_two(round);
        shmem_barrier_all();
    }
    (void)lines;

    /* The left neighbour lets two of this PE's words grow, one after the other; the first is never behind the
     * second. */
    enum { LAST = 100000 };
    uint64_t last = (uint64_t)pe_part_of(pe.n <= 4 ? LAST : LAST / 50);
    shmem_barrier_all();
    if (pe.me % 2 == 0 || pe.n == 1)
        for (uint64_t i = 1; i <= last; i++) {
            shmem_uint64_p(&seen_x, i, pe.right);
            shmem_fence();
            shmem_uint64_p(&seen_y, i, pe.right);
        }
    if (pe.me % 2 == 1)
        for (uint64_t b = 0; b < last;) {
            b = __atomic_load_n(&seen_y, __ATOMIC_ACQUIRE);
            uint64_t a = __atomic_load_n(&seen_x, __ATOMIC_ACQUIRE);
            if (a < b) check_fail(__FILE__, __LINE__, "first word is %" PRIu64 ", the later one %" PRIu64, a, b);
        }
    return pe_end();
}

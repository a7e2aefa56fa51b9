/* R66, strict reading: after a fence, a get or fetch to the same PE sees earlier puts, stores and atomics to it, also
 * those of two PEs that do the same crosswise (SB). */
#include "check.h"

enum { WORDS = 500 };

static uint64_t words[WORDS], x, line[8], y;

static void read_own(uint64_t round)
{
    uint64_t source[WORDS], back[WORDS];
    for (int i = 0; i < WORDS; i++) source[i] = round;
    size_t n = 1 + round % WORDS;
    shmem_uint64_put_nbi(words, source, n, pe.right);
    shmem_fence();
    shmem_uint64_get(back, words, n, pe.right);
    CHECK_BYTES(back, source, n * sizeof *back);
    shmem_quiet();

    shmem_uint64_p(&words[0], round + 7, pe.right);
    shmem_fence();
    CHECK_EQ(shmem_uint64_g(&words[0], pe.right), round + 7);
    shmem_uint64_atomic_add(&words[0], 1, pe.right);
    shmem_fence();
    CHECK_EQ(shmem_uint64_atomic_fetch(&words[0], pe.right), round + 8);
}

/* PE 0 sets x and then reads y, PE 1 the other way round; both words on the last PE. One of them sees the other. */
static void store_buffering(uint64_t round, uint64_t *random)
{
    static uint64_t seen;
    if (pe.me < 2) {
        jitter(random);
        shmem_uint64_atomic_set(pe.me == 0 ? &x : &y, round, pe.n - 1);
        shmem_fence();
        seen = shmem_uint64_atomic_fetch(pe.me == 0 ? &y : &x, pe.n - 1);
    }
    shmem_barrier_all();
    if (pe.me == 0 && pe.n > 1)
        if (seen < round && shmem_uint64_g(&seen, 1) < round)
            check_fail(__FILE__, __LINE__, "in round %" PRIu64 " neither PE saw what the other had set", round);
}

int main(void)
{
    pe_begin();
    pe_seed();
    uint64_t random = pe.seed + (uint64_t)pe.me;
    (void)line;
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(2000); round++) read_own(round);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(20000); round++) {
        store_buffering(round, &random);
        shmem_barrier_all();
    }
    return pe_end();
}

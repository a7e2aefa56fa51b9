/* tests/hosts/far.c: values over a slow and lossy network: puts, gets and updates by streams of operations are right,
 * after as few round trips as the calls need. Every PE accesses one on another host, and all of them with PE 0's
 * counter. */
#include "../pe/check.h"

enum { ROUNDS = 8, BLOCKS = 64, WORDS = 512 };

static uint64_t sent[BLOCKS][WORDS], came[BLOCKS][WORDS], got[BLOCKS][WORDS], letter[WORDS];
static uint64_t elements[BLOCKS], counter, bits, arrived;

static uint64_t value(int of_pe, int round, size_t i) { return (uint64_t)of_pe << 48 | (uint64_t)round << 32 | i; }

static void check_values(const uint64_t *words, size_t n, int of_pe, int round)
{
    for (size_t i = 0; i < n; i++) CHECK_EQ(words[i], value(of_pe, round, i));
}

static void puts_and_gets(int far_right, int far_left, int round)
{
    for (size_t i = 0; i < (size_t)BLOCKS * WORDS; i++) sent[i / WORDS][i % WORDS] = value(pe.me, round, i);
    for (int b = 0; b < BLOCKS; b++) {
        shmem_uint64_put_nbi(came[b], sent[b], WORDS, far_right);
        shmem_uint64_p(&elements[b], value(pe.me, round, (size_t)b), far_right);
    }
    shmem_barrier_all();
    check_values(came[0], (size_t)BLOCKS * WORDS, far_left, round);
    check_values(elements, BLOCKS, far_left, round);
    for (int b = 0; b < BLOCKS; b++) shmem_uint64_get_nbi(got[b], sent[b], WORDS, far_right);
    shmem_quiet();
    check_values(got[0], (size_t)BLOCKS * WORDS, far_right, round);
}

/* Only PE 0's neighbours on its host load and store; sums and old values are exact all the same. */
static void updates(int round)
{
    static uint64_t old[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        shmem_uint64_atomic_fetch_add_nbi(&old[i], &counter, 2, 0);
        shmem_uint64_atomic_inc(&counter, 0);
        shmem_uint64_atomic_xor(&bits, UINT64_C(1) << ((i + pe.me) % 64), 0);
    }
    shmem_quiet();
    uint64_t most = (uint64_t)(round + 1) * 3 * BLOCKS * (uint64_t)pe.n;
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(old[i] < most);
        for (int j = 0; j < i; j++) CHECK(old[i] != old[j]);
    }
    shmem_barrier_all();
    if (pe.me == 0) CHECK_EQ(counter, most);
    if (pe.me == 0) CHECK_EQ(bits, (pe.n & 1) != 0 && (round & 1) == 0 ? UINT64_MAX : 0);
}

static void letters(int far_right, int far_left, int round)
{
    for (size_t i = 0; i < WORDS; i++) sent[0][i] = value(pe.me, round, i);
    shmem_uint64_put_signal_nbi(letter, sent[0], WORDS, &arrived, (uint64_t)round + 1, SHMEM_SIGNAL_SET, far_right);
    CHECK_EQ(shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, (uint64_t)round + 1), round + 1);
    check_values(letter, WORDS, far_left, round);
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    int distance = pe.n > 1 ? pe.n / 2 : 0;
    int far_right = (pe.me + distance) % pe.n, far_left = (pe.me + pe.n - distance) % pe.n;
    for (int round = 0; round < ROUNDS; round++) {
        puts_and_gets(far_right, far_left, round);
        updates(round);
        letters(far_right, far_left, round);
    }
    return pe_end();
}

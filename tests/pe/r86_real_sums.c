/* R86: atomic sums of real numbers: none is lost, each fetched value is fetched once, and the other half of a word that
 * two numbers of 16 bits share stays as it is. NVSHMEM's half has no arithmetic in C: the bits are compared. */
#include "nv.h"

/* Of half every integer to 2048 is exact; of the others every sum here. */
enum { HALF_MOST = 2048, FENCE = 0x1234 };

struct numbers {
    float single;
    half before, counter, after; /* counter shares a word with before or after */
    double real, burst, fetched;
};

static half half_of(unsigned bits) { return (half){(unsigned short)bits}; }

static unsigned bits_of(half value)
{
    unsigned short bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of an integer from 1 to HALF_MOST as half. */
static unsigned half_integer(unsigned value)
{
    unsigned exponent = 31 - (unsigned)__builtin_clz(value);
    return (15 + exponent) << 10 | ((value << 10 >> exponent) & 0x3ff);
}

static void add_everywhere(struct numbers *at, int rounds)
{
    const half one = half_of(half_integer(1));
    for (int round = 0; round < rounds; round++) {
        for (int to = 0; to < pe.n; to++) {
            nvshmemx_float_atomic_add(&at->single, 0.5f, to);
            nvshmemx_half_atomic_add(&at->counter, one, to);
            nvshmemx_double_atomic_add(&at->real, -0.25, to);
        }
    }
}

/* All PEs on one word, for longer than a time slice: updates come between those of others. */
static void add_to_one(double *word)
{
    const int n = pe_rounds(100000);
    nvshmem_barrier_all();
    for (int i = 0; i < n; i++) nvshmemx_double_atomic_add(word, 1, 0);
    nvshmem_barrier_all();
    CHECK(*word == (pe.me == 0 ? (double)n * pe.n : 0));
}

/* Each PE keeps its fetched values in its row of PE 0, which then has each once. */
static void fetch_everywhere(struct numbers *at, double *values, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        double old = nvshmemx_double_atomic_fetch_add(&at->fetched, 1, 0);
        CHECK(old >= 0 && old < (double)pe.n * rounds);
        nvshmemx_double_atomic_add(&values[(int)old], 1 + pe.me, 0);
    }
    nvshmem_barrier_all();
    for (int i = 0; pe.me == 0 && i < pe.n * rounds; i++) CHECK(values[i] >= 1 && values[i] <= pe.n);
}

static void check_fetched(struct numbers *at)
{
    const half two = half_of(half_integer(2));
    nvshmem_barrier_all();
    float old = nvshmemx_float_atomic_fetch_add(&at->single, 2, pe.right);
    half old_half = nvshmemx_half_atomic_fetch_add(&at->counter, two, pe.right);
    nvshmem_barrier_all();
    CHECK(at->single == old + 2); /* the same on all PEs before */
    CHECK_EQ(bits_of(old_half), bits_of(at->counter) - half_integer(3) + half_integer(1));
}

int main(void)
{
    nv_begin();
    int rounds = pe_rounds(100);
    struct numbers *at = nv_symmetric(sizeof *at);
    double *values = nv_symmetric(sizeof *values * (size_t)(pe.n * rounds));
    if (rounds * pe.n > HALF_MOST) rounds = HALF_MOST / pe.n;
    at->before = at->after = half_of(FENCE);
    nvshmem_barrier_all();
    add_everywhere(at, rounds);
    nvshmem_barrier_all();
    CHECK(at->single == 0.5f * (float)(rounds * pe.n));
    CHECK(at->real == -0.25 * rounds * pe.n);
    CHECK_EQ(bits_of(at->counter), half_integer((unsigned)(rounds * pe.n)));
    add_to_one(&at->burst);
    fetch_everywhere(at, values, rounds);
    at->single = 1;
    at->counter = half_of(half_integer(1));
    check_fetched(at);
    CHECK_EQ(bits_of(at->before), FENCE);
    CHECK_EQ(bits_of(at->after), FENCE);
    return nv_end();
}

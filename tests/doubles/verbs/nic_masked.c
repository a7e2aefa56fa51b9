/* nic_masked REQUESTS: how many requests an adapter gets for each set, swap, and, or, xor of 64 bits, by the count of
 * the double of libibverbs: 1 with masked atomics, else 2. The values are checked meanwhile, and then those of all PEs
 * on one word. */
#include "tests/pe/check.h"

#include <dlfcn.h>

enum { ROUNDS = 60 }; /* bits of a word */
enum { SET, AND, OR, XOR, ADD, OPS };

static unsigned long (*count)(const char *name);

static uint64_t word, data[4];

static unsigned long requests(void)
{
    static const char *const names[] = {"fetch_add", "swap", "masked_add", "masked_swap"};
    unsigned long n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) n += count(names[i]);
    return n;
}

/* Each returns what the word is then. */
static uint64_t post(int op, uint64_t value, uint64_t old)
{
    switch (op) {
    case SET: shmem_uint64_atomic_set(&word, value, pe.right); return value;
    case AND: shmem_uint64_atomic_and(&word, value, pe.right); return old & value;
    case OR: shmem_uint64_atomic_or(&word, value, pe.right); return old | value;
    case XOR: shmem_uint64_atomic_xor(&word, value, pe.right); return old ^ value;
    default: shmem_uint64_atomic_add(&word, value, pe.right); return old + value;
    }
}

static uint64_t fetch(int op, uint64_t value, uint64_t before, uint64_t *old)
{
    switch (op) {
    case SET: *old = shmem_uint64_atomic_swap(&word, value, pe.right); return value;
    case AND: *old = shmem_uint64_atomic_fetch_and(&word, value, pe.right); return before & value;
    case OR: *old = shmem_uint64_atomic_fetch_or(&word, value, pe.right); return before | value;
    case XOR: *old = shmem_uint64_atomic_fetch_xor(&word, value, pe.right); return before ^ value;
    default: *old = shmem_uint64_atomic_fetch_add(&word, value, pe.right); return before + value;
    }
}

/* Each round changes the word: an and, and an or, one bit. */
static uint64_t value_of(int op, int round)
{
    uint64_t bit = UINT64_C(1) << round;
    return op == OR ? bit : op == AND ? ~bit : 0x9e3779b97f4a7c15u * (uint64_t)(round + 1);
}

static uint64_t begin(int op)
{
    uint64_t first = op == AND ? UINT64_MAX : 0;
    shmem_uint64_atomic_set(&word, first, pe.right);
    CHECK_EQ(shmem_uint64_atomic_fetch(&word, pe.right), first);
    return first;
}

/* Each PE has the word of its right neighbour for itself. */
static void count_each(unsigned long expected)
{
    for (int op = 0; op < OPS; op++) {
        unsigned long n = op == ADD ? ROUNDS : expected * ROUNDS;
        uint64_t now = begin(op), old;
        unsigned long first = requests();
        for (int i = 0; i < ROUNDS; i++) now = post(op, value_of(op, i), now);
        shmem_quiet();
        CHECK_EQ(requests() - first, n);
        CHECK_EQ(shmem_uint64_atomic_fetch(&word, pe.right), now);
        now = begin(op);
        first = requests();
        for (int i = 0; i < ROUNDS; i++) {
            uint64_t next = fetch(op, value_of(op, i), now, &old);
            CHECK_EQ(old, now);
            now = next;
        }
        CHECK_EQ(requests() - first, n);
        CHECK_EQ(shmem_uint64_atomic_fetch(&word, pe.right), now);
    }
}

/* The signal of a put is set by as many requests, and the value is there behind the data. */
static void count_signals(unsigned long expected)
{
    shmem_barrier_all();
    unsigned long first = requests();
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t source[4] = {i, i, i, i};
        shmem_putmem_signal(data, source, sizeof data, &word, i, SHMEM_SIGNAL_SET, pe.right);
    }
    shmem_quiet();
    CHECK_EQ(requests() - first, expected * ROUNDS);
    shmem_signal_wait_until(&word, SHMEM_CMP_EQ, ROUNDS);
    CHECK_EQ(data[3], ROUNDS);
    shmem_barrier_all();
}

/* All PEs update the word of PE 0 at once: each toggles, sets and clears a bit of its own, and all count above these
 * bits, some by adding, some by compare and swap. */
static void contend(void)
{
    enum { COUNT = 1 << 16 };
    uint64_t bit = UINT64_C(1) << pe.me, seen;
    if (pe.me == 0) shmem_uint64_atomic_set(&word, 0, 0);
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(shmem_uint64_atomic_fetch_xor(&word, bit, 0) & bit, 0);
        CHECK_EQ(shmem_uint64_atomic_fetch_or(&word, bit, 0) & bit, bit);
        CHECK_EQ(shmem_uint64_atomic_fetch_and(&word, ~bit, 0) & bit, bit);
        shmem_uint64_atomic_or(&word, bit, 0);
        shmem_uint64_atomic_xor(&word, bit, 0);
        shmem_uint64_atomic_add(&word, COUNT, 0);
        uint64_t expected = shmem_uint64_atomic_fetch(&word, 0);
        while ((seen = shmem_uint64_atomic_compare_swap(&word, expected, expected + COUNT, 0)) != expected)
            expected = seen;
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_atomic_fetch(&word, 0), (uint64_t)COUNT * 2 * ROUNDS * (uint64_t)pe.n);
    shmem_barrier_all();
}

/* Each value that a swap writes is fetched by one other swap, but for the last. */
static void swap_all(void)
{
    static uint64_t sums[2]; /* written, fetched */
    uint64_t written = 0, fetched = 0;
    if (pe.me == 0) shmem_uint64_atomic_set(&word, 0, 0);
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t value = (uint64_t)(1 + i * pe.n + pe.me);
        fetched += shmem_uint64_atomic_swap(&word, value, 0);
        written += value;
    }
    shmem_uint64_atomic_add(&sums[0], written, 0);
    shmem_uint64_atomic_add(&sums[1], fetched, 0);
    shmem_barrier_all();
    if (pe.me == 0) CHECK_EQ(sums[0], sums[1] + shmem_uint64_atomic_fetch(&word, 0));
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    unsigned long expected = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    void *found = dlsym(RTLD_DEFAULT, "verbs_double_count");
    memcpy(&count, &found, sizeof found);
    pe_begin();
    CHECK(count != NULL);
    count_each(expected);
    count_signals(expected);
    contend();
    swap_all();
    return pe_end();
}

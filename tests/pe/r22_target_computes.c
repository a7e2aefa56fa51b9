/* R22: one-sided operations complete while the target computes and makes no call: put and quiet, get, fetching atomics,
 * put with signal. All PEs but the first compute until its last operation sets their flag. */
#include "check.h"

enum { WORDS = 50000, ROUNDS = 20, LIMIT_S = 20 };

static uint64_t statics[WORDS], counter, signal_word;
static volatile int may_go;

static void use(uint64_t *target, int to, uint64_t value)
{
    static uint64_t words[WORDS], back[WORDS];
    for (int i = 0; i < WORDS; i++) words[i] = value + (uint64_t)i;
    shmem_uint64_put(target, words, WORDS, to);
    shmem_quiet();
    shmem_uint64_get(back, target, WORDS, to);
    CHECK_BYTES(back, words, sizeof words);
    uint64_t before = shmem_uint64_atomic_fetch(&counter, to);
    CHECK_EQ(shmem_uint64_atomic_fetch_add(&counter, 3, to), before);
    CHECK_EQ(shmem_uint64_atomic_compare_swap(&counter, before + 3, before + 4, to), before + 3);
    shmem_uint64_put_signal(target, words, 1000, &signal_word, value, SHMEM_SIGNAL_SET, to);
    shmem_quiet();
    CHECK_EQ(shmem_uint64_g(&signal_word, to), value);
}

int main(void)
{
    pe_begin();
    uint64_t *block = shmem_malloc(sizeof statics);
    CHECK(block != NULL);
    pe_deadline(LIMIT_S);
    if (pe.me == 0) {
        for (int round = 1; round <= (pe.n <= 4 ? ROUNDS : 1); round++)
            for (int to = pe.n > 1; to < pe.n; to++) use(round % 2 ? block : statics, to, (uint64_t)(round * 100 + to));
        for (int to = 0; to < pe.n; to++) shmem_int_p((int *)&may_go, 1, to);
        shmem_quiet();
    }
    while (!may_go) {}
    return pe_end();
}

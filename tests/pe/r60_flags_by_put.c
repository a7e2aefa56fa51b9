/* R60, R64: a flag that is put after a fence arrives after the atomics before the fence, and one that is set by an
 * atomic after the puts: also where the target's processor executes atomics, and its adapter writes what is put. Seen
 * from the target. */
#include "check.h"
#include "message_passing.h"

enum { LONG_WORDS = 16384 };

static uint64_t words[MP_WORDS], old[MP_WORDS], bulk[LONG_WORDS], there[LONG_WORDS], signal_word;

static void by_add(struct mp_box *box, uint64_t round) /* words start at 0 in each run, and rounds follow one another */
{
    static uint64_t before;
    static const struct mp_box *same;
    uint64_t step = same == box && round == before + 1 ? 1 : round;
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_add(&box->data[i], step, pe.right);
    before = round, same = box;
}

static void by_set(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_set(&box->data[i], round, pe.right);
}

static void by_swap_nbi(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_swap_nbi(&old[i], &box->data[i], round, pe.right);
}

static void fill(uint64_t round)
{
    shmem_quiet(); /* the last nonblocking use of these words */
    for (int i = 0; i < MP_WORDS; i++) words[i] = round;
}

static void by_put_nbi(struct mp_box *box, uint64_t round)
{
    fill(round);
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_put_nbi(&box->data[i], &words[i], 1, pe.right);
}

/* After a long put, which keeps an adapter busy. */
static void by_long_put(struct mp_box *box, uint64_t round)
{
    fill(round);
    shmem_uint64_put_nbi(there, bulk, LONG_WORDS, pe.right);
    shmem_uint64_put_nbi(box->data, words, MP_WORDS, pe.right);
}

/* Some atomics are issued between the fence and the flag, too. */
static void by_set_twice(struct mp_box *box, uint64_t round)
{
    by_set(box, round);
    shmem_fence();
    shmem_uint64_atomic_set(&box->line0[0], round, pe.right);
}

static void flag_by_p(struct mp_box *box, uint64_t round) { shmem_uint64_p(&box->flag, round, pe.right); }

static void flag_by_set(struct mp_box *box, uint64_t round) { shmem_uint64_atomic_set(&box->flag, round, pe.right); }

static void flag_by_swap(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put_signal(&box->line1[0], &round, 1, &signal_word, round, SHMEM_SIGNAL_SET, pe.right);
    shmem_fence();
    shmem_uint64_atomic_swap(&box->flag, round, pe.right);
}

#define WAY(write, flag)                                           \
    static void write##_##flag(struct mp_box *box, uint64_t round) \
    {                                                              \
        write(box, round), shmem_fence(), flag(box, round);        \
    }
WAY(by_add, flag_by_p)
WAY(by_set, flag_by_p)
WAY(by_swap_nbi, flag_by_p)
WAY(by_set_twice, flag_by_p)
WAY(by_put_nbi, flag_by_set)
WAY(by_long_put, flag_by_p)
WAY(by_long_put, flag_by_set)
WAY(by_long_put, flag_by_swap)

/* Its quiet must not replace the fence. */
static void by_set_flag_by_put_nbi(struct mp_box *box, uint64_t round)
{
    static uint64_t value;
    shmem_quiet();
    value = round;
    by_set(box, round);
    shmem_fence();
    shmem_uint64_put_nbi(&box->flag, &value, 1, pe.right);
}

#define NAMED(way) \
    {              \
#way, way  \
    }
static const struct mp_way ways[] = {
    NAMED(by_add_flag_by_p),        NAMED(by_set_flag_by_p),         NAMED(by_swap_nbi_flag_by_p),
    NAMED(by_set_twice_flag_by_p),  NAMED(by_put_nbi_flag_by_set),   NAMED(by_long_put_flag_by_p),
    NAMED(by_long_put_flag_by_set), NAMED(by_long_put_flag_by_swap), NAMED(by_set_flag_by_put_nbi)};

int main(void)
{
    pe_begin();
    mp_run_all(ways, sizeof ways / sizeof *ways, pe_rounds(40), mp_run);
    return pe_end();
}

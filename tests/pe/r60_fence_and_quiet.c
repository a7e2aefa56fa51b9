/* R60: the operations that fence orders and quiet completes: stores through a pointer, blocking and nonblocking puts,
 * strided puts, atomics, puts with signal; each with each, seen from the target. */
#include "check.h"
#include "message_passing.h"

static uint64_t words[MP_WORDS];
static uint64_t other_signal;

static const uint64_t *filled(uint64_t round)
{
    shmem_quiet(); /* the last nonblocking use of these words */
    for (int i = 0; i < MP_WORDS; i++) words[i] = round;
    return words;
}

static void raise_flag(struct mp_box *box, uint64_t round) { shmem_uint64_atomic_set(&box->flag, round, pe.right); }

static void by_store(struct mp_box *box, uint64_t round)
{
    uint64_t *there = shmem_ptr(box->data, pe.right);
    for (int i = 0; i < MP_WORDS; i++) {
        if (there != NULL) ((volatile uint64_t *)there)[i] = round;
        if (there == NULL) shmem_uint64_p(&box->data[i], round, pe.right);
    }
}

static void by_p(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_p(&box->data[i], round, pe.right);
}

static void by_put(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put(box->data, filled(round), MP_WORDS, pe.right);
}

static void by_put_nbi(struct mp_box *box, uint64_t round)
{
    shmem_putmem_nbi(box->data, filled(round), sizeof words, pe.right);
}

static void by_iput(struct mp_box *box, uint64_t round)
{
    filled(round);
    shmem_uint64_iput(box->data, words, 2, 1, MP_WORDS / 2, pe.right);
    shmem_ibput64(box->data + 1, words, 2, 1, 1, MP_WORDS / 2, pe.right);
}

static void by_set(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_set(&box->data[i], round, pe.right);
}

static void by_fetch_nbi(struct mp_box *box, uint64_t round)
{
    static uint64_t old[MP_WORDS];
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_swap_nbi(&old[i], &box->data[i], round, pe.right);
}

static void by_put_signal(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put_signal(box->data, filled(round), MP_WORDS, &other_signal, round, SHMEM_SIGNAL_SET, pe.right);
}

static void by_put_signal_nbi(struct mp_box *box, uint64_t round)
{
    shmem_putmem_signal_nbi(box->data, filled(round), sizeof words, &other_signal, 1, SHMEM_SIGNAL_ADD, pe.right);
}

#define WAY(write)                                                \
    static void write##_fence(struct mp_box *box, uint64_t round) \
    {                                                             \
        write(box, round), shmem_fence(), raise_flag(box, round); \
    }                                                             \
    static void write##_quiet(struct mp_box *box, uint64_t round) \
    {                                                             \
        write(box, round), shmem_quiet(), raise_flag(box, round); \
    }
WAY(by_store)
WAY(by_p)
WAY(by_put)
WAY(by_put_nbi)
WAY(by_iput)
WAY(by_set)
WAY(by_fetch_nbi)
WAY(by_put_signal)
WAY(by_put_signal_nbi)

#define BOTH(write) \
    {#write ", fence", write##_fence}, { #write ", quiet", write##_quiet }
static const struct mp_way ways[] = {BOTH(by_store),     BOTH(by_p),          BOTH(by_put),
                                     BOTH(by_put_nbi),   BOTH(by_iput),       BOTH(by_set),
                                     BOTH(by_fetch_nbi), BOTH(by_put_signal), BOTH(by_put_signal_nbi)};

int main(void)
{
    pe_begin();
    mp_run_all(ways, sizeof ways / sizeof *ways, pe_rounds(800), mp_run);
    return pe_end();
}

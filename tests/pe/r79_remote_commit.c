/* R79, R80: after remote_commit every operation that was locally complete before is visible to all PEs: blocking ones
 * are on return, nonblocking ones after local_complete. A third PE gets the data (MP-rc). */
#include "check.h"
#include "message_passing.h"

static uint64_t words[MP_WORDS], other_signal;

static const uint64_t *filled(uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) words[i] = round;
    return words;
}

static void commit_and_flag(struct mp_box *box, uint64_t round)
{
    shmem_remote_commit();
    shmem_uint64_atomic_set(&box->flag, round, (pe.me + 2) % pe.n);
}

static void p(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_p(&box->data[i], round, pe.right);
    commit_and_flag(box, round);
}

static void put(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put(box->data, filled(round), MP_WORDS, pe.right);
    commit_and_flag(box, round);
}

static void iput(struct mp_box *box, uint64_t round)
{
    shmem_uint64_iput(box->data, filled(round), 1, 1, MP_WORDS, pe.right);
    commit_and_flag(box, round);
}

static void atomic_add(struct mp_box *box, uint64_t round)
{
    uint64_t before = shmem_uint64_g(&box->data[0], pe.right); /* of the last way; only this PE writes there */
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_add(&box->data[i], round - before, pe.right);
    commit_and_flag(box, round);
}

static void atomic_set(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) shmem_uint64_atomic_set(&box->data[i], round, pe.right);
    commit_and_flag(box, round);
}

static void put_signal(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put_signal(box->data, filled(round), MP_WORDS, &other_signal, 1, SHMEM_SIGNAL_ADD, pe.right);
    commit_and_flag(box, round);
}

static void put_nbi_local_complete(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put_nbi(box->data, filled(round), MP_WORDS, pe.right);
    shmem_local_complete();
    commit_and_flag(box, round);
}

/* Without local_complete only the quiet after it makes a nonblocking put visible; the commit does no harm. */
static void put_nbi_commit_quiet(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put_nbi(box->data, filled(round), MP_WORDS, pe.right);
    shmem_remote_commit();
    shmem_quiet();
    commit_and_flag(box, round);
}

int main(void)
{
    static const struct mp_way ways[] = {{"p", p},
                                         {"put", put},
                                         {"iput", iput},
                                         {"atomic_add", atomic_add},
                                         {"atomic_set", atomic_set},
                                         {"put_signal", put_signal},
                                         {"put_nbi, local_complete", put_nbi_local_complete},
                                         {"put_nbi, commit, quiet", put_nbi_commit_quiet}};
    pe_begin();
    mp_run_all(ways, sizeof ways / sizeof *ways, pe_rounds(3000), mp_run_third_party);
    return pe_end();
}

/* R68: after quiet the context's operations and the caller's own stores are visible to every PE: also to a third PE
 * that gets the data from the second, or from the caller's own memory. */
#include "check.h"
#include "message_passing.h"

static uint64_t words[MP_WORDS], x, line[8], y;

static const uint64_t *filled(uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) words[i] = round;
    return words;
}

static void flag_third(struct mp_box *box, uint64_t round)
{
    shmem_uint64_atomic_set(&box->flag, round, (pe.me + 2) % pe.n);
}

static void put(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put(box->data, filled(round), MP_WORDS, pe.right);
    shmem_quiet();
    flag_third(box, round);
}

static void put_nbi(struct mp_box *box, uint64_t round)
{
    shmem_uint64_put_nbi(box->data, filled(round), MP_WORDS, pe.right);
    shmem_quiet();
    flag_third(box, round);
}

/* Own memory by plain stores; the PE that receives the flag reads it from here: its left neighbour is this PE. */
static void store(struct mp_box *box, uint64_t round)
{
    for (int i = 0; i < MP_WORDS; i++) box->data[i] = round;
    shmem_quiet();
    shmem_uint64_p(&box->flag, round, pe.right);
}

/* Both set their word and read the other's with quiet between: one of them sees it, wherever the words are. */
static void store_buffering(uint64_t round, uint64_t *random)
{
    static uint64_t seen;
    if (pe.me < 2) {
        jitter(random);
        shmem_uint64_p(pe.me == 0 ? &x : &y, round, pe.me == 0 ? 0 : pe.n - 1);
        shmem_quiet();
        seen = pe.me == 0 ? shmem_uint64_g(&y, pe.n - 1) : shmem_uint64_g(&x, 0);
    }
    shmem_barrier_all();
    if (pe.me == 0 && pe.n > 1)
        if (seen < round && shmem_uint64_g(&seen, 1) < round)
            check_fail(__FILE__, __LINE__, "in round %" PRIu64 " neither PE saw what the other had written", round);
    shmem_barrier_all();
}

static void run_own_store(const struct mp_way *way, struct mp_box *box, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        uint64_t round = ++mp_round, seen[MP_WORDS];
        way->send(box, round);
        shmem_uint64_wait_until(&box->flag, SHMEM_CMP_EQ, round);
        shmem_uint64_get(seen, box->data, MP_WORDS, pe.left);
        mp_check(way->name, seen, round);
        shmem_uint64_atomic_set(&box->ack, round, pe.left);
        shmem_uint64_wait_until(&box->ack, SHMEM_CMP_EQ, round);
    }
    shmem_barrier_all();
}

int main(void)
{
    static const struct mp_way third[] = {{"put, quiet", put}, {"put_nbi, quiet", put_nbi}};
    static const struct mp_way own[] = {{"store, quiet", store}};
    pe_begin();
    pe_seed();
    uint64_t random = pe.seed + (uint64_t)pe.me;
    (void)line;
    mp_run_all(third, 2, pe_rounds(8000), mp_run_third_party);
    mp_run_all(own, 1, pe_rounds(8000), run_own_store);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(20000); round++) store_buffering(round, &random);
    return pe_end();
}

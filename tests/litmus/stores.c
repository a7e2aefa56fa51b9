/* tests/litmus/stores.c: plain stores that others see, and the guarantees of barriers. See shapes.h. */
#include "shapes.h"

static void fill(const struct lit_round *r, uint64_t *payload)
{
    for (size_t i = 0; i < r->n_words; i++) payload[i] = r->number;
}

/* P0: store own d; order; set f=1@1. P1: wait f; get d@0. */
void lit_store_then_flag(struct lit_round *r, int me)
{
    if (me == 0) {
        fill(r, r->d);
        lit_order(r, r->shape->order);
        lit_raise(r, r->f, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_at(r, r->d, 0);
    }
}

/* P0: store own d; all: sync_all. P1: get d@0. */
void lit_store_sync(struct lit_round *r, int me)
{
    lit_delay();
    if (me == 0) fill(r, r->d);
    if (r->dice >> 20 & 1)
        shmem_sync_all();
    else
        (void)shmem_team_sync(SHMEM_TEAM_WORLD);
    if (me == 1) r->seen[0] = lit_stale_at(r, r->d, 0);
}

/* P0: *ptr(d, 1) = 1; fence; set f=1@1. P1: wait f; load d. */
void lit_store_alias(struct lit_round *r, int me)
{
    if (me == 0) {
        fill(r, shmem_ptr(r->d, 1));
        lit_order(r, r->shape->order);
        lit_raise(r, r->f, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

/* All: put d to every PE; barrier_all; load own d. The barrier completes the default context only; PEs put equal
 * values, so that their order does not matter. */
void lit_barrier_local(struct lit_round *r, int me)
{
    (void)me;
    struct lit_round on_default = *r;
    on_default.ctx = SHMEM_CTX_DEFAULT;
    for (int pe = 0; pe < shmem_n_pes(); pe++) lit_write_payload(&on_default, r->d, pe);
    shmem_barrier_all();
    r->seen[0] = lit_stale_here(r, r->d);
}

static uint64_t stale_anywhere(const struct lit_round *r)
{
    uint64_t stale = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++) stale += lit_stale_at(r, r->d, pe);
    return stale;
}

/* All: put d to the next PE; barrier_all; get d from every PE. */
void lit_barrier_remote(struct lit_round *r, int me)
{
    struct lit_round on_default = *r;
    on_default.ctx = SHMEM_CTX_DEFAULT;
    lit_write_payload(&on_default, r->d, (me + 1) % shmem_n_pes());
    shmem_barrier_all();
    r->seen[0] = stale_anywhere(r);
}

/* All: put d to the next PE, on any context; team_remote_commit; get d from every PE. */
void lit_rc_team(struct lit_round *r, int me)
{
    lit_write_payload(r, r->d, (me + 1) % shmem_n_pes());
    lit_delay();
    shmem_team_remote_commit(SHMEM_TEAM_WORLD);
    r->seen[0] = stale_anywhere(r);
}

/* tests/litmus/mp.c: message passing: payload d, then flag f. See shapes.h. */
#include "shapes.h"

#include <string.h>

bool lit_stale(uint64_t (*seen)[LIT_REGISTERS])
{
    for (int pe = 0; pe < LIT_MAX_PES; pe++)
        if (seen[pe][0] != 0) return true;
    return false;
}

/* P0: put d@1; order; set f=1@reader. Reader: wait f; load d, or get it from PE 1. */
void lit_mp(struct lit_round *r, int me)
{
    int reader = r->shape->reader;
    if (me == 0) {
        lit_write_payload(r, r->d, 1);
        lit_order(r, r->shape->order);
        lit_raise(r, r->f, reader);
    } else if (me == reader) {
        lit_await(r, r->f);
        r->seen[0] = reader == 1 ? lit_stale_here(r, r->d) : lit_stale_at(r, r->d, 1);
    }
}

/* P0: context a: put d@1; fence a; context b: set f=1@1. P1: wait f; load d. */
void lit_mp_two_contexts(struct lit_round *r, int me)
{
    if (me == 0) {
        lit_write_payload(r, r->d, 1);
        lit_order(r, FENCE);
        shmem_ctx_uint64_atomic_set(r->other_ctx, r->f, 1, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

/* Blocking or not, to set the signal or to add to it. */
static void put_signal(const struct lit_round *r, uint64_t *dest, uint64_t *signal, int pe)
{
    int op = r->dice >> 20 & 1 ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    if (r->dice >> 21 & 1)
        shmem_ctx_uint64_put_signal_nbi(r->ctx, dest, lit_source(r), r->n_words, signal, 1, op, pe);
    else if (r->ctx == SHMEM_CTX_DEFAULT)
        shmem_putmem_signal(dest, lit_source(r), r->n_words * sizeof *dest, signal, 1, op, pe);
    else
        shmem_ctx_uint64_put_signal(r->ctx, dest, lit_source(r), r->n_words, signal, 1, op, pe);
}

/* P0: put_signal d, f @1. P1: wait f; load d. */
void lit_mp_signal(struct lit_round *r, int me)
{
    if (me == 0) {
        lit_delay();
        put_signal(r, r->d, r->f, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

/* P0: put e@1; put_signal d, f @1. P1: wait f; load e. */
void lit_mp_signal_other(struct lit_round *r, int me)
{
    if (me == 0) {
        lit_write_payload(r, r->e, 1);
        put_signal(r, r->d, r->f, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->e);
    }
}

/* P0: put d@1; fence; set f=1@1. P1: wait f; set g=1@2. P2: wait g; get d@1. */
void lit_wrc_wait(struct lit_round *r, int me)
{
    if (me == 0) {
        lit_write_payload(r, r->d, 1);
        lit_order(r, FENCE);
        lit_raise(r, r->f, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        lit_raise(r, r->g, 2);
    } else if (me == 2) {
        lit_await(r, r->g);
        r->seen[0] = lit_stale_at(r, r->d, 1);
    }
}

/* P0: put_nbi s@1; local_complete; overwrite s; quiet; set f@1. P1: wait f; load: the overwritten value. */
void lit_lc_source(struct lit_round *r, int me)
{
    if (me == 0) {
        uint64_t *source = lit_source(r);
        shmem_ctx_uint64_put_nbi(r->ctx, r->d, source, r->n_words, 1);
        lit_order(r, LOCAL_COMPLETE);
        memset(source, 0xee, r->n_words * sizeof *source);
        lit_order(r, QUIET);
        lit_raise(r, r->f, 1);
    } else if (me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

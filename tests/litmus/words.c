/* tests/litmus/words.c: words x and y that several PEs race for, by atomics. See shapes.h. */
#include "shapes.h"

/* P0: set x=1@T; quiet; set y=1@T. P1: i=fetch y@T; order; j=fetch x@T. */
void lit_mp_fetch(struct lit_round *r, int me)
{
    if (me == 0) {
        lit_set(r, r->x, 1, r->t);
        lit_order(r, QUIET);
        lit_set(r, r->y, 1, r->t);
    } else if (me == 1) {
        lit_delay();
        r->seen[0] = lit_fetch(r, r->y, r->t);
        lit_order(r, r->shape->order);
        r->seen[1] = lit_fetch(r, r->x, r->t);
    }
}

/* P0: p x=1@T; quiet; p y=1@T. P1: i=read y@T; j=read x@T, both by g, or by the forms of get. */
void lit_mp_read(struct lit_round *r, int me)
{
    if (me == 0) {
        shmem_ctx_uint64_p(r->ctx, r->x, 1, r->t);
        lit_order(r, QUIET);
        shmem_ctx_uint64_p(r->ctx, r->y, 1, r->t);
    } else if (me == 1) {
        lit_delay();
        r->seen[0] = r->shape->read(r, r->y);
        r->seen[1] = r->shape->read(r, r->x);
    }
}

uint64_t lit_read_g(const struct lit_round *r, const uint64_t *word)
{
    return r->ctx == SHMEM_CTX_DEFAULT ? shmem_uint64_g(word, r->t) : shmem_ctx_uint64_g(r->ctx, word, r->t);
}

/* One word, or a block that it begins: longer data takes another path. */
uint64_t lit_read_get(const struct lit_round *r, const uint64_t *word)
{
    uint64_t got[LIT_BLOCK_WORDS] = {0};
    switch (r->dice >> 24 & 3) {
    case 0: shmem_getmem(got, word, sizeof *got, r->t); break;
    case 1: shmem_ctx_uint64_get(r->ctx, got, word, 1, r->t); break;
    case 2: shmem_ctx_uint64_iget(r->ctx, got, word, 1, 1, 1, r->t); break;
    default: shmem_ctx_uint64_get(r->ctx, got, word, LIT_BLOCK_WORDS, r->t); break;
    }
    return *got;
}

uint64_t lit_read_nbi(const struct lit_round *r, const uint64_t *word)
{
    uint64_t got = 0;
    shmem_ctx_uint64_get_nbi(r->ctx, &got, word, 1, r->t);
    if (r->dice >> 24 & 1)
        shmem_ctx_local_complete(r->ctx);
    else
        shmem_ctx_quiet(r->ctx);
    return got;
}

/* P0: set x=1@T. P1: i=fetch x@T; order; j=fetch x@T. */
void lit_corr(struct lit_round *r, int me)
{
    if (me > 1) return;
    lit_delay();
    if (me == 0) {
        lit_set(r, r->x, 1, r->t);
    } else {
        r->seen[0] = lit_fetch(r, r->x, r->t);
        lit_order(r, r->shape->order);
        r->seen[1] = lit_fetch(r, r->x, r->t);
    }
}

bool lit_one_then_zero(uint64_t (*seen)[LIT_REGISTERS]) { return seen[1][0] == 1 && seen[1][1] == 0; }

/* P0: a=fetch_add x,1@T; order; b=fetch_add x,1@T. */
void lit_fadd(struct lit_round *r, int me)
{
    if (me != 0) return;
    r->seen[0] = lit_fetch_add(r, r->x, 1, r->t);
    lit_order(r, r->shape->order);
    r->seen[1] = lit_fetch_add(r, r->x, 1, r->t);
}

bool lit_not_growing(uint64_t (*seen)[LIT_REGISTERS]) { return seen[0][1] <= seen[0][0]; }

/* P0: set x=1@T; order; i=fetch y@U. P1: set y=1@U; order; j=fetch x@T. */
void lit_sb(struct lit_round *r, int me)
{
    if (me > 1) return;
    lit_delay();
    lit_set(r, me == 0 ? r->x : r->y, 1, me == 0 ? r->t : r->u);
    lit_order(r, r->shape->order);
    r->seen[0] = lit_fetch(r, me == 0 ? r->y : r->x, me == 0 ? r->u : r->t);
}

/* P0: p x=1@1; order; i=test own y. P1: p y=1@0; order; j=test own x. */
void lit_sb_p(struct lit_round *r, int me)
{
    if (me > 1) return;
    lit_delay();
    shmem_ctx_uint64_p(r->ctx, me == 0 ? r->x : r->y, 1, 1 - me);
    lit_order(r, r->shape->order);
    r->seen[0] = (uint64_t)shmem_uint64_test(me == 0 ? r->y : r->x, SHMEM_CMP_EQ, 1);
}

bool lit_both_zero(uint64_t (*seen)[LIT_REGISTERS]) { return seen[0][0] == 0 && seen[1][0] == 0; }

/* P0: i=fetch x@T; set y=1@T. P1: j=fetch y@T; set x=1@T. */
void lit_lb(struct lit_round *r, int me)
{
    if (me > 1) return;
    lit_delay();
    r->seen[0] = lit_fetch(r, me == 0 ? r->x : r->y, r->t);
    lit_set(r, me == 0 ? r->y : r->x, 1, r->t);
}

bool lit_both_one(uint64_t (*seen)[LIT_REGISTERS]) { return seen[0][0] == 1 && seen[1][0] == 1; }

/* P0: set x=1@T; order; set y=2@T. P1: set y=1@T; order; set x=2@T. */
void lit_two_writes(struct lit_round *r, int me)
{
    if (me > 1) return;
    lit_delay();
    lit_set(r, me == 0 ? r->x : r->y, 1, r->t);
    lit_order(r, r->shape->order);
    lit_set(r, me == 0 ? r->y : r->x, 2, r->t);
}

void lit_fetch_both(struct lit_round *r)
{
    r->seen[0] = lit_fetch(r, r->x, r->t);
    r->seen[1] = lit_fetch(r, r->y, r->t);
}

bool lit_words_both_one(uint64_t (*seen)[LIT_REGISTERS]) { return seen[0][0] == 1 && seen[0][1] == 1; }

/* P0: put x=1@T; order; i=get x@T; also with set and fetch. The register is whether the old value was returned. */
void lit_read_own(struct lit_round *r, int me)
{
    if (me != 0) return;
    uint64_t one = 1, got = 0;
    switch (r->dice >> 24 & 3) {
    case 0:
        shmem_ctx_putmem(r->ctx, r->x, &one, sizeof one, r->t);
        lit_order(r, r->shape->order);
        shmem_ctx_getmem(r->ctx, &got, r->x, sizeof got, r->t);
        break;
    case 1:
        shmem_ctx_uint64_p(r->ctx, r->x, 1, r->t);
        lit_order(r, r->shape->order);
        got = shmem_ctx_uint64_g(r->ctx, r->x, r->t);
        break;
    case 2:
        shmem_ctx_uint64_iput(r->ctx, r->x, &one, 1, 1, 1, r->t);
        lit_order(r, r->shape->order);
        shmem_ctx_uint64_iget(r->ctx, &got, r->x, 1, 1, 1, r->t);
        break;
    default:
        lit_set(r, r->x, 1, r->t);
        lit_order(r, r->shape->order);
        got = lit_fetch(r, r->x, r->t);
        break;
    }
    r->seen[0] = got != 1;
}

/* P0: set x=1@T. P1: i=fetch x@T; if i, set y=1@T. P2: j=fetch y@T; k=fetch x@T. */
void lit_wrc_fetch(struct lit_round *r, int me)
{
    if (me > 2) return;
    lit_delay();
    if (me == 0) {
        lit_set(r, r->x, 1, r->t);
    } else if (me == 1) {
        r->seen[0] = lit_fetch(r, r->x, r->t);
        if (r->seen[0] == 1) lit_set(r, r->y, 1, r->t);
    } else {
        r->seen[0] = lit_fetch(r, r->y, r->t);
        r->seen[1] = lit_fetch(r, r->x, r->t);
    }
}

bool lit_wrc_broken(uint64_t (*seen)[LIT_REGISTERS]) { return seen[1][0] == 1 && seen[2][0] == 1 && seen[2][1] == 0; }

/* P0: set x=1@T. P1: set y=1@U. P2: i=fetch x; j=fetch y. P3: k=fetch y; l=fetch x. */
void lit_iriw(struct lit_round *r, int me)
{
    if (me > 3) return;
    lit_delay();
    if (me == 0) {
        lit_set(r, r->x, 1, r->t);
    } else if (me == 1) {
        lit_set(r, r->y, 1, r->u);
    } else {
        r->seen[0] = me == 2 ? lit_fetch(r, r->x, r->t) : lit_fetch(r, r->y, r->u);
        r->seen[1] = me == 2 ? lit_fetch(r, r->y, r->u) : lit_fetch(r, r->x, r->t);
    }
}

bool lit_readers_disagree(uint64_t (*seen)[LIT_REGISTERS])
{
    return seen[2][0] == 1 && seen[2][1] == 0 && seen[3][0] == 1 && seen[3][1] == 0;
}

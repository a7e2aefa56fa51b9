/* tests/litmus/device_shapes.c: ordering shapes with kernels as actors: their steps, outcomes and list. Verdicts are
 * those that docs/device.md promises, which are NVSHMEM's and more. See device.h. */
#include "device.h"

#include <string.h>

/* ---- message passing: payload d, then flag f. The first register is how many words were old. ---- */

LIT_OWN bool is_stale(uint64_t (*seen)[LIT_SEEN])
{
    for (int pe = 0; pe < LIT_PES; pe++)
        if (seen[pe][0] != 0) return true;
    return false;
}

/* P0: put d@1; order; set f=1@reader. Reader: wait f; load d, or get it from PE 1. */
LIT_OWN void mp(struct lit_round *r)
{
    int reader = r->shape->reader;
    if (r->me == 0) {
        lit_put_payload(r, r->d, 1);
        lit_order(r, r->shape->order);
        lit_raise(r, r->f, reader);
    } else if (r->me == reader) {
        lit_await(r, r->f);
        r->seen[0] = reader == 1 ? lit_stale_here(r, r->d) : lit_stale_at(r, r->d, 1);
    }
}

/* P0: put_signal d, f @1. P1: wait f; load d. */
LIT_OWN void mp_signal(struct lit_round *r)
{
    if (r->me == 0) {
        lit_put_signal(r, r->d, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

/* P0: put e@1; put_signal d, f @1. P1: wait f; load e. */
LIT_OWN void mp_signal_other(struct lit_round *r)
{
    if (r->me == 0) {
        lit_put_payload(r, r->e, 1);
        lit_put_signal(r, r->d, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->e);
    }
}

/* P0: put d@1; fence; set f=1@1. P1: wait f; fence; set g=1@2. P2: wait g; get d@1. */
LIT_OWN void wrc_wait(struct lit_round *r)
{
    if (r->me == 0) {
        lit_put_payload(r, r->d, 1);
        lit_order(r, FENCE);
        lit_raise(r, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        lit_order(r, FENCE);
        lit_raise(r, r->g, 2);
    } else if (r->me == 2) {
        lit_await(r, r->g);
        r->seen[0] = lit_stale_at(r, r->d, 1);
    }
}

/* P0: put s@1, or put_nbi and quiet; overwrite s; quiet; set f@1. P1: wait f; load: the overwritten value. */
LIT_OWN void source_reused(struct lit_round *r)
{
    if (r->me == 0) {
        lit_put_payload(r, r->d, 1);
        if (r->shape->is_nbi) lit_order(r, QUIET);
        isthmus_dev_meet(r->scope);
        if (lit_leads(r)) memset(r->memory->source, 0, r->n_words * sizeof *r->memory->source);
        lit_order(r, QUIET);
        lit_raise(r, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

/* ---- plain stores ---- */

/* P0: store own d; order; set f=1@1. P1: wait f; get d@0. */
LIT_OWN void store_then_flag(struct lit_round *r)
{
    if (r->me == 0) {
        lit_fill(r, r->d);
        lit_order(r, r->shape->order);
        lit_raise(r, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_at(r, r->d, 0);
    }
}

/* P0: *ptr(d, 1) = 1; fence; set f=1@1. P1: wait f; load d. */
LIT_OWN void store_alias(struct lit_round *r)
{
    if (r->me == 0) {
        lit_fill(r, (uint64_t *)nvshmem_ptr(r->d, 1));
        lit_order(r, FENCE);
        lit_raise(r, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

LIT_OWN void sync_or_barrier(const struct lit_round *r, bool is_barrier)
{
    if (r->scope != ISTHMUS_THREAD && is_barrier)
        nvshmemx_barrier_all_block();
    else if (r->scope != ISTHMUS_THREAD)
        nvshmemx_sync_all_block();
    else if (is_barrier)
        nvshmem_barrier_all();
    else
        nvshmem_sync_all();
}

/* P0: store own d; all: sync_all. P1: get d@0. */
LIT_OWN void store_sync(struct lit_round *r)
{
    lit_delay(r);
    if (r->me == 0) lit_fill(r, r->d);
    sync_or_barrier(r, false);
    if (r->me == 1) r->seen[0] = lit_stale_at(r, r->d, 0);
}

/* All: put d to every PE; barrier_all; load own d. */
LIT_OWN void barrier_local(struct lit_round *r)
{
    for (int pe = 0; pe < r->n_pes; pe++) lit_put_payload(r, r->d, pe);
    sync_or_barrier(r, true);
    r->seen[0] = lit_stale_here(r, r->d);
}

/* All: put d to the next PE; barrier_all; get d from every PE. */
LIT_OWN void barrier_remote(struct lit_round *r)
{
    lit_put_payload(r, r->d, (r->me + 1) % r->n_pes);
    sync_or_barrier(r, true);
    for (int pe = 0; pe < r->n_pes; pe++) r->seen[0] += lit_stale_at(r, r->d, pe);
}

/* ---- words that are raced for. A register is whether the word was new. ---- */

LIT_OWN void set(struct lit_round *r, uint64_t *word, int pe) { nvshmem_uint64_atomic_set(word, lit_new(r), pe); }

LIT_OWN uint64_t is_new(const struct lit_round *r, uint64_t value) { return value >= lit_new(r); }

LIT_OWN uint64_t fetch(struct lit_round *r, const uint64_t *word, int pe)
{
    return is_new(r, nvshmem_uint64_atomic_fetch(word, pe));
}

LIT_OWN bool is_one_then_zero(uint64_t (*seen)[LIT_SEEN]) { return seen[1][0] == 1 && seen[1][1] == 0; }
LIT_OWN bool are_both_zero(uint64_t (*seen)[LIT_SEEN]) { return seen[0][0] == 0 && seen[1][0] == 0; }
LIT_OWN bool are_both_one(uint64_t (*seen)[LIT_SEEN]) { return seen[0][0] == 1 && seen[1][0] == 1; }

/* P0: set x=1@T; quiet; set y=1@T. P1: i=fetch y@T; order; j=fetch x@T. */
LIT_OWN void mp_fetch(struct lit_round *r)
{
    lit_delay(r);
    if (r->me == 0) {
        set(r, r->x, r->t);
        lit_order(r, QUIET);
        set(r, r->y, r->t);
    } else if (r->me == 1) {
        r->seen[0] = fetch(r, r->y, r->t);
        lit_order(r, r->shape->order);
        r->seen[1] = fetch(r, r->x, r->t);
    }
}

/* The same by p and g: P0: p x=1@T; fence; p y=1@T. P1: i=g y@T; order; j=g x@T. */
LIT_OWN void mp_g(struct lit_round *r)
{
    lit_delay(r);
    if (r->me == 0) {
        nvshmem_uint64_p(r->x, lit_new(r), r->t);
        lit_order(r, FENCE);
        nvshmem_uint64_p(r->y, lit_new(r), r->t);
    } else if (r->me == 1) {
        r->seen[0] = is_new(r, nvshmem_uint64_g(r->y, r->t));
        lit_order(r, r->shape->order);
        r->seen[1] = is_new(r, nvshmem_uint64_g(r->x, r->t));
    }
}

/* P0: set x=1@T. P1: i=fetch x@T; order; j=fetch x@T. */
LIT_OWN void corr(struct lit_round *r)
{
    lit_delay(r);
    if (r->me == 0) {
        set(r, r->x, r->t);
    } else if (r->me == 1) {
        r->seen[0] = fetch(r, r->x, r->t);
        lit_order(r, r->shape->order);
        r->seen[1] = fetch(r, r->x, r->t);
    }
}

/* P0: a=fetch_add x,1@T; order; b=fetch_add x,1@T. The first register: b is not larger. */
LIT_OWN void fadd(struct lit_round *r)
{
    if (r->me != 0) return;
    uint64_t a = nvshmem_uint64_atomic_fetch_add(r->x, 1, r->t);
    lit_order(r, r->shape->order);
    r->seen[0] = nvshmem_uint64_atomic_fetch_add(r->x, 1, r->t) <= a;
}

/* Both actors go on at the same time, as far as that is possible: what a store buffer holds back is gone after some
 * nanoseconds. */
LIT_OWN void start_together(struct lit_round *r)
{
    nvshmem_uint64_p(r->g, lit_new(r), 1 - r->me);
    lit_await_at_least(r->g, lit_new(r));
}

/* P0: set x=1@T; order; i=fetch y@U. P1: set y=1@U; order; j=fetch x@T. */
LIT_OWN void sb(struct lit_round *r)
{
    if (r->me > 1) return;
    start_together(r);
    set(r, r->me == 0 ? r->x : r->y, r->me == 0 ? r->t : r->u);
    lit_order(r, r->shape->order);
    r->seen[0] = fetch(r, r->me == 0 ? r->y : r->x, r->me == 0 ? r->u : r->t);
}

/* P0: p x=1@1; order; i=test own y. P1: p y=1@0; order; j=test own x. */
LIT_OWN void sb_p(struct lit_round *r)
{
    if (r->me > 1) return;
    uint64_t *own = r->me == 0 ? r->y : r->x;
    start_together(r);
    nvshmem_uint64_p(r->me == 0 ? r->x : r->y, lit_new(r), 1 - r->me);
    lit_order(r, r->shape->order);
    r->seen[0] = lit_is_at_least(own, lit_new(r));
}

/* P0: i=fetch x@T; set y=1@T. P1: j=fetch y@T; set x=1@T. */
LIT_OWN void lb(struct lit_round *r)
{
    if (r->me > 1) return;
    lit_delay(r);
    r->seen[0] = fetch(r, r->me == 0 ? r->x : r->y, r->t);
    set(r, r->me == 0 ? r->y : r->x, r->t);
}

/* P0: set x=1@T; order; set y=2@T. P1: set y=1@T; order; set x=2@T. */
LIT_OWN void two_writes(struct lit_round *r)
{
    if (r->me > 1) return;
    lit_delay(r);
    nvshmem_uint64_atomic_set(r->me == 0 ? r->x : r->y, lit_new(r), r->t);
    lit_order(r, r->shape->order);
    nvshmem_uint64_atomic_set(r->me == 0 ? r->y : r->x, lit_new(r) + 1, r->t);
}

/* The registers: whether the word is 1. */
LIT_OWN void fetch_both(struct lit_round *r)
{
    r->seen[0] = nvshmem_uint64_atomic_fetch(r->x, r->t) == lit_new(r);
    r->seen[1] = nvshmem_uint64_atomic_fetch(r->y, r->t) == lit_new(r);
}

LIT_OWN bool are_words_both_one(uint64_t (*seen)[LIT_SEEN]) { return seen[0][0] == 1 && seen[0][1] == 1; }

/* P0: put x=1@T; order; i=get x@T; also with p and g, set and fetch. The first register: the old value was read. */
LIT_OWN void read_own(struct lit_round *r)
{
    uint64_t got = 0;
    if (r->me != 0) return;
    switch (r->dice >> 24 & 3) {
    case 0:
        *r->memory->source = lit_new(r);
        nvshmem_putmem(r->x, r->memory->source, sizeof got, r->t);
        lit_order(r, r->shape->order);
        nvshmem_getmem(r->memory->copy, r->x, sizeof got, r->t);
        got = *r->memory->copy;
        break;
    case 1:
        nvshmem_uint64_p(r->x, lit_new(r), r->t);
        lit_order(r, r->shape->order);
        got = nvshmem_uint64_g(r->x, r->t);
        break;
    default:
        set(r, r->x, r->t);
        lit_order(r, r->shape->order);
        got = nvshmem_uint64_atomic_fetch(r->x, r->t);
        break;
    }
    r->seen[0] = !is_new(r, got);
}

/* ---- the list: device_shapes.def ---- */

#define PAYLOAD(steps) .act = STEPS(steps), .outcome = STEPS(is_stale), .has_payload = true
#define WORDS(steps, outcome_) .act = STEPS(steps), .outcome = STEPS(outcome_), .targets = SAME_TARGET
#define SHAPE(name_, requirement_, n_actors_, verdict_, ...)                                                       \
    {                                                                                                              \
        .name = (name_), .requirement = #requirement_, .n_actors = (n_actors_), .verdict = (verdict_), __VA_ARGS__ \
    }

#define STEPS(function) (function)
TABLE struct lit_shape shapes[] = {
#include "device_shapes.def"
};

LIT_SHARED const struct lit_shape *lit_shape_of(size_t i) { return &shapes[i]; }

#ifdef __CUDACC__ /* addresses of kernels' functions are the GPU's */
#undef STEPS
#define STEPS(function) nullptr
static const struct lit_shape names[] = {
#include "device_shapes.def"
};
static const struct lit_shape *lit_names_of(size_t i) { return &names[i]; }
static size_t lit_n_shapes(void) { return sizeof names / sizeof names[0]; }
#else
size_t lit_n_shapes(void) { return sizeof shapes / sizeof shapes[0]; }
#endif

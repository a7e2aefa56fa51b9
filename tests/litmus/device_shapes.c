/* tests/litmus/device_shapes.c: ordering shapes with kernels as actors: their steps, outcomes and list. Verdicts are
 * those that docs/device.md promises, which are NVSHMEM's and more. See device.h. */
#include "device.h"

#include <string.h>

/* ---- message passing: payload d, then flag f. The first register is how many words were old. ---- */

static bool is_stale(uint64_t (*seen)[LIT_SEEN])
{
    for (int pe = 0; pe < LIT_PES; pe++)
        if (seen[pe][0] != 0) return true;
    return false;
}

/* P0: put d@1; order; set f=1@reader. Reader: wait f; load d, or get it from PE 1. */
static void mp(struct lit_round *r)
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
static void mp_signal(struct lit_round *r)
{
    if (r->me == 0) {
        lit_put_signal(r, r->d, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

/* P0: put e@1; put_signal d, f @1. P1: wait f; load e. */
static void mp_signal_other(struct lit_round *r)
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
static void wrc_wait(struct lit_round *r)
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
static void source_reused(struct lit_round *r)
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
static void store_then_flag(struct lit_round *r)
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
static void store_alias(struct lit_round *r)
{
    if (r->me == 0) {
        lit_fill(r, nvshmem_ptr(r->d, 1));
        lit_order(r, FENCE);
        lit_raise(r, r->f, 1);
    } else if (r->me == 1) {
        lit_await(r, r->f);
        r->seen[0] = lit_stale_here(r, r->d);
    }
}

static void sync_or_barrier(const struct lit_round *r, bool is_barrier)
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
static void store_sync(struct lit_round *r)
{
    lit_delay(r);
    if (r->me == 0) lit_fill(r, r->d);
    sync_or_barrier(r, false);
    if (r->me == 1) r->seen[0] = lit_stale_at(r, r->d, 0);
}

/* All: put d to every PE; barrier_all; load own d. */
static void barrier_local(struct lit_round *r)
{
    for (int pe = 0; pe < r->n_pes; pe++) lit_put_payload(r, r->d, pe);
    sync_or_barrier(r, true);
    r->seen[0] = lit_stale_here(r, r->d);
}

/* All: put d to the next PE; barrier_all; get d from every PE. */
static void barrier_remote(struct lit_round *r)
{
    lit_put_payload(r, r->d, (r->me + 1) % r->n_pes);
    sync_or_barrier(r, true);
    for (int pe = 0; pe < r->n_pes; pe++) r->seen[0] += lit_stale_at(r, r->d, pe);
}

/* ---- words that are raced for. A register is whether the word was new. ---- */

static void set(struct lit_round *r, uint64_t *word, int pe) { nvshmem_uint64_atomic_set(word, lit_new(r), pe); }

static uint64_t is_new(const struct lit_round *r, uint64_t value) { return value >= lit_new(r); }

static uint64_t fetch(struct lit_round *r, const uint64_t *word, int pe)
{
    return is_new(r, nvshmem_uint64_atomic_fetch(word, pe));
}

static bool is_one_then_zero(uint64_t (*seen)[LIT_SEEN]) { return seen[1][0] == 1 && seen[1][1] == 0; }
static bool are_both_zero(uint64_t (*seen)[LIT_SEEN]) { return seen[0][0] == 0 && seen[1][0] == 0; }
static bool are_both_one(uint64_t (*seen)[LIT_SEEN]) { return seen[0][0] == 1 && seen[1][0] == 1; }

/* P0: set x=1@T; quiet; set y=1@T. P1: i=fetch y@T; order; j=fetch x@T. */
static void mp_fetch(struct lit_round *r)
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
static void mp_g(struct lit_round *r)
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
static void corr(struct lit_round *r)
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
static void fadd(struct lit_round *r)
{
    if (r->me != 0) return;
    uint64_t a = nvshmem_uint64_atomic_fetch_add(r->x, 1, r->t);
    lit_order(r, r->shape->order);
    r->seen[0] = nvshmem_uint64_atomic_fetch_add(r->x, 1, r->t) <= a;
}

/* Both actors go on at the same time, as far as that is possible: what a store buffer holds back is gone after some
 * nanoseconds. */
static void start_together(struct lit_round *r)
{
    nvshmem_uint64_p(r->g, lit_new(r), 1 - r->me);
    lit_await_at_least(r->g, lit_new(r));
}

/* P0: set x=1@T; order; i=fetch y@U. P1: set y=1@U; order; j=fetch x@T. */
static void sb(struct lit_round *r)
{
    if (r->me > 1) return;
    start_together(r);
    set(r, r->me == 0 ? r->x : r->y, r->me == 0 ? r->t : r->u);
    lit_order(r, r->shape->order);
    r->seen[0] = fetch(r, r->me == 0 ? r->y : r->x, r->me == 0 ? r->u : r->t);
}

/* P0: p x=1@1; order; i=test own y. P1: p y=1@0; order; j=test own x. */
static void sb_p(struct lit_round *r)
{
    if (r->me > 1) return;
    uint64_t *own = r->me == 0 ? r->y : r->x;
    start_together(r);
    nvshmem_uint64_p(r->me == 0 ? r->x : r->y, lit_new(r), 1 - r->me);
    lit_order(r, r->shape->order);
    r->seen[0] = lit_is_host() ? (uint64_t)shmem_uint64_test(own, SHMEM_CMP_GE, lit_new(r))
                               : (uint64_t)nvshmem_uint64_test(own, NVSHMEM_CMP_GE, lit_new(r));
}

/* P0: i=fetch x@T; set y=1@T. P1: j=fetch y@T; set x=1@T. */
static void lb(struct lit_round *r)
{
    if (r->me > 1) return;
    lit_delay(r);
    r->seen[0] = fetch(r, r->me == 0 ? r->x : r->y, r->t);
    set(r, r->me == 0 ? r->y : r->x, r->t);
}

/* P0: set x=1@T; order; set y=2@T. P1: set y=1@T; order; set x=2@T. */
static void two_writes(struct lit_round *r)
{
    if (r->me > 1) return;
    lit_delay(r);
    nvshmem_uint64_atomic_set(r->me == 0 ? r->x : r->y, lit_new(r), r->t);
    lit_order(r, r->shape->order);
    nvshmem_uint64_atomic_set(r->me == 0 ? r->y : r->x, lit_new(r) + 1, r->t);
}

/* The registers: whether the word is 1. */
static void fetch_both(struct lit_round *r)
{
    r->seen[0] = nvshmem_uint64_atomic_fetch(r->x, r->t) == lit_new(r);
    r->seen[1] = nvshmem_uint64_atomic_fetch(r->y, r->t) == lit_new(r);
}

static bool are_words_both_one(uint64_t (*seen)[LIT_SEEN]) { return seen[0][0] == 1 && seen[0][1] == 1; }

/* P0: put x=1@T; order; i=get x@T; also with p and g, set and fetch. The first register: the old value was read. */
static void read_own(struct lit_round *r)
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

/* ---- the list: name, requirement, actors, verdict, steps ---- */

#define PAYLOAD(steps) .act = (steps), .outcome = is_stale, .has_payload = true
#define WORDS(steps, outcome_) .act = (steps), .outcome = (outcome_), .targets = SAME_TARGET
#define SHAPE(name_, requirement_, n_actors_, verdict_, ...)                                                       \
    {                                                                                                              \
        .name = (name_), .requirement = #requirement_, .n_actors = (n_actors_), .verdict = (verdict_), __VA_ARGS__ \
    }

const struct lit_shape lit_shapes[] = {
    SHAPE("MP-fence", R64, 2, FORBIDDEN, PAYLOAD(mp), .order = FENCE, .reader = 1),
    SHAPE("MP-nofence", R61, 2, ALLOWED, PAYLOAD(mp), .order = NONE, .reader = 1),
    SHAPE("MP-quiet", R68, 2, FORBIDDEN, PAYLOAD(mp), .order = QUIET, .reader = 1),
    SHAPE("MP-nbi-fence", R60, 2, FORBIDDEN, PAYLOAD(mp), .order = FENCE, .reader = 1, .is_nbi = true),
    SHAPE("MP-nbi-quiet", R63, 2, FORBIDDEN, PAYLOAD(mp), .order = QUIET, .reader = 1, .is_nbi = true),
    SHAPE("MP-third-party", R98, 3, FORBIDDEN, PAYLOAD(mp), .order = QUIET, .reader = 2),
    SHAPE("MP-fence-two-targets", R64, 3, ALLOWED, PAYLOAD(mp), .order = FENCE, .reader = 2),
    SHAPE("MP-signal", R143, 2, FORBIDDEN, PAYLOAD(mp_signal)),
    SHAPE("MP-signal-other", R143, 2, ALLOWED, PAYLOAD(mp_signal_other)),
    SHAPE("WRC-wait", R98, 3, FORBIDDEN, PAYLOAD(wrc_wait)),
    SHAPE("SOURCE", R61, 2, FORBIDDEN, PAYLOAD(source_reused)),
    SHAPE("SOURCE-nbi-quiet", R63, 2, FORBIDDEN, PAYLOAD(source_reused), .is_nbi = true),
    SHAPE("STORE-quiet", R68, 2, FORBIDDEN, PAYLOAD(store_then_flag), .order = QUIET),
    SHAPE("STORE-alias-fence", R67, 2, FORBIDDEN, PAYLOAD(store_alias), .needs_alias = true),
    SHAPE("STORE-sync", R72, 2, FORBIDDEN, PAYLOAD(store_sync), .is_of_team = true),
    SHAPE("BARRIER-local", R100, 2, FORBIDDEN, PAYLOAD(barrier_local), .is_of_team = true),
    SHAPE("BARRIER-remote", R99, 2, FORBIDDEN, PAYLOAD(barrier_remote), .is_of_team = true),
    SHAPE("MP-fetch", R76, 2, ALLOWED, WORDS(mp_fetch, is_one_then_zero)),
    SHAPE("MP-fetch-fence", R65, 2, FORBIDDEN, WORDS(mp_fetch, is_one_then_zero), .order = FENCE),
    SHAPE("MP-g", R62, 2, ALLOWED, WORDS(mp_g, is_one_then_zero)),
    SHAPE("MP-g-fence", R65, 2, FORBIDDEN, WORDS(mp_g, is_one_then_zero), .order = FENCE),
    SHAPE("CoRR-fence", R65, 2, FORBIDDEN, WORDS(corr, is_one_then_zero), .order = FENCE),
    SHAPE("FADD-fence", R65, 1, FORBIDDEN, WORDS(fadd, is_stale), .order = FENCE),
    SHAPE("SB", R96, 2, ALLOWED, WORDS(sb, are_both_zero)),
    SHAPE("SB-fence-same-target", R66, 2, FORBIDDEN, WORDS(sb, are_both_zero), .order = FENCE, .is_rare = true),
    SHAPE("SB-quiet", R68, 2, FORBIDDEN, .act = sb, .outcome = are_both_zero, .order = QUIET, .is_rare = true),
    SHAPE("SB-p-quiet", R68, 2, FORBIDDEN, .act = sb_p, .outcome = are_both_zero, .order = QUIET, .is_rare = true),
    SHAPE("SB-p-fence", R64, 2, ALLOWED, .act = sb_p, .outcome = are_both_zero, .order = FENCE, .is_rare = true),
    SHAPE("LB", R62, 2, ALLOWED, WORDS(lb, are_both_one)),
    SHAPE("2+2W", R61, 2, ALLOWED, WORDS(two_writes, are_words_both_one), .after = fetch_both),
    SHAPE("2+2W-fence", R64, 2, FORBIDDEN, WORDS(two_writes, are_words_both_one), .order = FENCE, .after = fetch_both),
    SHAPE("READ-OWN-fence", R66, 1, FORBIDDEN, WORDS(read_own, is_stale), .order = FENCE),
    SHAPE("READ-OWN-quiet", R68, 1, FORBIDDEN, WORDS(read_own, is_stale), .order = QUIET),
};
const size_t lit_n_shapes = sizeof lit_shapes / sizeof lit_shapes[0];

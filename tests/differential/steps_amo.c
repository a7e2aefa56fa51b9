/* Atomics of four and eight bytes on a word that the actor has for itself, and additions that several PEs make to
 * one. */
#include "differential.h"

enum amo { SET, SWAP, FETCH, COMPARE_SWAP, ADD, FETCH_ADD, INC, FETCH_INC, AND, FETCH_OR, XOR, FETCH_XOR, AMOS };

static bool fetches(int way)
{
    return way == SWAP || way == FETCH || way == COMPARE_SWAP || way == FETCH_ADD || way == FETCH_INC ||
           way == FETCH_OR || way == FETCH_XOR;
}

static uint64_t result_of(const struct step *s, uint64_t old)
{
    switch (s->way) {
    case SET:
    case SWAP: return s->value;
    case FETCH: return old;
    case COMPARE_SWAP: return old == s->cond ? s->value : old;
    case ADD:
    case FETCH_ADD: return old + s->value;
    case INC:
    case FETCH_INC: return old + 1;
    case AND: return old & s->value;
    case FETCH_OR: return old | s->value;
    default: return old ^ s->value;
    }
}

static uint64_t word_of(const struct step *s)
{
    uint64_t word = 0;
    memcpy(&word, model[s->target] + s->dest, s->size);
    return word;
}

static bool plan_amo(struct step *s)
{
    pick_context(s);
    s->size = chance(2) ? 4 : 8;
    s->way = (int)pick(AMOS);
    s->dest = any_offset(s->size, s->size);
    if (!claim_write(s->target, s->dest, s->size, s->actor)) return false;
    uint64_t mask = s->size == 4 ? UINT32_MAX : UINT64_MAX;
    s->value = random_next(&common) & mask;
    s->cond = chance(2) ? word_of(s) : random_next(&common) & mask;
    return true;
}

static uint64_t amo64(const struct step *s, shmem_ctx_t ctx, int to)
{
    uint64_t *at = (uint64_t *)(void *)(memory + s->dest), value = s->value;
    switch (s->way) {
    case SET: shmem_ctx_uint64_atomic_set(ctx, at, value, to); return 0;
    case SWAP: return shmem_ctx_uint64_atomic_swap(ctx, at, value, to);
    case FETCH: return shmem_ctx_uint64_atomic_fetch(ctx, at, to);
    case COMPARE_SWAP: return shmem_ctx_uint64_atomic_compare_swap(ctx, at, s->cond, value, to);
    case ADD: shmem_ctx_uint64_atomic_add(ctx, at, value, to); return 0;
    case FETCH_ADD: return shmem_ctx_uint64_atomic_fetch_add(ctx, at, value, to);
    case INC: shmem_ctx_uint64_atomic_inc(ctx, at, to); return 0;
    case FETCH_INC: return shmem_ctx_uint64_atomic_fetch_inc(ctx, at, to);
    case AND: shmem_ctx_uint64_atomic_and(ctx, at, value, to); return 0;
    case FETCH_OR: return shmem_ctx_uint64_atomic_fetch_or(ctx, at, value, to);
    case XOR: shmem_ctx_uint64_atomic_xor(ctx, at, value, to); return 0;
    default: return shmem_ctx_uint64_atomic_fetch_xor(ctx, at, value, to);
    }
}

static uint32_t amo32(const struct step *s, shmem_ctx_t ctx, int to)
{
    uint32_t *at = (uint32_t *)(void *)(memory + s->dest), value = (uint32_t)s->value;
    switch (s->way) {
    case SET: shmem_ctx_uint32_atomic_set(ctx, at, value, to); return 0;
    case SWAP: return shmem_ctx_uint32_atomic_swap(ctx, at, value, to);
    case FETCH: return shmem_ctx_uint32_atomic_fetch(ctx, at, to);
    case COMPARE_SWAP: return shmem_ctx_uint32_atomic_compare_swap(ctx, at, (uint32_t)s->cond, value, to);
    case ADD: shmem_ctx_uint32_atomic_add(ctx, at, value, to); return 0;
    case FETCH_ADD: return shmem_ctx_uint32_atomic_fetch_add(ctx, at, value, to);
    case INC: shmem_ctx_uint32_atomic_inc(ctx, at, to); return 0;
    case FETCH_INC: return shmem_ctx_uint32_atomic_fetch_inc(ctx, at, to);
    case AND: shmem_ctx_uint32_atomic_and(ctx, at, value, to); return 0;
    case FETCH_OR: return shmem_ctx_uint32_atomic_fetch_or(ctx, at, value, to);
    case XOR: shmem_ctx_uint32_atomic_xor(ctx, at, value, to); return 0;
    default: return shmem_ctx_uint32_atomic_fetch_xor(ctx, at, value, to);
    }
}

static void run_amo(struct step *s)
{
    uint64_t seen = s->size == 8 ? amo64(s, context_of(s), target_number(s))
                                 : amo32(s, context_of(s), target_number(s));
    if (fetches(s->way)) compare_value(s, "fetched value", seen, word_of(s));
}

static void apply_amo(struct step *s)
{
    uint64_t result = result_of(s, word_of(s));
    memcpy(model[s->target] + s->dest, &result, s->size);
}

static bool plan_add(struct step *s)
{
    pick_context(s);
    s->size = sizeof(uint64_t);
    s->way = ADD;
    s->value = random_next(&common);
    s->dest = pick(8) * SLOT_BYTES; /* few, so that PEs collide there */
    return claim_add(s->target, s->dest);
}

static void run_add(struct step *s) { amo64(s, context_of(s), target_number(s)); }

const struct step_kind amo_steps[] = {
    {"amo", 16, plan_amo, run_amo, apply_amo},
    {"add", 8, plan_add, run_add, apply_amo},
    {NULL, 0, NULL, NULL, NULL},
};

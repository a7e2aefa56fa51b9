/* Puts and gets: dense, strided, in blocks, one element, blocking and not, on any context; plain stores. */
#include "differential.h"

static size_t any_size(void) { return (size_t)1 << pick(5); } /* 1 to 16 bytes */

/* Mostly small, now and then large. */
static size_t any_nelems(size_t size) { return pick(chance(8) ? MEMORY_BYTES / 4 / size : 40); }

static void put(const struct step *s, shmem_ctx_t ctx, int to)
{
    void *dest = memory + s->dest;
    const void *source = memory + s->source;
    switch (s->size * 2 + (size_t)(s->way % 2)) {
    case 2: shmem_ctx_put8(ctx, dest, source, s->nelems, to); break;
    case 3: shmem_ctx_put8_nbi(ctx, dest, source, s->nelems, to); break;
    case 4: shmem_ctx_put16(ctx, dest, source, s->nelems, to); break;
    case 5: shmem_ctx_put16_nbi(ctx, dest, source, s->nelems, to); break;
    case 8: shmem_ctx_put32(ctx, dest, source, s->nelems, to); break;
    case 9: shmem_ctx_put32_nbi(ctx, dest, source, s->nelems, to); break;
    case 16: shmem_ctx_put64(ctx, dest, source, s->nelems, to); break;
    case 17: shmem_ctx_put64_nbi(ctx, dest, source, s->nelems, to); break;
    case 32: shmem_ctx_put128(ctx, dest, source, s->nelems, to); break;
    default: shmem_ctx_put128_nbi(ctx, dest, source, s->nelems, to); break;
    }
}

static void get(const struct step *s, shmem_ctx_t ctx, int from)
{
    void *dest = memory + s->dest;
    const void *source = memory + s->source;
    switch (s->size * 2 + (size_t)(s->way % 2)) {
    case 2: shmem_ctx_get8(ctx, dest, source, s->nelems, from); break;
    case 3: shmem_ctx_get8_nbi(ctx, dest, source, s->nelems, from); break;
    case 4: shmem_ctx_get16(ctx, dest, source, s->nelems, from); break;
    case 5: shmem_ctx_get16_nbi(ctx, dest, source, s->nelems, from); break;
    case 8: shmem_ctx_get32(ctx, dest, source, s->nelems, from); break;
    case 9: shmem_ctx_get32_nbi(ctx, dest, source, s->nelems, from); break;
    case 16: shmem_ctx_get64(ctx, dest, source, s->nelems, from); break;
    case 17: shmem_ctx_get64_nbi(ctx, dest, source, s->nelems, from); break;
    case 32: shmem_ctx_get128(ctx, dest, source, s->nelems, from); break;
    default: shmem_ctx_get128_nbi(ctx, dest, source, s->nelems, from); break;
    }
}

/* The actor's source and the target's dest, or for a get the other way round. */
static bool claim_both(struct step *s, size_t dest_bytes, size_t source_bytes, bool is_get)
{
    s->dest = any_offset(dest_bytes, s->size);
    s->source = any_offset(source_bytes, s->size);
    int dest_pe = is_get ? s->actor : s->target, source_pe = is_get ? s->target : s->actor;
    bool overlap = dest_pe == source_pe && s->dest < s->source + source_bytes && s->source < s->dest + dest_bytes;
    return !overlap && claim_read(source_pe, s->source, source_bytes, s->actor) &&
           claim_write(dest_pe, s->dest, dest_bytes, s->actor);
}

static bool plan_dense(struct step *s, bool is_get)
{
    pick_context(s);
    s->size = any_size();
    s->nelems = any_nelems(s->size);
    s->way = (int)pick(2);
    return claim_both(s, s->nelems * s->size, s->nelems * s->size, is_get);
}

static bool plan_put(struct step *s) { return plan_dense(s, false); }
static bool plan_get(struct step *s) { return plan_dense(s, true); }
static void run_put(struct step *s) { put(s, context_of(s), target_number(s)); }

static void run_get(struct step *s)
{
    get(s, context_of(s), target_number(s));
    if (s->way % 2 == 0 && memcmp(memory + s->dest, model[s->target] + s->source, s->nelems * s->size) != 0)
        mismatch(s, "%zu elements of %zu bytes came otherwise", s->nelems, s->size);
}

static void apply_put(struct step *s)
{
    memcpy(model[s->target] + s->dest, model[s->actor] + s->source, s->nelems * s->size);
}

static void apply_get(struct step *s)
{
    memcpy(model[s->actor] + s->dest, model[s->target] + s->source, s->nelems * s->size);
}

/* Blocks of bsize elements, dst and sst elements apart; elements apart when bsize is 1. */
static bool plan_strided(struct step *s, bool is_get)
{
    pick_context(s);
    s->size = any_size();
    s->bsize = chance(2) ? 1 : 1 + pick(6);
    s->nelems = 1 + pick(20);
    s->dst = s->bsize + pick(4);
    s->sst = s->bsize + pick(4);
    size_t between = s->nelems - 1;
    return claim_both(s, (between * s->dst + s->bsize) * s->size, (between * s->sst + s->bsize) * s->size, is_get);
}

static bool plan_iput(struct step *s) { return plan_strided(s, false); }
static bool plan_iget(struct step *s) { return plan_strided(s, true); }

static void run_iput(struct step *s)
{
    void *dest = memory + s->dest;
    const void *source = memory + s->source;
    shmem_ctx_t ctx = context_of(s);
    ptrdiff_t dst = (ptrdiff_t)s->dst, sst = (ptrdiff_t)s->sst;
    int to = target_number(s);
    bool single = s->bsize == 1;
    switch (s->size) {
    case 1: shmem_ctx_ibput8(ctx, dest, source, dst, sst, s->bsize, s->nelems, to); break;
    case 2: shmem_ctx_ibput16(ctx, dest, source, dst, sst, s->bsize, s->nelems, to); break;
    case 4:
        if (single)
            shmem_ctx_iput32(ctx, dest, source, dst, sst, s->nelems, to);
        else
            shmem_ctx_ibput32(ctx, dest, source, dst, sst, s->bsize, s->nelems, to);
        break;
    case 8:
        if (single)
            shmem_ctx_iput64(ctx, dest, source, dst, sst, s->nelems, to);
        else
            shmem_ctx_ibput64(ctx, dest, source, dst, sst, s->bsize, s->nelems, to);
        break;
    default: shmem_ctx_ibput128(ctx, dest, source, dst, sst, s->bsize, s->nelems, to);
    }
}

static void run_iget(struct step *s)
{
    void *dest = memory + s->dest;
    const void *source = memory + s->source;
    shmem_ctx_t ctx = context_of(s);
    ptrdiff_t dst = (ptrdiff_t)s->dst, sst = (ptrdiff_t)s->sst;
    int from = target_number(s);
    bool single = s->bsize == 1;
    switch (s->size) {
    case 1: shmem_ctx_ibget8(ctx, dest, source, dst, sst, s->bsize, s->nelems, from); break;
    case 2: shmem_ctx_ibget16(ctx, dest, source, dst, sst, s->bsize, s->nelems, from); break;
    case 4:
        if (single)
            shmem_ctx_iget32(ctx, dest, source, dst, sst, s->nelems, from);
        else
            shmem_ctx_ibget32(ctx, dest, source, dst, sst, s->bsize, s->nelems, from);
        break;
    case 8:
        if (single)
            shmem_ctx_iget64(ctx, dest, source, dst, sst, s->nelems, from);
        else
            shmem_ctx_ibget64(ctx, dest, source, dst, sst, s->bsize, s->nelems, from);
        break;
    default: shmem_ctx_ibget128(ctx, dest, source, dst, sst, s->bsize, s->nelems, from);
    }
}

static void apply_strided(struct step *s, unsigned char *dest, const unsigned char *source)
{
    for (size_t i = 0; i < s->nelems; i++)
        memcpy(dest + s->dest + i * s->dst * s->size, source + s->source + i * s->sst * s->size, s->bsize * s->size);
}

static void apply_iput(struct step *s) { apply_strided(s, model[s->target], model[s->actor]); }
static void apply_iget(struct step *s) { apply_strided(s, model[s->actor], model[s->target]); }

/* One element; way: put or get. */
static bool plan_element(struct step *s)
{
    pick_context(s);
    s->size = (size_t)1 << pick(4);
    s->way = (int)pick(2);
    s->value = random_next(&common);
    s->dest = any_offset(s->size, s->size);
    return s->way == 0 ? claim_write(s->target, s->dest, s->size, s->actor)
                       : claim_read(s->target, s->dest, s->size, s->actor);
}

static void run_element(struct step *s)
{
    void *at = memory + s->dest;
    shmem_ctx_t ctx = context_of(s);
    int to = target_number(s);
    uint64_t seen = 0, expected = 0;
    memcpy(&expected, model[s->target] + s->dest, s->size);
    switch (s->size * 2 + (size_t)s->way) {
    case 2: shmem_ctx_uint8_p(ctx, at, (uint8_t)s->value, to); return;
    case 4: shmem_ctx_uint16_p(ctx, at, (uint16_t)s->value, to); return;
    case 8: shmem_ctx_uint32_p(ctx, at, (uint32_t)s->value, to); return;
    case 16: shmem_ctx_uint64_p(ctx, at, s->value, to); return;
    case 3: seen = shmem_ctx_uint8_g(ctx, at, to); break;
    case 5: seen = shmem_ctx_uint16_g(ctx, at, to); break;
    case 9: seen = shmem_ctx_uint32_g(ctx, at, to); break;
    default: seen = shmem_ctx_uint64_g(ctx, at, to);
    }
    compare_value(s, "element", seen, expected);
}

static void apply_element(struct step *s)
{
    if (s->way == 0) memcpy(model[s->target] + s->dest, &s->value, s->size);
}

/* The actor fills a part of its own memory by plain stores. */
static bool plan_store(struct step *s)
{
    s->nelems = 1 + pick(500);
    s->value = random_next(&common);
    s->dest = any_offset(s->nelems, 1);
    if (!claim_write(s->actor, s->dest, s->nelems, s->actor)) return false;
    claims_hand_over(s->actor, s->dest, s->nelems, s->actor);
    return true;
}

static void fill(struct step *s, unsigned char *at)
{
    uint64_t state = s->value;
    for (size_t i = 0; i < s->nelems; i++) at[s->dest + i] = (unsigned char)random_next(&state);
}

static void run_store(struct step *s) { fill(s, memory); }
static void apply_store(struct step *s) { fill(s, model[s->actor]); }

const struct step_kind rma_steps[] = {
    {"put", 10, plan_put, run_put, apply_put},
    {"get", 10, plan_get, run_get, apply_get},
    {"iput", 6, plan_iput, run_iput, apply_iput},
    {"iget", 6, plan_iget, run_iget, apply_iget},
    {"element", 8, plan_element, run_element, apply_element},
    {"store", 8, plan_store, run_store, apply_store},
    {NULL, 0, NULL, NULL, NULL},
};

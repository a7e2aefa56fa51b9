/* core/check/shadow.c: see shadow.h. A bucket is locked by a word of its own, with the atomics of the transport that
 * reaches the PE; all accesses use the context of this folder. */
#include "core/check/shadow.h"

#include "core/check/check_priv.h"
#include "core/ops/amo.h"
#include "core/ops/order.h"
#include "core/sync/spin.h"
#include "core/team/internal_area.h"
#include "core/transport/registry.h"

#include <string.h>

static const char routine[] = "ISTHMUS_CHECK"; /* for messages of transports */

struct shadow {
    uint64_t counts[IST_SHADOW_COUNTS];
    uint64_t padding[62];
    struct ist_shadow_bucket buckets[IST_SHADOW_BUCKETS];
};
_Static_assert(sizeof(struct shadow) <= IST_SHADOW_BYTES, "the internal area has room for the table");

static struct shadow *shadow(void) { return ist_internal_shadow(); }

static size_t bucket_of(uint64_t line)
{
    return (size_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) % IST_SHADOW_BUCKETS;
}

static uint64_t update(uint32_t op, uint64_t *word, uint64_t operand, uint32_t flags, int world_pe)
{
    struct ist_amo amo = {.op = op, .size = sizeof *word, .operand = operand};
    return ist_amo(ist_check_ctx, word, amo, flags, world_pe, routine);
}

struct ist_shadow_spot ist_shadow_next_spot(uintptr_t *addr, size_t *length_bytes)
{
    uint64_t place = ist_check_place((const void *)*addr);
    size_t first = place % IST_SHADOW_LINE_BYTES, n = IST_SHADOW_LINE_BYTES - first;
    if (n > *length_bytes) n = *length_bytes;
    uint64_t bytes = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    *addr += n;
    *length_bytes -= n;
    return (struct ist_shadow_spot){.line = place / IST_SHADOW_LINE_BYTES + 1, .mask = bytes << first};
}

void ist_shadow_take(int world_pe, uint64_t line, struct ist_shadow_bucket *out)
{
    struct ist_shadow_bucket *bucket = &shadow()->buckets[bucket_of(line)];
    struct ist_spin spin = {0};
    while (update(ISTHMUS_AMO_SWAP, &bucket->lock, 1, ISTHMUS_AMO_FETCHING, world_pe) != 0) ist_spin_once(&spin);
    ist_get(ist_check_ctx, out, bucket, sizeof *bucket, world_pe, routine);
}

void ist_shadow_give(int world_pe, uint64_t line, const struct ist_shadow_bucket *bucket, bool is_changed)
{
    struct ist_shadow_bucket *there = &shadow()->buckets[bucket_of(line)];
    if (is_changed) {
        ist_put(ist_check_ctx, there->entries, bucket->entries, sizeof bucket->entries, world_pe, routine);
        ist_quiet(ist_check_ctx, routine);
    }
    (void)update(ISTHMUS_AMO_SET, &there->lock, 0, 0, world_pe);
    ist_quiet(ist_check_ctx, routine);
}

/* Free ones are older than all, flags younger than all accesses. */
static uint64_t age_of(const struct ist_shadow_entry *entry)
{
    if (entry->line == 0) return 0;
    return entry->state == IST_SHADOW_ACCESS ? entry->time_ns : entry->time_ns | UINT64_C(1) << 63;
}

struct ist_shadow_entry *ist_shadow_room(struct ist_shadow_bucket *bucket)
{
    struct ist_shadow_entry *oldest = &bucket->entries[0];
    for (int i = 1; i < IST_SHADOW_WAYS; i++)
        if (age_of(&bucket->entries[i]) < age_of(oldest)) oldest = &bucket->entries[i];
    return oldest;
}

void ist_shadow_count_up(int world_pe, enum ist_shadow_count which)
{
    (void)update(ISTHMUS_AMO_ADD, &shadow()->counts[which], 1, 0, world_pe);
    ist_quiet(ist_check_ctx, routine);
}

uint64_t ist_shadow_count_here(enum ist_shadow_count which)
{
    return ist_load_acquire(&shadow()->counts[which]); /* pairs with the locked add of the PE that counts */
}

void ist_shadow_drop(enum ist_shadow_state state)
{
    for (size_t i = 0; i < IST_SHADOW_BUCKETS; i++)
        for (int way = 0; way < IST_SHADOW_WAYS; way++) {
            const struct ist_shadow_entry *seen = &shadow()->buckets[i].entries[way];
            uint64_t line = ist_load_relaxed(&seen->line); /* a first check, which the bucket's copy confirms */
            if (line == 0 || ist_load_relaxed(&seen->state) != (uint8_t)state) continue;
            struct ist_shadow_bucket bucket;
            ist_shadow_take(ist_team_world.my_pe, line, &bucket);
            bool is_found = bucket.entries[way].line == line && bucket.entries[way].state == (uint8_t)state;
            if (is_found) bucket.entries[way].line = 0;
            ist_shadow_give(ist_team_world.my_pe, line, &bucket, is_found);
        }
}

uint64_t ist_shadow_host(void)
{
    const unsigned char *bytes = (const unsigned char *)&ist_registry.host;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof ist_registry.host; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

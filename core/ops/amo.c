/* core/ops/amo.c: atomics beyond the inline path. See amo.h. */
#include "core/ops/amo.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/base/recorder.h"
#include "core/ops/commit.h"
#include "core/ops/region.h"
#include "core/ops/target.h"
#include "core/transport/choose.h"
#include "core/transport/memory.h"

/* One operation on the far word, by the transport's own function, or by the emulation where it has none. */
struct execution {
    ist_ctx *ctx;
    const char *routine;
    const struct ist_target *to;
    struct ist_channel *channel;
};

static isthmus_amo_fn function_of(const struct ist_channel *channel, uint32_t op, size_t size, uint32_t flags)
{
    return channel->amo[op][isthmus_log2_(size)][flags];
}

IST_INLINE void amo_by(const struct execution *e, isthmus_amo_fn fn, uint64_t offset_bytes, const struct ist_amo *amo,
                       void *fetched)
{
    ist_ctx *ctx = e->ctx;
    uint32_t transport = e->to->segment->atomics;
    isthmus_status status;
    ist_mark_written(ctx, e->to->peer, transport);
    for (;;) {
        ist_ctx_enter(ctx, transport);
        status = fn(e->channel->chan, e->to->peer->paths[transport], e->to->extent->rmem, offset_bytes, amo->operand,
                    amo->compare, fetched);
        ist_ctx_leave(ctx, transport);
        if (status != ISTHMUS_ERR_AGAIN) break;
        ist_make_room(ctx, transport, e->channel);
    }
    if (status != ISTHMUS_OK) ist_die(e->routine, status);
}

/* ---- operations that a transport lacks ----
 * Every operation is a compare and swap that is repeated until it succeeds, and an operation on a narrow operand is one
 * on the wider word that it lies in: the same agent executes it, so that it excludes all others on the location. */

static uint64_t low_bits(size_t size) { return size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1; }

static uint64_t result_of(const struct ist_amo *amo, uint64_t old)
{
    switch (amo->op) {
    case ISTHMUS_AMO_SET:
    case ISTHMUS_AMO_SWAP: return amo->operand;
    case ISTHMUS_AMO_COMPARE_SWAP: return old == (amo->compare & low_bits(amo->size)) ? amo->operand : old;
    case ISTHMUS_AMO_ADD: return old + amo->operand;
    case ISTHMUS_AMO_AND: return old & amo->operand;
    case ISTHMUS_AMO_OR: return old | amo->operand;
    case ISTHMUS_AMO_XOR: return old ^ amo->operand;
    default: return old;
    }
}

/* The narrowest word, as wide as the operand at least, that the transport compares and swaps; 0: none. */
static uint32_t emulating_size(const struct ist_channel *channel, size_t size)
{
    for (uint32_t wide = size < 4 ? 4 : (uint32_t)size; wide <= 8; wide *= 2)
        if (function_of(channel, ISTHMUS_AMO_COMPARE_SWAP, wide, ISTHMUS_AMO_FETCHING) != NULL) return wide;
    return 0;
}

static IST_COLD uint64_t amo_emulated(const struct execution *e, const struct ist_amo *amo)
{
    uint32_t wide = emulating_size(e->channel, amo->size);
    if (wide == 0)
        ist_die(e->routine, ist_fail(ISTHMUS_ERR_UNSUPPORTED, "transport %s does not execute this atomic on %u bits",
                                     ist_registry.list[e->to->segment->atomics].name, 8 * amo->size));
    isthmus_amo_fn swap = function_of(e->channel, ISTHMUS_AMO_COMPARE_SWAP, wide, ISTHMUS_AMO_FETCHING);
    uint64_t offset_bytes = e->to->offset_bytes / wide * wide, seen = 0;
    unsigned shift = 8 * (unsigned)(e->to->offset_bytes - offset_bytes);
    uint64_t mask = low_bits(amo->size) << shift;
    struct ist_amo attempt = {.op = ISTHMUS_AMO_COMPARE_SWAP, .size = wide};
    do {
        attempt.compare = seen;
        attempt.operand = (seen & ~mask) | (result_of(amo, (seen & mask) >> shift) << shift & mask);
        seen = 0;
        amo_by(e, swap, offset_bytes, &attempt, &seen);
    } while (seen != attempt.compare);
    return (seen & mask) >> shift;
}

/* ---- through a transport ---- */

IST_INLINE void amo_as_it_can(const struct execution *e, const struct ist_amo *amo, uint32_t flags, void *fetched)
{
    isthmus_amo_fn fn = function_of(e->channel, amo->op, amo->size, flags);
    if (fn != NULL) {
        /* Only requested values are fetched, except by a function that also serves non-fetching operations. */
        bool fetches = (flags & ISTHMUS_AMO_FETCHING) != 0 ||
                       fn == function_of(e->channel, amo->op, amo->size, ISTHMUS_AMO_FETCHING);
        amo_by(e, fn, e->to->offset_bytes, amo, fetches ? fetched : NULL);
        return;
    }
    uint64_t old = amo_emulated(e, amo);
    if (fetched != NULL) memcpy(fetched, &old, amo->size);
}

/* The same place as the transport of atomics has it, where another one carries puts and gets. */
static IST_COLD void go_to_atomics(struct ist_target *to, const char *routine)
{
    uint32_t id = ist_peer_segment_id(to->peer, to->segment);
    uint64_t in_segment = to->extent->offset_bytes + to->offset_bytes;
    to->extent = ist_peer_extent_of_atomics(to->peer, id, in_segment);
    if (to->extent == NULL) ist_die(routine, ISTHMUS_ERR_UNREACHABLE);
    to->offset_bytes = in_segment - to->extent->offset_bytes;
}

IST_INLINE void amo_through(const struct ist_transfer *t, struct ist_target *to, const struct ist_amo *amo,
                            uint32_t flags, void *fetched)
{
    uint32_t transport = to->segment->atomics;
    if (transport == IST_NO_TRANSPORT) {
        (void)ist_fail(ISTHMUS_ERR_UNREACHABLE,
                       "no transport executes atomics on %s memory of PE %d; place the word in host memory",
                       ist_memory_kind_name(to->segment->kind), t->pe);
        ist_die(t->routine, ISTHMUS_ERR_UNREACHABLE);
    }
    if (IST_UNLIKELY(transport != to->segment->carrier)) go_to_atomics(to, t->routine);
    const struct execution execution = {t->ctx, t->routine, to, ist_ctx_channel(t->ctx, transport, t->routine)};
    if ((flags & ISTHMUS_AMO_FETCHING) != 0) ist_region_post(); /* a loop of them is a wait, as for a lock */
    if ((flags & ISTHMUS_AMO_NBI) != 0)
        ist_note_quick_call(t->routine, t->pe);
    else
        ist_note_call(IST_NOTE_TRANSPORT, t->routine, t->pe);
    amo_as_it_can(&execution, amo, flags, fetched);
    ist_note_over();
}

/* `fetch` NULL: the value goes to no buffer of the program. */
IST_INLINE struct ist_transfer transfer_of(ist_ctx *ctx, void *dest, const struct ist_amo *amo, void *fetch, int pe,
                                           const char *routine)
{
    return (struct ist_transfer){.routine = routine,
                                 .ctx = ctx,
                                 .pe = pe,
                                 .kind = IST_TRANSFER_ATOMIC,
                                 .dest = dest,
                                 .fetch = fetch,
                                 .length_bytes = amo->size,
                                 .align_bytes = amo->size,
                                 .is_nbi = fetch != NULL,
                                 .is_fetch = amo->op == ISTHMUS_AMO_FETCH};
}

/* The one whose alias it is, or that executes atomics there. */
static uint32_t transport_of(const struct ist_target *to)
{
    return to->alias != NULL ? to->segment->carrier : to->segment->atomics;
}

uint64_t ist_amo_part(ist_ctx *ctx, void *dest, const struct ist_amo *amo, uint32_t flags, int pe, const char *routine)
{
    const struct ist_transfer t = transfer_of(ctx, dest, amo, NULL, pe, routine);
    struct ist_target to;
    uint64_t old = 0;
    ist_target_of_element(&t, &to);
    ist_target_count(&t, &to, transport_of(&to), amo->size);
    if (to.alias != NULL)
        old = isthmus_amo_cpu(amo->op, to.alias, amo->operand, amo->compare, amo->size);
    else
        amo_through(&t, &to, amo, flags, &old);
    ist_order_loads(); /* as after a locked instruction, whichever agent wrote the reply */
    if ((flags & ISTHMUS_AMO_FETCHING) != 0 && ist_check_applies()) ist_check_synchronised();
    return old;
}

uint64_t ist_amo_slow(ist_ctx *ctx, void *dest, const struct ist_amo *amo, uint32_t flags, int pe, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    return ist_amo_part(ctx, dest, amo, flags, pe, routine);
}

void ist_amo_nbi_slow(ist_ctx *ctx, void *fetch, void *dest, const struct ist_amo *amo, int pe, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    const struct ist_transfer t = transfer_of(ctx, dest, amo, fetch, pe, routine);
    struct ist_target to;
    ist_require_buffer(routine, "fetch", fetch);
    ist_target_of_element(&t, &to);
    if (to.alias != NULL || ist_is_on_device(fetch)) {
        ist_check_enter(); /* the program made one call */
        uint64_t old = ist_amo_part(ctx, dest, amo, ISTHMUS_AMO_FETCHING, pe, routine);
        ist_check_leave();
        ist_copy_here(fetch, &old, amo->size, routine);
        return;
    }
    ist_target_count(&t, &to, to.segment->atomics, amo->size);
    amo_through(&t, &to, amo, ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI, fetch);
}

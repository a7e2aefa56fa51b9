/* core/ops/amo.c: atomics beyond the inline path. See amo.h. */
#include "core/ops/amo.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/transport/choose.h"
#include "core/transport/progress.h"

IST_INLINE void amo_through(ist_ctx *ctx, const struct ist_target *to, const struct ist_amo *amo, uint32_t flags,
                            void *fetched, int pe, const char *routine)
{
    uint32_t transport = to->segment->atomics;
    if (transport == IST_NO_TRANSPORT) {
        (void)ist_fail(ISTHMUS_ERR_UNREACHABLE, "no transport executes atomics on the memory of PE %d", pe);
        ist_die(routine, ISTHMUS_ERR_UNREACHABLE);
    }
    struct ist_channel *channel = ist_ctx_channel(ctx, transport, routine);
    isthmus_amo_fn fn = channel->amo[amo->op][ist_log2_of(amo->size)][flags];
    if (fn == NULL) {
        (void)ist_fail(ISTHMUS_ERR_UNSUPPORTED, "transport %s has no such atomic of %u bits",
                       ist_registry.list[transport].name, 8 * amo->size);
        ist_die(routine, ISTHMUS_ERR_UNSUPPORTED);
    }
    /* Nothing is fetched unless asked for, except by a function that also serves where nothing is. */
    bool fetches = (flags & ISTHMUS_AMO_FETCHING) != 0 ||
                   fn == channel->amo[amo->op][ist_log2_of(amo->size)][ISTHMUS_AMO_FETCHING];
    isthmus_status status;
    ist_mark_used(ctx, transport);
    if ((flags & ISTHMUS_AMO_NBI) == 0) ist_note_call(IST_NOTE_TRANSPORT, routine, pe);
    for (;;) {
        ist_ctx_enter(ctx, transport);
        status = fn(channel->chan, to->peer->paths[transport], to->extent->rmem, to->offset_bytes, amo->operand,
                    amo->compare, fetches ? fetched : NULL);
        ist_ctx_leave(ctx, transport);
        if (status != ISTHMUS_ERR_AGAIN) break;
        ist_progress_poll();
    }
    ist_note_over();
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

IST_INLINE void find(ist_ctx *ctx, void *dest, const struct ist_amo *amo, int pe, const char *routine,
                     struct ist_target *out)
{
    if (IST_LIKELY((uintptr_t)dest % amo->size == 0 && ist_target_known(ctx, dest, amo->size, pe, out))) return;
    struct ist_access access = {routine, amo->op == ISTHMUS_AMO_FETCH ? "source" : "dest", dest, amo->size, amo->size,
                                pe};
    ist_target_find(ctx, &access, out);
}

uint64_t ist_amo_slow(ist_ctx *ctx, void *dest, const struct ist_amo *amo, uint32_t flags, int pe, const char *routine)
{
    struct ist_target to;
    find(ctx, dest, amo, pe, routine, &to);
    if (to.alias != NULL) return isthmus_amo_cpu(amo->op, to.alias, amo->operand, amo->compare, amo->size);
    uint64_t old = 0;
    amo_through(ctx, &to, amo, flags, &old, pe, routine);
    return old;
}

void ist_amo_nbi_slow(ist_ctx *ctx, void *fetch, void *dest, const struct ist_amo *amo, int pe, const char *routine)
{
    struct ist_target to;
    find(ctx, dest, amo, pe, routine, &to);
    ist_require_buffer(routine, "fetch", fetch);
    if (to.alias != NULL) {
        uint64_t old = isthmus_amo_cpu(amo->op, to.alias, amo->operand, amo->compare, amo->size);
        memcpy(fetch, &old, amo->size);
        return;
    }
    amo_through(ctx, &to, amo, ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI, fetch, pe, routine);
}

/* core/coll/wire.c: see wire.h. */
#include "core/coll/wire.h"

#include "core/base/fatal.h"
#include "core/base/recorder.h"

/* First use of the peer, memory that the table of rows does not know, or the last bytes of a segment. */
void *ist_wire_alias_slow(const struct ist_transfer *whole, enum ist_wire_use use)
{
    struct ist_transfer t = *whole;
    if (t.length_bytes == 0) return (void *)(uintptr_t)t.source; /* an empty collective: may be NULL, and is not read */
    struct ist_target target;
    t.far_name = "dest or source";
    ist_target_find(&t, &target);
    if (target.alias == NULL || target.length_bytes < t.length_bytes)
        ist_misuse(
            t.routine,
            "the memory at %p of PE %d is not mapped here, although that PE runs on this host; isthmus-info --routes "
            "prints why",
            (const void *)t.source, t.pe);
    if (use == IST_WIRE_WRITE) t.kind = IST_TRANSFER_PUT;
    if (use != IST_WIRE_FLAG) ist_target_count(&t, &target, target.segment->carrier, t.length_bytes);
    return target.alias;
}

/* If the peer is reached in several ways, ist_fence_to() completes the earlier puts; else all of them went the flag's
 * way. */
void ist_wire_flag_slow(uint64_t *flag, uint64_t value, int world_pe, const char *routine)
{
    ist_ctx *ctx = &ist_ctx_default;
    struct ist_target target;
    struct ist_transfer t = ist_transfer_put(ctx, flag, NULL, sizeof *flag, world_pe, routine);
    t.align_bytes = sizeof *flag;
    ist_target_find(&t, &target);
    uint32_t carrier = target.segment->carrier;
    struct ist_channel *channel = target.alias == NULL ? ist_ctx_channel(ctx, carrier, routine) : NULL;
    bool is_mixed = ist_peer_is_mixed(target.peer);
    isthmus_status status = ISTHMUS_ERR_UNSUPPORTED;
    ist_order_stores();
    if (is_mixed) ist_fence_to(ctx, world_pe, routine);
    if (channel != NULL) {
        ist_ctx_enter(ctx, carrier);
        status = channel->ops.notify(channel->chan, target.peer->paths[carrier], target.extent->rmem,
                                     target.offset_bytes, value);
        ist_ctx_leave(ctx, carrier);
    }
    if (status == ISTHMUS_OK && ist_load_relaxed(&ist_profile_on)) ist_profile_count_flag(world_pe, carrier);
    if (status == ISTHMUS_ERR_UNSUPPORTED) {
        if (!is_mixed) ist_fence_to(ctx, world_pe, routine);
        ist_p(ctx, flag, value, sizeof *flag, world_pe, routine);
    } else if (status != ISTHMUS_OK) {
        ist_die(routine, status);
    }
}

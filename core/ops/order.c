/* core/ops/order.c: the ordering calls where transports have been used. See order.h. */
#include "core/ops/order.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/check/check.h"
#include "core/team/team.h"
#include "core/transport/peer.h"

typedef isthmus_status (*order_fn)(isthmus_chan *chan, isthmus_path *path);

enum half { FENCE, LOCAL_COMPLETE, REMOTE_COMMIT }; /* as bits where there can be several */

IST_INLINE order_fn slot_of(const struct ist_channel *channel, enum half half)
{
    return half == FENCE            ? channel->ops.fence
           : half == LOCAL_COMPLETE ? channel->ops.local_complete
                                    : channel->ops.remote_commit;
}

/* One half on every transport in `used`. The first failure is the answer; the others get their turn all the same. */
IST_INLINE isthmus_status each_used(ist_ctx *ctx, uint32_t used, enum half half, const char *routine)
{
    isthmus_status first = ISTHMUS_OK;
    for (; used != 0; used &= used - 1) {
        uint32_t transport = (uint32_t)__builtin_ctz(used);
        struct ist_channel *channel = ist_ctx_channel(ctx, transport, routine);
        ist_ctx_enter(ctx, transport);
        isthmus_status status = slot_of(channel, half)(channel->chan, NULL);
        ist_ctx_leave(ctx, transport);
        if (first == ISTHMUS_OK) first = status;
    }
    return first;
}

/* The transports that a context has used; what else the bits say is not for them. */
IST_INLINE uint32_t transports_used(const ist_ctx *ctx) { return ist_load_relaxed(&ctx->used) & ~IST_USED_WATCHED; }

/* What may wait for other PEs: one of the halves, or both. */
IST_INLINE isthmus_status complete(ist_ctx *ctx, uint32_t halves, const char *routine)
{
    uint32_t used = transports_used(ctx);
    isthmus_status local = ISTHMUS_OK, remote = ISTHMUS_OK;
    if (used == 0) return ISTHMUS_OK;
    ist_note_call(IST_NOTE_TRANSPORT, routine, -1);
    if ((halves & 1u << LOCAL_COMPLETE) != 0) local = each_used(ctx, used, LOCAL_COMPLETE, routine);
    if ((halves & 1u << REMOTE_COMMIT) != 0) remote = each_used(ctx, used, REMOTE_COMMIT, routine);
    ist_note_over();
    return local != ISTHMUS_OK ? local : remote;
}

/* The ordering calls accept SHMEM_CTX_INVALID and do nothing; without a runtime they are a mistake. */
static bool is_usable(const ist_ctx *ctx, const char *routine)
{
    if (ctx->is_valid) return true;
    if (!ist_ctx_default.is_valid) ist_misuse(routine, "called outside shmem_init and shmem_finalize");
    return false;
}

void ist_quiet_transports(ist_ctx *ctx, const char *routine)
{
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_QUIET, routine);
    isthmus_status status = complete(ctx, 1u << LOCAL_COMPLETE | 1u << REMOTE_COMMIT, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    if (ist_check_applies()) ist_check_synchronised();
    /* With several threads the bits stay: clearing them could hide what another thread has just issued, or make another
     * thread's quiet return while this one is still at work. */
    if (ctx->thread_mode == ISTHMUS_THREAD_SHARED) return;
    uint32_t watched = ist_load_relaxed(&ctx->used) & IST_USED_WATCHED;
    ist_store_relaxed(&ctx->used, watched);
    if (ctx == &ist_ctx_default) ist_store_relaxed(&isthmus_fast_v1.default_used, ist_fast_idle | watched);
}

isthmus_status ist_drain(ist_ctx *ctx, const char *routine)
{
    if (!ctx->is_valid) return ISTHMUS_OK;
    return complete(ctx, 1u << LOCAL_COMPLETE | 1u << REMOTE_COMMIT, routine);
}

void ist_local_complete_transports(ist_ctx *ctx, const char *routine)
{
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_LOCAL_COMPLETE, routine);
    isthmus_status status = complete(ctx, 1u << LOCAL_COMPLETE, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    if (ist_check_applies()) ist_check_synchronised(); /* values that were fetched are here */
}

void ist_remote_commit_transports(ist_ctx *ctx, const char *routine)
{
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_REMOTE_COMMIT, routine);
    isthmus_status status = complete(ctx, 1u << REMOTE_COMMIT, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

/* A fence of one transport orders what went through it. Where a peer is reached in several ways, what went through a
 * transport is completed instead: nothing that is issued later, by whatever way, can arrive before it. */
void ist_fence_transports(ist_ctx *ctx, const char *routine)
{
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_FENCE, routine);
    if (ist_peers_are_mixed()) {
        ist_check_enter(); /* more than the program has asked for */
        ist_quiet_transports(ctx, routine);
        ist_check_leave();
        ist_publish_stores();
        return;
    }
    isthmus_status status = each_used(ctx, transports_used(ctx), FENCE, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

isthmus_status ist_drain_notices(void)
{
    ist_ctx *ctx = &ist_ctx_default;
    isthmus_status first = ISTHMUS_OK;
    for (int pe = 0; pe < ist_team_world.n_pes; pe++) {
        const struct ist_peer *peer = ist_peer_known(pe);
        for (uint32_t t = 0; peer != NULL && t < ist_registry.n; t++) {
            struct ist_channel *channel = &ctx->channels[t];
            if (peer->paths[t] == NULL || ist_load_acquire(&channel->chan) == NULL) continue;
            ist_note_call(IST_NOTE_TRANSPORT, "exit", pe);
            ist_ctx_enter(ctx, t);
            isthmus_status status = channel->ops.remote_commit(channel->chan, peer->paths[t]);
            ist_ctx_leave(ctx, t);
            ist_note_over();
            if (first == ISTHMUS_OK) first = status;
        }
    }
    return first;
}

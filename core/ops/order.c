/* core/ops/order.c: the ordering calls where transports have been used. See order.h. */
#include "core/ops/order.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/team/team.h"
#include "core/transport/peer.h"

typedef isthmus_status (*order_fn)(isthmus_chan *chan, isthmus_path *path);

enum half { FENCE, LOCAL_COMPLETE, REMOTE_COMMIT };

IST_INLINE order_fn slot_of(const struct ist_channel *channel, enum half half)
{
    return half == FENCE            ? channel->ops.fence
           : half == LOCAL_COMPLETE ? channel->ops.local_complete
                                    : channel->ops.remote_commit;
}

/* One half on every transport in `used`. The first failure is the answer; the others get their turn all the same. */
IST_INLINE isthmus_status try_each_used(ist_ctx *ctx, uint32_t used, enum half half, const char *routine)
{
    isthmus_status first = ISTHMUS_OK;
    for (; used != 0; used &= used - 1) {
        uint32_t transport = (uint32_t)__builtin_ctz(used);
        struct ist_channel *channel = ist_ctx_channel(ctx, transport, routine);
        ist_note_call(IST_NOTE_TRANSPORT, routine, -1);
        ist_ctx_enter(ctx, transport);
        isthmus_status status = slot_of(channel, half)(channel->chan, NULL);
        ist_ctx_leave(ctx, transport);
        ist_note_over();
        if (first == ISTHMUS_OK) first = status;
    }
    return first;
}

IST_INLINE void each_used(ist_ctx *ctx, uint32_t used, enum half half, const char *routine)
{
    isthmus_status status = try_each_used(ctx, used, half, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
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
    uint32_t used = ist_load_relaxed(&ctx->used);
    each_used(ctx, used, LOCAL_COMPLETE, routine);
    each_used(ctx, used, REMOTE_COMMIT, routine);
    /* With several threads the bits stay: clearing them could hide what another thread has just issued, or make another
     * thread's quiet return while this one is still at work. */
    if (ctx->thread_mode == ISTHMUS_THREAD_SHARED) return;
    ist_store_relaxed(&ctx->used, 0);
    if (ctx == &ist_ctx_default) ist_store_relaxed(&isthmus_fast_v1.default_used, ist_fast_idle);
}

isthmus_status ist_drain(ist_ctx *ctx, const char *routine)
{
    if (!ctx->is_valid) return ISTHMUS_OK;
    uint32_t used = ist_load_relaxed(&ctx->used);
    isthmus_status local = try_each_used(ctx, used, LOCAL_COMPLETE, routine);
    isthmus_status remote = try_each_used(ctx, used, REMOTE_COMMIT, routine);
    return local != ISTHMUS_OK ? local : remote;
}

void ist_local_complete_transports(ist_ctx *ctx, const char *routine)
{
    if (is_usable(ctx, routine)) each_used(ctx, ist_load_relaxed(&ctx->used), LOCAL_COMPLETE, routine);
}

void ist_remote_commit_transports(ist_ctx *ctx, const char *routine)
{
    if (is_usable(ctx, routine)) each_used(ctx, ist_load_relaxed(&ctx->used), REMOTE_COMMIT, routine);
}

/* A fence of one transport orders what went through it. Where a peer is reached in several ways, what went through a
 * transport is completed instead: nothing that is issued later, by whatever way, can arrive before it. */
void ist_fence_transports(ist_ctx *ctx, const char *routine)
{
    if (!is_usable(ctx, routine)) return;
    if (ist_peers_are_mixed()) {
        ist_quiet_transports(ctx, routine);
        ist_publish_stores();
        return;
    }
    each_used(ctx, ist_load_relaxed(&ctx->used), FENCE, routine);
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

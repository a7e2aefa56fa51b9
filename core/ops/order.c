/* core/ops/order.c: the ordering calls where transports have been used. See order.h. */
#include "core/ops/order.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/base/recorder.h"
#include "core/ops/checker.h"
#include "core/team/team.h"
#include "core/transport/memory.h"
#include "core/transport/peer.h"

typedef isthmus_status (*order_fn)(isthmus_chan *chan, isthmus_path *path);

enum half { FENCE, LOCAL_COMPLETE, REMOTE_COMMIT }; /* as bits where there can be several */

IST_INLINE order_fn slot_of(const struct ist_channel *channel, enum half half)
{
    return half == FENCE            ? channel->ops.fence
           : half == LOCAL_COMPLETE ? channel->ops.local_complete
                                    : channel->ops.remote_commit;
}

/* One half on every transport in `used`. Returns the first failure, after all transports have been called. */
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

/* Nonblocking gets into memory of a device are complete. As the bits of `used` theirs stays where threads share the
 * context. */
IST_INLINE void flush_gets(ist_ctx *ctx)
{
    if (ist_load_relaxed(&ctx->has_device_gets) == 0) return;
    if (ctx->thread_mode != ISTHMUS_THREAD_SHARED) ist_store_relaxed(&ctx->has_device_gets, 0);
    ist_flush_writes();
}

/* The part that may wait for other PEs: one of the halves, or both. */
IST_INLINE isthmus_status complete(ist_ctx *ctx, uint32_t used, uint32_t halves, const char *routine)
{
    isthmus_status local = ISTHMUS_OK, remote = ISTHMUS_OK;
    if (used == 0) return ISTHMUS_OK;
    ist_note_call(IST_NOTE_TRANSPORT, routine, -1);
    if ((halves & 1u << LOCAL_COMPLETE) != 0) local = each_used(ctx, used, LOCAL_COMPLETE, routine);
    if ((halves & 1u << LOCAL_COMPLETE) != 0) flush_gets(ctx);
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

/* After a quiet. With several threads the bits stay: clearing them could hide operations that another thread has just
 * issued, or make another thread's quiet return while this one is still at work. */
void ist_mark_unused(ist_ctx *ctx)
{
    ist_store_relaxed(&ctx->used_mixed, 0);
    uint32_t marks = ist_load_relaxed(&ctx->used) & IST_USED_MARKS;
    ist_store_relaxed(&ctx->used, marks);
    if (ctx == &ist_ctx_default) ist_store_relaxed(&isthmus_fast_v1.default_used, ist_fast_idle | marks);
}

static void (*complete_also)(const char *routine);

static void change_mark(uint32_t *used, bool is_set)
{
    if (is_set)
        __atomic_fetch_or(used, IST_USED_BY_KERNELS, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(used, ~IST_USED_BY_KERNELS, __ATOMIC_RELAXED);
}

void ist_quiet_also(void (*complete)(const char *routine))
{
    ist_store_release(&complete_also, complete); /* pairs with the acquire in quiet_also() */
    change_mark(&ist_ctx_default.used, complete != NULL);
    change_mark(&isthmus_fast_v1.default_used, complete != NULL);
}

static void quiet_also(const ist_ctx *ctx, const char *routine)
{
    if (ctx != &ist_ctx_default) return;
    void (*function)(const char *) = ist_load_acquire(&complete_also);
    if (function != NULL) function(routine);
}

void ist_quiet_transports(ist_ctx *ctx, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_QUIET, routine);
    isthmus_status status = complete(ctx, ist_transports_used(ctx), 1u << LOCAL_COMPLETE | 1u << REMOTE_COMMIT,
                                     routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    quiet_also(ctx, routine);
    if (ist_check_applies()) ist_check_synchronised();
    if (ctx->thread_mode != ISTHMUS_THREAD_SHARED) ist_mark_unused(ctx);
    ist_publish_stores();
}

isthmus_status ist_drain(ist_ctx *ctx, const char *routine)
{
    if (!ctx->is_valid) return ISTHMUS_OK;
    return complete(ctx, ist_transports_used(ctx), 1u << LOCAL_COMPLETE | 1u << REMOTE_COMMIT, routine);
}

void ist_local_complete_transports(ist_ctx *ctx, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_LOCAL_COMPLETE, routine);
    isthmus_status status = complete(ctx, ist_transports_used(ctx), 1u << LOCAL_COMPLETE, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    if (ist_check_applies()) ist_check_synchronised(); /* fetched values have arrived */
    ist_order_loads();                                 /* nonblocking gets and fetches are ordered before later loads */
}

void ist_remote_commit_transports(ist_ctx *ctx, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_REMOTE_COMMIT, routine);
    isthmus_status status = complete(ctx, ist_transports_used(ctx), 1u << REMOTE_COMMIT, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    ist_publish_stores();
}

/* Of the transports in use, those that may have carried operations to a peer that is reached in other ways too. A peer
 * of which that became known only after its use makes all of them count once. */
static uint32_t take_mixed(ist_ctx *ctx, uint32_t used)
{
    uint32_t n_late = ist_peers_n_mixed_late();
    if (ist_load_acquire(&ctx->n_mixed_late) !=
        n_late) { /* acquire: another thread that has seen it has left the bits */
        __atomic_fetch_or(&ctx->used_mixed, used, __ATOMIC_RELAXED);
        ist_store_release(&ctx->n_mixed_late, n_late); /* pairs with that */
    }
    uint32_t mixed = ist_load_relaxed(&ctx->used_mixed) & used;
    if (ctx->thread_mode != ISTHMUS_THREAD_SHARED) ist_store_relaxed(&ctx->used_mixed, 0); /* as in a quiet */
    return mixed;
}

/* A fence of one transport orders its own operations. Those to a peer that is reached in several ways are completed
 * instead: no later operation, on any path, can arrive before them. */
void ist_fence_transports(ist_ctx *ctx, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    if (!is_usable(ctx, routine)) return;
    if (ist_check_applies()) ist_check_order(ctx, IST_CHECK_FENCE, routine);
    uint32_t used = ist_transports_used(ctx), mixed = take_mixed(ctx, used);
    isthmus_status completed = complete(ctx, mixed, 1u << LOCAL_COMPLETE | 1u << REMOTE_COMMIT, routine);
    isthmus_status status = each_used(ctx, used & ~mixed, FENCE, routine);
    if (completed != ISTHMUS_OK) status = completed;
    if (status != ISTHMUS_OK) ist_die(routine, status);
    if (ist_peers_are_mixed()) ist_publish_stores();
}

/* One transport has carried all operations to a peer that is not mixed. */
void ist_fence_to_transports(ist_ctx *ctx, int world_pe, const char *routine)
{
    const struct ist_peer *peer = ist_peer_known(world_pe);
    if (!is_usable(ctx, routine) || peer == NULL) return;
    bool is_mixed = ist_peer_is_mixed(peer);
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t used = ist_transports_used(ctx); used != 0 && status == ISTHMUS_OK; used &= used - 1) {
        uint32_t transport = (uint32_t)__builtin_ctz(used);
        isthmus_path *path = peer->paths[transport];
        if (path == NULL) continue;
        struct ist_channel *channel = ist_ctx_channel(ctx, transport, routine);
        if (is_mixed) ist_note_call(IST_NOTE_TRANSPORT, routine, world_pe);
        ist_ctx_enter(ctx, transport);
        status = slot_of(channel, is_mixed ? LOCAL_COMPLETE : FENCE)(channel->chan, path);
        if (is_mixed && status == ISTHMUS_OK) status = slot_of(channel, REMOTE_COMMIT)(channel->chan, path);
        ist_ctx_leave(ctx, transport);
        if (is_mixed) ist_note_over();
    }
    if (status != ISTHMUS_OK) ist_die(routine, status);
    if (is_mixed) ist_publish_stores();
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

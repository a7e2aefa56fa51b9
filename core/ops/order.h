/* core/ops/order.h: fence, quiet and its two halves, for one context.
 * quiet = local_complete + remote_commit, literally. With only aliases in use no call leaves the core.
 * The remaining cost:
 *                    x86-64                ARM64
 *     fence          the compiler          dmb ish
 *     local_complete the compiler          dmb ishld
 *     remote_commit  a locked instruction  dmb ish
 *     quiet          a locked instruction  dmb ish
 * tests/codegen counts them. */
#ifndef IST_OPS_ORDER_H
#define IST_OPS_ORDER_H

#include "core/base/atomic.h"
#include "core/ctx/ctx.h"
#include "core/transport/peer.h"

/* What is left of a call that isthmus/inline.h cannot complete: the work of the transports in ctx->used, and the
 * barrier after it. `routine` is for messages. */
void ist_fence_transports(ist_ctx *ctx, const char *routine) IST_COLD;
void ist_quiet_transports(ist_ctx *ctx, const char *routine) IST_COLD;
void ist_local_complete_transports(ist_ctx *ctx, const char *routine) IST_COLD;
void ist_remote_commit_transports(ist_ctx *ctx, const char *routine) IST_COLD;

/* Orders this context's operations to one peer: later ones arrive there later. For the runtime's own: a signal, a flag.
 * `world_pe`: used before. */
void ist_fence_to_transports(ist_ctx *ctx, int world_pe, const char *routine) IST_COLD;

/* From now on a quiet of the default context calls this too, after its own operations: it waits for those that kernels
 * have requested. NULL: no longer. Such a quiet never takes the simple path. */
void ist_quiet_also(void (*complete)(const char *routine));

/* Both halves as far as possible; returns the first failure instead of ending the job. */
isthmus_status ist_drain(ist_ctx *ctx, const char *routine) IST_COLD;

/* The transports that a context has used, without the other bits. */
IST_INLINE uint32_t ist_transports_used(const ist_ctx *ctx) { return ist_load_relaxed(&ctx->used) & ~IST_USED_MARKS; }

/* All operations are complete. Where threads share the context, the bits stay. */
void ist_mark_unused(ist_ctx *ctx);

/* An operation goes through a transport: ordering calls must call it. Relaxed: the same thread, or one that the program
 * has ordered after it, reads it. */
IST_INLINE void ist_mark_used(ist_ctx *ctx, uint32_t transport)
{
    uint32_t bit = 1u << transport;
    if ((ist_load_relaxed(&ctx->used) & bit) != 0) return;
    __atomic_fetch_or(&ctx->used, bit, __ATOMIC_RELAXED);
    if (ctx == &ist_ctx_default) __atomic_fetch_or(&isthmus_fast_v1.default_used, bit, __ATOMIC_RELAXED);
}

/* The same where something is written there. */
IST_INLINE void ist_mark_written(ist_ctx *ctx, const struct ist_peer *peer, uint32_t transport)
{
    ist_mark_used(ctx, transport);
    if (IST_UNLIKELY(ist_peer_is_mixed(peer))) __atomic_fetch_or(&ctx->used_mixed, 1u << transport, __ATOMIC_RELAXED);
}

/* Likewise for operations that quiet skips (notify in isthmus/transport.h): for a PE that is about to end. */
isthmus_status ist_drain_notices(void) IST_COLD;

/* Around a call of a data slot: a lock only where threads share the context and the transport cannot. */
IST_INLINE bool ist_ctx_needs_lock(const ist_ctx *ctx, uint32_t transport)
{
    return ctx->thread_mode == ISTHMUS_THREAD_SHARED && !ist_registry.list[transport].traits.shared_channels;
}

IST_INLINE void ist_ctx_enter(ist_ctx *ctx, uint32_t transport)
{
    if (ist_ctx_needs_lock(ctx, transport)) pthread_mutex_lock(&ctx->lock);
}

IST_INLINE void ist_ctx_leave(ist_ctx *ctx, uint32_t transport)
{
    if (ist_ctx_needs_lock(ctx, transport)) pthread_mutex_unlock(&ctx->lock);
}

/* Returns true if there is more than aliases to order. One test for: transports used, context invalid, not
 * initialised. */
IST_INLINE bool ist_order_is_simple(const ist_ctx *ctx)
{
    return IST_LIKELY((ist_load_relaxed(&ctx->used) | (ctx->is_valid ^ 1u)) == 0);
}

IST_INLINE void ist_fence(ist_ctx *ctx, const char *routine)
{
    if (!isthmus_fence_(ist_order_is_simple(ctx))) ist_fence_transports(ctx, routine);
}

IST_INLINE void ist_fence_to(ist_ctx *ctx, int world_pe, const char *routine)
{
    if (!isthmus_fence_(ist_order_is_simple(ctx))) ist_fence_to_transports(ctx, world_pe, routine);
}

IST_INLINE void ist_local_complete(ist_ctx *ctx, const char *routine)
{
    if (!isthmus_local_complete_(ist_order_is_simple(ctx))) ist_local_complete_transports(ctx, routine);
}

IST_INLINE void ist_remote_commit(ist_ctx *ctx, const char *routine)
{
    if (!isthmus_remote_commit_(ist_order_is_simple(ctx))) ist_remote_commit_transports(ctx, routine);
}

IST_INLINE void ist_quiet(ist_ctx *ctx, const char *routine)
{
    if (!isthmus_quiet_(ist_order_is_simple(ctx))) ist_quiet_transports(ctx, routine);
}

#endif

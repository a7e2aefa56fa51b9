/* core/ops/region.c: puts that may share messages. See region.h. */
#include "core/ops/region.h"

#include "core/base/fatal.h"
#include "core/ops/order.h"

_Thread_local struct ist_region ist_region __attribute__((tls_model("initial-exec")));

static uint64_t last_handle; /* of any thread */

void ist_region_start(uint32_t hints, bool is_batching)
{
    ist_region = (struct ist_region){
        .is_batching = is_batching, .hints = hints, .handle = __atomic_add_fetch(&last_handle, 1, __ATOMIC_RELAXED)};
}

void ist_region_stop(void)
{
    ist_region_post();
    ist_region = (struct ist_region){.handle = 0};
}

bool ist_region_put(const struct ist_transfer *t, const struct ist_target *far, const char *near,
                    const isthmus_lmem *near_mem, size_t n)
{
    uint32_t carrier = far->segment->carrier;
    const struct ist_channel *channel = ist_ctx_channel(t->ctx, carrier, t->routine);
    if (ist_region.ctx != t->ctx || ist_region.transport != carrier) ist_region_post();
    ist_ctx_enter(t->ctx, carrier);
    isthmus_status status = channel->ops.put_more(channel->chan, far->peer->paths[carrier], far->extent->rmem,
                                                  far->offset_bytes, near, near_mem, n);
    ist_ctx_leave(t->ctx, carrier);
    if (status == ISTHMUS_ERR_UNSUPPORTED) return false;
    if (status != ISTHMUS_OK) ist_die(t->routine, status);
    ist_region.ctx = t->ctx;
    ist_region.routine = t->routine;
    ist_region.transport = carrier;
    ist_region.has_puts = true;
    return true;
}

/* The context may have been destroyed by another thread, after a quiet: only contexts that are alive are compared. */
static void post_in(ist_ctx *ctx)
{
    const struct ist_channel *channel = &ctx->channels[ist_region.transport];
    if (ctx != ist_region.ctx || ist_load_acquire(&channel->chan) == NULL) return;
    ist_ctx_enter(ctx, ist_region.transport);
    isthmus_status status = channel->ops.post(channel->chan);
    ist_ctx_leave(ctx, ist_region.transport);
    if (status != ISTHMUS_OK) ist_die(ist_region.routine, status);
}

void ist_region_post_slow(void)
{
    ist_region.has_puts = false;
    if (ist_region.ctx == &ist_ctx_default)
        post_in(&ist_ctx_default);
    else
        ist_ctx_each(post_in);
}

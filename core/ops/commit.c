/* core/ops/commit.c: see commit.h. */
#include "core/ops/commit.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/transport/memory.h"
#include "core/transport/progress.h"

/* ---- one transport ---- */

static isthmus_status start(ist_ctx *ctx, uint32_t transport, uint64_t *ticket, const char *routine)
{
    struct ist_channel *channel = ist_ctx_channel(ctx, transport, routine);
    ist_ctx_enter(ctx, transport);
    isthmus_status status = channel->ops.commit_start(channel->chan, NULL, ticket);
    ist_ctx_leave(ctx, transport);
    return status;
}

static isthmus_status test(ist_ctx *ctx, uint32_t transport, uint64_t ticket, const char *routine)
{
    struct ist_channel *channel = ist_ctx_channel(ctx, transport, routine);
    ist_ctx_enter(ctx, transport);
    isthmus_status status = channel->ops.commit_test(channel->chan, ticket);
    ist_ctx_leave(ctx, transport);
    return status;
}

static int32_t poll(ist_ctx *ctx, uint32_t transport, const struct ist_channel *channel)
{
    ist_ctx_enter(ctx, transport);
    int32_t n_events = channel->ops.poll(channel->chan);
    ist_ctx_leave(ctx, transport);
    return n_events;
}

/* ---- all that the context uses ---- */

static void start_all(ist_ctx *ctx, struct ist_commit *commit, const char *routine)
{
    for (uint32_t left = commit->to_start; left != 0; left &= left - 1) {
        uint32_t transport = (uint32_t)__builtin_ctz(left), bit = 1u << transport;
        isthmus_status status = start(ctx, transport, &commit->tickets[transport], routine);
        if (status == ISTHMUS_ERR_AGAIN) continue;
        if (status != ISTHMUS_OK) ist_die(routine, status);
        commit->to_start &= ~bit;
        commit->to_test |= bit;
    }
}

static void test_all(ist_ctx *ctx, struct ist_commit *commit, const char *routine)
{
    for (uint32_t left = commit->to_test; left != 0; left &= left - 1) {
        uint32_t transport = (uint32_t)__builtin_ctz(left);
        isthmus_status status = test(ctx, transport, commit->tickets[transport], routine);
        if (status == ISTHMUS_ERR_AGAIN) continue;
        if (status != ISTHMUS_OK) ist_die(routine, status);
        commit->to_test &= ~(1u << transport);
    }
}

bool ist_commit_begin(ist_ctx *ctx, struct ist_commit *out, const char *routine)
{
    uint32_t used = ist_transports_used(ctx);
    for (uint32_t left = used; left != 0; left &= left - 1)
        if (!ist_ctx_channel(ctx, (uint32_t)__builtin_ctz(left), routine)->has_commit) return false;
    *out = (struct ist_commit){.to_start = used, .has_device_gets = ist_load_relaxed(&ctx->has_device_gets) != 0};
    ist_store_relaxed(&ctx->has_device_gets, 0);
    start_all(ctx, out, routine);
    return true;
}

bool ist_commit_advance(ist_ctx *ctx, struct ist_commit *commit, const char *routine)
{
    if (commit->to_test != 0) test_all(ctx, commit, routine);
    if (commit->to_start != 0) start_all(ctx, commit, routine);
    if ((commit->to_start | commit->to_test) != 0) return false;
    if (commit->has_device_gets) ist_flush_writes();
    ist_publish_stores(); /* and what was fetched is ordered before later loads */
    return true;
}

/* ---- progress ---- */

void ist_ctx_poll(ist_ctx *ctx, const char *routine)
{
    for (uint32_t left = ist_transports_used(ctx); left != 0; left &= left - 1) {
        uint32_t transport = (uint32_t)__builtin_ctz(left);
        int32_t n = poll(ctx, transport, ist_ctx_channel(ctx, transport, routine));
        if (n < 0) ist_die(routine, n);
    }
}

/* A failure of poll is ignored: the operation, which the caller repeats, reports it. */
void ist_make_room(ist_ctx *ctx, uint32_t transport, const struct ist_channel *channel)
{
    ist_note_slow_call(IST_NOTE_TRANSPORT);
    (void)poll(ctx, transport, channel);
    ist_progress_poll();
}

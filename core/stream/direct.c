/* core/stream/direct.c: see stream.h. */
#include "core/stream/stream.h"

#include "core/base/fatal.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/stream/stream_priv.h"
#include "core/sync/wait.h"

static isthmus_tr *tr(void) { return ist_streams.transport->handle; }

/* Returns true if it is in the stream. A transport returns UNSUPPORTED if the host should do it. */
static bool is_taken(isthmus_status status, const char *routine)
{
    if (status != ISTHMUS_OK && status != ISTHMUS_ERR_UNSUPPORTED) ist_die(routine, status);
    return status == ISTHMUS_OK;
}

/* ---- both sides of an operation ---- */

/* Ends the job if the access is wrong, as the operation itself would. */
static bool reaches_far(const struct ist_transfer *t, struct ist_target *out)
{
    ist_target_find(t, out);
    return out->alias == NULL && out->segment->carrier == ist_streams.number;
}

static bool reaches_near(const void *addr, size_t length_bytes)
{
    struct isthmus_mem at = {.struct_size = sizeof at, .device = -1, .fd = -1};
    if (ist_operand_registration(ist_streams.number, addr, length_bytes) != NULL) return true;
    if (ist_streams.memory->kind_of(tr(), addr, &at) != ISTHMUS_OK || at.length_bytes == 0) return false;
    uint64_t offset_bytes = (uint64_t)((uintptr_t)addr - (uintptr_t)at.addr);
    return offset_bytes <= at.length_bytes && length_bytes <= at.length_bytes - offset_bytes;
}

/* The first piece, which `t` then lacks. */
static bool is_piece_in(void *stream, struct ist_transfer *t)
{
    struct ist_target target;
    char *near = ist_transfer_near(t);
    bool is_reached = reaches_far(t, &target);
    ist_require_buffer(t->routine, ist_transfer_near_name(t), near);
    size_t n = ist_operand_piece(near, target.length_bytes);
    if (!is_reached || !reaches_near(near, n)) return false;
    isthmus_rmem *rmem = target.extent->rmem;
    isthmus_status status = t->kind == IST_TRANSFER_PUT
                                ? ist_streams.ops->put(tr(), stream, rmem, target.offset_bytes, near, n)
                                : ist_streams.ops->get(tr(), stream, rmem, target.offset_bytes, near, n);
    if (!is_taken(status, t->routine)) return false;
    ist_target_count(t, &target, ist_streams.number, n);
    t->dest += n, t->source += n, t->length_bytes -= n;
    return true;
}

/* Piece by piece; the host does the rest from the first piece that cannot go this way. */
bool ist_direct_transfer(void *stream, struct ist_stream_call *call)
{
    struct ist_transfer *t = &call->transfer;
    ist_require_pe(t->ctx, t->pe, t->routine, "pe");
    while (t->length_bytes > 0)
        if (!is_piece_in(stream, t)) return false;
    return true;
}

/* ---- words ---- */

/* An update of a word of 64 bits, where that transport's device is the one that executes atomics there. */
static bool update(void *stream, const struct ist_transfer *word, uint32_t op, uint64_t operand)
{
    struct ist_target target;
    if (!reaches_far(word, &target) || target.segment->atomics != ist_streams.number) return false;
    isthmus_status status = ist_streams.ops->amo(tr(), stream, target.extent->rmem, target.offset_bytes, op, operand);
    if (!is_taken(status, word->routine)) return false;
    ist_target_count(word, &target, ist_streams.number, sizeof operand);
    return true;
}

bool ist_direct_p(void *stream, struct ist_stream_call *call)
{
    const struct ist_transfer *t = &call->transfer;
    return t->length_bytes == sizeof(uint64_t) && update(stream, t, ISTHMUS_AMO_SET, call->value);
}

bool ist_direct_signal_op(void *stream, struct ist_stream_call *call)
{
    const struct ist_signal *signal = &call->signal;
    const struct ist_transfer word = ist_signal_transfer(&call->transfer, signal);
    return update(stream, &word, signal->op == IST_SIGNAL_ADD ? ISTHMUS_AMO_ADD : ISTHMUS_AMO_SET, signal->value);
}

/* The stream keeps the two in order. An unsuitable word is detected before any data moves: run() then does all of
 * it. */
bool ist_direct_put_signal(void *stream, struct ist_stream_call *call)
{
    ist_require_symmetric(call->transfer.routine, "sig_addr", call->signal.addr, sizeof *call->signal.addr,
                          sizeof *call->signal.addr);
    return ist_direct_transfer(stream, call) && ist_direct_signal_op(stream, call);
}

/* ---- waits ---- */

static bool hold_until(void *stream, const struct ist_stream_call *call, const char *argument, const void *word,
                       uint32_t compare)
{
    const char *routine = call->transfer.routine;
    int id = ist_require_symmetric(routine, argument, word, sizeof(uint64_t), sizeof(uint64_t));
    return ist_segments.list[id].mem.kind == ist_streams.kind &&
           is_taken(ist_streams.ops->wait_until(tr(), stream, word, compare, call->value), routine);
}

bool ist_direct_signal_wait(void *stream, struct ist_stream_call *call)
{
    const uint64_t *word = call->signal.addr;
    bool is_ordered = call->value <= INT64_MAX; /* 0 is nearer to a larger one from above, and would pass */
    switch (call->wait.cmp) {
    case IST_CMP_EQ: return hold_until(stream, call, "sig_addr", word, ISTHMUS_COMPARE_EQ);
    case IST_CMP_GE: return is_ordered && hold_until(stream, call, "sig_addr", word, ISTHMUS_COMPARE_GE);
    case IST_CMP_GT: return is_ordered && hold_until(stream, call, "sig_addr", word, ISTHMUS_COMPARE_GT);
    default: return false;
    }
}

bool ist_direct_wait(void *stream, struct ist_stream_call *call)
{
    return call->wait.cmp == IST_CMP_EQ && call->wait.size == sizeof(uint64_t) &&
           hold_until(stream, call, "ivar", call->wait.ivars, ISTHMUS_COMPARE_EQ);
}

/* ---- order ---- */

int ist_run_quiet(const struct ist_stream_call *call)
{
    ist_quiet(&ist_ctx_default, call->transfer.routine);
    return 0;
}

/* Operations that the host has given to transports: none, or only to the streams' own transport, and completed. */
static bool is_host_done(void)
{
    ist_ctx *ctx = &ist_ctx_default;
    if (ist_order_is_simple(ctx)) return true;
    if (!ctx->is_valid || ist_load_relaxed(&ctx->used) != 1u << ist_streams.number) return false;
    isthmus_chan *chan = ist_load_acquire(&ctx->channels[ist_streams.number].chan);
    return chan != NULL && ist_streams.ops->is_idle(tr(), chan);
}

bool ist_direct_quiet(void *stream, struct ist_stream_call *call)
{
    (void)stream, (void)call;
    return !ist_items_are_pending() && is_host_done();
}

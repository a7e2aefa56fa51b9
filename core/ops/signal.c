/* core/ops/signal.c: see signal.h. */
#include "core/ops/signal.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/ops/operand.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/transport/progress.h"

/* Returns where the signal is loaded and stored, or NULL if that takes the slow path. */
static char *alias_of(ist_ctx *ctx, const struct ist_signal *signal, int pe)
{
    intptr_t delta = ist_ctx_delta(ctx, ist_column_of_element((uintptr_t)signal->addr, 3), pe);
    return IST_LIKELY(ist_is_aliased(delta)) ? (char *)signal->addr + delta : NULL;
}

static struct ist_amo amo_of(const struct ist_signal *signal)
{
    return (struct ist_amo){
        .op = signal->op == IST_SIGNAL_ADD ? ISTHMUS_AMO_ADD : ISTHMUS_AMO_SET, .size = 8, .operand = signal->value};
}

/* The data went by load and store if nothing of this context went through a transport; then stores are in order. */
static void update_signal(ist_ctx *ctx, char *alias, const struct ist_signal *signal, int pe, const char *routine)
{
    struct ist_amo amo = amo_of(signal);
    ist_fence_to(ctx, ist_team_to_world(ctx->team, pe), routine);
    (void)isthmus_amo_cpu(amo.op, alias, amo.operand, 0, 8); /* release: it is a locked one */
}

static void check(ist_ctx *ctx, const struct ist_signal *signal, int pe, const char *routine)
{
    ist_require_pe(ctx, pe, routine, "pe");
    if (signal->op != IST_SIGNAL_SET && signal->op != IST_SIGNAL_ADD)
        ist_misuse(routine, "sig_op is %d; valid: SHMEM_SIGNAL_SET (%d) and SHMEM_SIGNAL_ADD (%d)", signal->op,
                   IST_SIGNAL_SET, IST_SIGNAL_ADD);
    ist_require_symmetric(routine, "sig_addr", signal->addr, sizeof *signal->addr, sizeof *signal->addr);
}

/* A call whose signal is not loaded and stored from here. */
struct call {
    void *dest;
    const void *source;
    size_t length_bytes;
    const struct ist_signal *signal;
    int pe;
    const char *routine;
    bool is_nbi;
};

/* With ISTHMUS_CHECK. */
static void check_both(ist_ctx *ctx, const struct call *c)
{
    struct ist_checked_op op = {.routine = c->routine,
                                .ctx = ctx,
                                .pe = c->pe,
                                .kind = IST_CHECK_WRITE,
                                .remote_name = "dest",
                                .local_name = "source",
                                .remote = c->dest,
                                .local = c->source,
                                .length_bytes = c->length_bytes,
                                .is_nbi = c->is_nbi,
                                .has_signal = true};
    (void)ist_check_op(&op);
    op.kind = IST_CHECK_ATOMIC;
    op.remote_name = "sig_addr";
    op.remote = c->signal->addr;
    op.local = NULL;
    op.length_bytes = sizeof *c->signal->addr;
    (void)ist_check_op(&op);
    if ((uintptr_t)c->signal->addr - (uintptr_t)c->dest < c->length_bytes)
        ist_misuse(c->routine, "sig_addr %p lies in dest %p (%zu bytes); valid: a word apart from the data",
                   (void *)c->signal->addr, c->dest, c->length_bytes);
}

/* ---- data and signal in one operation of a transport ---- */

static void find_both(ist_ctx *ctx, const struct call *c, struct ist_target *data, struct ist_target *word)
{
    enum { WORD_BYTES = sizeof *c->signal->addr };
    if (IST_LIKELY(ist_target_known(ctx, c->dest, c->length_bytes, c->pe, data) &&
                   ist_target_known(ctx, c->signal->addr, WORD_BYTES, c->pe, word)))
        return;
    struct ist_access to_data = {c->routine, "dest", c->dest, c->length_bytes, 1, c->pe};
    struct ist_access to_word = {c->routine, "sig_addr", c->signal->addr, WORD_BYTES, WORD_BYTES, c->pe};
    ist_target_find(ctx, &to_data, data);
    ist_target_find(ctx, &to_word, word);
}

/* Returns true if one transport carries both and executes atomics on the word. Another transport's update could happen
 * in another atomics domain than the other updates of that word. */
static bool goes_one_way(const struct call *c, const struct ist_target *data, const struct ist_target *word)
{
    uint32_t carrier = data->segment->carrier;
    return data->alias == NULL && word->alias == NULL && word->segment->carrier == carrier &&
           word->segment->atomics == carrier && data->length_bytes == c->length_bytes;
}

static isthmus_status put_signal_through(ist_ctx *ctx, const struct call *c, const struct ist_target *data,
                                         const struct ist_target *word)
{
    uint32_t carrier = data->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(ctx, carrier, c->routine);
    isthmus_path *path = data->peer->paths[carrier];
    const struct isthmus_put_signal what = {
        .struct_size = sizeof what,
        .flags = c->is_nbi ? ISTHMUS_PUT_SIGNAL_NBI : 0,
        .remote = data->extent->rmem,
        .remote_offset_bytes = data->offset_bytes,
        .source = c->source,
        .source_mem = ist_operand_registration(carrier, c->source, c->length_bytes),
        .length_bytes = c->length_bytes,
        .signal = word->extent->rmem,
        .signal_offset_bytes = word->offset_bytes,
        .value = c->signal->value,
        .op = amo_of(c->signal).op,
    };
    isthmus_status status;
    ist_mark_written(ctx, data->peer, carrier);
    if (!c->is_nbi) ist_note_call(IST_NOTE_TRANSPORT, c->routine, data->peer->card.pe);
    for (;;) {
        ist_ctx_enter(ctx, carrier);
        status = channel->ops.put_signal(channel->chan, path, &what);
        ist_ctx_leave(ctx, carrier);
        if (status != ISTHMUS_ERR_AGAIN) break;
        ist_note_call(IST_NOTE_TRANSPORT, c->routine, data->peer->card.pe); /* not so quick, then */
        ist_progress_poll();
    }
    ist_note_over();
    return status;
}

/* Returns false if nothing was done. */
static bool put_signal_in_one(ist_ctx *ctx, const struct call *c)
{
    struct ist_target data, word;
    if (c->length_bytes == 0 || c->source == NULL || ist_is_on_device(c->source)) return false;
    find_both(ctx, c, &data, &word);
    if (!goes_one_way(c, &data, &word)) return false;
    isthmus_status status = put_signal_through(ctx, c, &data, &word);
    if (status != ISTHMUS_OK && status != ISTHMUS_ERR_UNSUPPORTED) ist_die(c->routine, status);
    return status == ISTHMUS_OK;
}

/* ---- or in three; to the program they are one, too ---- */

static void put_signal_in_parts(ist_ctx *ctx, const struct call *c)
{
    struct ist_amo amo = amo_of(c->signal);
    if (c->length_bytes > 0)
        (c->is_nbi ? ist_put_nbi_slow : ist_put_slow)(ctx, c->dest, c->source, c->length_bytes, c->pe, c->routine);
    ist_fence_to(ctx, ist_team_to_world(ctx->team, c->pe), c->routine);
    (void)ist_amo_slow(ctx, c->signal->addr, &amo, 0, c->pe, c->routine);
}

static IST_COLD void put_signal_slow(ist_ctx *ctx, const struct call *c)
{
    if (ist_check_applies()) check_both(ctx, c);
    ist_check_enter();
    if (!put_signal_in_one(ctx, c)) put_signal_in_parts(ctx, c);
    ist_check_leave();
}

void ist_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, const struct ist_signal *signal,
                    int pe, const char *routine)
{
    check(ctx, signal, pe, routine); /* before the data: a call that is refused moves nothing */
    char *alias = alias_of(ctx, signal, pe);
    if (IST_UNLIKELY(alias == NULL)) {
        put_signal_slow(ctx, &(struct call){dest, source, length_bytes, signal, pe, routine, false});
        return;
    }
    if (length_bytes > 0) ist_put(ctx, dest, source, length_bytes, pe, routine);
    update_signal(ctx, alias, signal, pe, routine);
}

void ist_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                        const struct ist_signal *signal, int pe, const char *routine)
{
    check(ctx, signal, pe, routine);
    char *alias = alias_of(ctx, signal, pe);
    if (IST_UNLIKELY(alias == NULL)) {
        put_signal_slow(ctx, &(struct call){dest, source, length_bytes, signal, pe, routine, true});
        return;
    }
    if (length_bytes > 0) ist_put_nbi(ctx, dest, source, length_bytes, pe, routine);
    update_signal(ctx, alias, signal, pe, routine);
}

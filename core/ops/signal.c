/* core/ops/signal.c: see amo.h. */
#include "core/ops/amo.h"

#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/base/recorder.h"
#include "core/ops/commit.h"
#include "core/ops/target.h"

/* Returns where the signal is loaded and stored, or NULL if that takes the slow path. */
static char *alias_of(ist_ctx *ctx, const struct ist_signal *signal, int pe)
{
    return isthmus_element_(ist_ctx_row(ctx, pe), signal->addr, sizeof *signal->addr);
}

static struct ist_amo amo_of(const struct ist_signal *signal)
{
    return (struct ist_amo){
        .op = signal->op == IST_SIGNAL_ADD ? ISTHMUS_AMO_ADD : ISTHMUS_AMO_SET, .size = 8, .operand = signal->value};
}

/* Orders the data of a put before the update of its signal. The data went by load and store if nothing of this context
 * went through a transport; then stores are in order. Without data nothing is ordered: a signal is in no order with
 * earlier operations (R143). */
static void order_data(ist_ctx *ctx, int pe, const char *routine)
{
    ist_fence_to(ctx, ist_team_to_world(ctx->team, pe), routine);
}

static void update_signal(char *alias, const struct ist_signal *signal)
{
    struct ist_amo amo = amo_of(signal);
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

/* ---- a signal that is not loaded and stored from here: `t` is the transfer of the data ---- */

/* With ISTHMUS_CHECK. */
static void check_both(const struct ist_transfer *t, const struct ist_signal *signal)
{
    const struct ist_transfer word = ist_signal_transfer(t, signal);
    (void)ist_check_transfer(t);
    (void)ist_check_transfer(&word);
    if ((uintptr_t)signal->addr - (uintptr_t)t->dest < t->length_bytes)
        ist_misuse(t->routine, "sig_addr %p lies in dest %p (%zu bytes); valid: a word apart from the data",
                   (void *)signal->addr, (void *)t->dest, t->length_bytes);
}

/* ---- data and signal in one operation of a transport ---- */

static void find_both(const struct ist_transfer *t, const struct ist_signal *signal, struct ist_target *data,
                      struct ist_target *word)
{
    const struct ist_transfer to_word = ist_signal_transfer(t, signal);
    if (IST_LIKELY(ist_target_known(t, data) && ist_target_known(&to_word, word))) return;
    const struct ist_transfer unusual = ist_transfer_copy(&to_word);
    ist_target_find(t, data);
    ist_target_find(&unusual, word);
}

/* Returns true if one transport carries both and executes atomics on the word. Another transport's update could happen
 * in another atomics domain than the other updates of that word. */
static bool goes_one_way(const struct ist_transfer *t, const struct ist_target *data, const struct ist_target *word)
{
    uint32_t carrier = data->segment->carrier;
    return data->alias == NULL && word->alias == NULL && word->segment->carrier == carrier &&
           word->segment->atomics == carrier && data->length_bytes == t->length_bytes;
}

static isthmus_status put_signal_through(const struct ist_transfer *t, const struct ist_signal *signal,
                                         const struct ist_target *data, const struct ist_target *word)
{
    uint32_t carrier = data->segment->carrier;
    struct ist_channel *channel = ist_ctx_channel(t->ctx, carrier, t->routine);
    isthmus_path *path = data->peer->paths[carrier];
    const struct isthmus_put_signal what = {
        .struct_size = sizeof what,
        .flags = t->is_nbi ? ISTHMUS_PUT_SIGNAL_NBI : 0,
        .remote = data->extent->rmem,
        .remote_offset_bytes = data->offset_bytes,
        .source = t->source,
        .source_mem = ist_operand_registration(carrier, t->source, t->length_bytes),
        .length_bytes = t->length_bytes,
        .signal = word->extent->rmem,
        .signal_offset_bytes = word->offset_bytes,
        .value = signal->value,
        .op = amo_of(signal).op,
    };
    isthmus_status status;
    ist_mark_written(t->ctx, data->peer, carrier);
    if (t->is_nbi)
        ist_note_quick_call(t->routine, data->peer->card.pe);
    else
        ist_note_call(IST_NOTE_TRANSPORT, t->routine, data->peer->card.pe);
    for (;;) {
        ist_ctx_enter(t->ctx, carrier);
        status = channel->ops.put_signal(channel->chan, path, &what);
        ist_ctx_leave(t->ctx, carrier);
        if (status != ISTHMUS_ERR_AGAIN) break;
        ist_make_room(t->ctx, carrier, channel);
    }
    ist_note_over();
    return status;
}

/* Returns false if nothing was done. */
static bool put_signal_in_one(const struct ist_transfer *t, const struct ist_signal *signal)
{
    struct ist_target data, word;
    if (t->length_bytes == 0 || t->source == NULL || ist_is_on_device(t->source)) return false;
    find_both(t, signal, &data, &word);
    if (!goes_one_way(t, &data, &word)) return false;
    isthmus_status status = put_signal_through(t, signal, &data, &word);
    if (status == ISTHMUS_OK) {
        const struct ist_transfer to_word = ist_signal_transfer(t, signal);
        ist_target_count(t, &data, data.segment->carrier, t->length_bytes);
        ist_target_count(&to_word, &word, word.segment->carrier, to_word.length_bytes);
    }
    if (status != ISTHMUS_OK && status != ISTHMUS_ERR_UNSUPPORTED) ist_die(t->routine, status);
    return status == ISTHMUS_OK;
}

/* ---- or in three; to the program they are one, too ---- */

static void put_signal_in_parts(const struct ist_transfer *t, const struct ist_signal *signal)
{
    struct ist_amo amo = amo_of(signal);
    if (t->length_bytes > 0) {
        (t->is_nbi ? ist_put_nbi_slow : ist_put_slow)(t->ctx, t->dest, t->source, t->length_bytes, t->pe, t->routine);
        order_data(t->ctx, t->pe, t->routine);
    }
    (void)ist_amo_part(t->ctx, signal->addr, &amo, 0, t->pe, t->routine);
}

static IST_COLD void put_signal_slow(const struct ist_transfer *t, const struct ist_signal *signal)
{
    if (ist_check_applies()) check_both(t, signal);
    ist_check_enter();
    if (!put_signal_in_one(t, signal)) put_signal_in_parts(t, signal);
    ist_check_leave();
}

void ist_put_signal(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes, const struct ist_signal *signal,
                    int pe, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    check(ctx, signal, pe, routine); /* before the data: a call that is refused moves nothing */
    char *alias = alias_of(ctx, signal, pe);
    if (IST_UNLIKELY(alias == NULL)) {
        struct ist_transfer t = ist_transfer_put(ctx, dest, source, length_bytes, pe, routine);
        t.has_signal = true;
        put_signal_slow(&t, signal);
        return;
    }
    if (length_bytes > 0) {
        ist_put(ctx, dest, source, length_bytes, pe, routine);
        order_data(ctx, pe, routine);
    }
    update_signal(alias, signal);
}

void ist_put_signal_nbi(ist_ctx *ctx, void *dest, const void *source, size_t length_bytes,
                        const struct ist_signal *signal, int pe, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    check(ctx, signal, pe, routine);
    char *alias = alias_of(ctx, signal, pe);
    if (IST_UNLIKELY(alias == NULL)) {
        struct ist_transfer t = ist_transfer_put(ctx, dest, source, length_bytes, pe, routine);
        t.is_nbi = t.has_signal = true;
        put_signal_slow(&t, signal);
        return;
    }
    if (length_bytes > 0) {
        ist_put_nbi(ctx, dest, source, length_bytes, pe, routine);
        order_data(ctx, pe, routine);
    }
    update_signal(alias, signal);
}

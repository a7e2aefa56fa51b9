/* plugins/ib/am/am_signal.c: the slot put_signal. Data and update are one message (am_signal_recv.c), which the peer's
 * processor executes, because it is the home of atomics on host memory. Where adapters are the home, the slot is
 * absent.
 *
 * On a line (am_put.c) the message of a blocking call carries a call, as a blocking put does: the operation and
 * the quiet behind it take one message to the peer and one back. Data longer than IB_SHORT_BYTES goes ahead by UCX's
 * own put, since a line keeps the order; then the message has the signal only. On other ends the peer answers each
 * message, as it answers atomics there, and the message carries at most PACKET_BYTES: UCX could send the fragments
 * of a longer one over several lanes, and a later message could overtake the last fragment. Longer data is declined;
 * the core's put, fence and atomic are the cheapest form there: the adapter moves the data, and one message follows.
 * Not about memory of devices. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>

/* Of data that a message carries on an end that is no line; the smallest packets hold 1 KiB less headers. */
enum { PACKET_BYTES = 512 };

static bool is_taken(const struct isthmus_put_signal *what)
{
    bool is_of_host = what->remote->kind == ISTHMUS_MEM_HOST && what->signal->kind == ISTHMUS_MEM_HOST &&
                      (what->source_mem == NULL || what->source_mem->kind == ISTHMUS_MEM_HOST);
    return is_of_host && (what->flags & ~(uint32_t)ISTHMUS_PUT_SIGNAL_NBI) == 0 &&
           (what->op == ISTHMUS_AMO_SET || what->op == ISTHMUS_AMO_ADD);
}

static isthmus_status do_own(const struct isthmus_put_signal *what)
{
    isthmus_copy_cpu(what->remote->own + what->remote_offset_bytes, what->source, what->length_bytes);
    isthmus_order_stores_();
    (void)isthmus_amo_cpu(what->op, what->signal->own + what->signal_offset_bytes, what->value, 0, sizeof what->value);
    return ISTHMUS_OK;
}

/* Returns the number of bytes behind the address. `length_bytes` 0: UCX has the data already. */
static size_t fill(struct ib_message *message, const struct ib_place *at, const struct isthmus_put_signal *what,
                   size_t length_bytes)
{
    const struct ib_signal signal = {
        .address = what->signal->address + what->signal_offset_bytes, .value = what->value, .op = what->op};
    return ib_message_fill_signal(message, at->address, &signal, what->source, length_bytes);
}

/* Returns AGAIN if no message is free; then nothing was sent. */
static isthmus_status send_on_line(isthmus_chan *chan, const struct ib_place *at, const struct isthmus_put_signal *what)
{
    struct ib_end *end = at->end;
    struct ib_worker *worker = end->worker;
    struct ib_message *message = ib_message_get(worker);
    struct ib_batch own = {0}, *batch = (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0 ? &chan->local : &own;
    if (message == NULL) return ISTHMUS_ERR_AGAIN;
    bool goes_along = what->length_bytes <= IB_SHORT_BYTES, calls = batch == &own && end->flush.n_pending == 0;
    if (!goes_along) ib_put_by_ucx(at, what->source, what->source_mem, what->length_bytes, batch);
    ib_end_note(end, IB_MESSAGE, true);
    if (calls) ib_short_add_call(end, message);
    size_t data_bytes = fill(message, at, what, goes_along ? what->length_bytes : 0);
    ucs_status_t sent = ib_message_send(worker, end->ep, calls ? IB_MESSAGE_SIGNAL_AND_CALL : IB_MESSAGE_SIGNAL,
                                        message, data_bytes);
    if (sent != UCS_OK && batch->failure == UCS_OK) batch->failure = sent;
    if (sent != UCS_OK && calls) ib_short_call_ended(end, sent);
    (void)ib_worker_wait(worker, &own, IB_FOR_EVER);
    return own.failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(end, own.failure);
}

/* Likewise. The message has a copy of the data; a commit waits for the answer. */
static isthmus_status send_answered(isthmus_chan *chan, const struct ib_place *at,
                                    const struct isthmus_put_signal *what)
{
    const struct ib_waiting_for answer = {.batch = &chan->remote};
    struct ib_message *message = ib_message_get_answered(at->end, &answer);
    if (message == NULL) return ISTHMUS_ERR_AGAIN;
    size_t data_bytes = fill(message, at, what, what->length_bytes);
    ib_message_send_answered(at->end, IB_MESSAGE_SIGNAL_FETCHING, message, data_bytes);
    return ISTHMUS_OK;
}

static isthmus_status send_message(isthmus_chan *chan, const struct ib_place *at, const struct isthmus_put_signal *what)
{
    isthmus_status status;
    if (!at->takes_short && what->length_bytes > PACKET_BYTES) return ISTHMUS_ERR_UNSUPPORTED;
    for (;;) {
        status = at->takes_short ? send_on_line(chan, at, what) : send_answered(chan, at, what);
        if (status != ISTHMUS_ERR_AGAIN || (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0) return status;
        status = ib_wait_for_room(at->end);
        if (status != ISTHMUS_OK) return status;
    }
}

isthmus_status ib_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    struct ib_place at;
    if (!is_taken(what)) return ISTHMUS_ERR_UNSUPPORTED;
    if (what->remote->own != NULL) return do_own(what);
    ib_worker_lock(chan->worker);
    isthmus_status status = ISTHMUS_ERR_AGAIN;
    if ((what->flags & ISTHMUS_PUT_SIGNAL_NBI) == 0 || ib_has_room(chan))
        status = ib_place_find(chan, path, what->remote, what->remote_offset_bytes, IB_MESSAGE, &at);
    if (status == ISTHMUS_OK) status = send_message(chan, &at, what);
    ib_worker_unlock(chan->worker);
    return status;
}

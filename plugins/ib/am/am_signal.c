/* plugins/ib/am/am_signal.c: the slot put_signal, and its messages. Where adapters are the home of atomics, the slot is
 * absent.
 *
 * On an endpoint with a single lane of an adapter that keeps order a signal that is set is a write: the adapter writes
 * the data, then the value, and no processor of the peer takes part. Processors remain the home of the word:
 * an aligned word is written as a whole, before or after any instruction that updates it.
 * Otherwise data and update are one message, which the peer's processor executes: it writes the data, then updates the
 * signal by an atomic instruction, both in one callback, so that a thread that sees the update sees the data.
 *
 * On an endpoint with a single AM lane the message of a blocking call carries a flush request, as that of a blocking
 * put does: the operation and the quiet behind it take one message to the peer and one back. Data longer than
 * IB_AM_DATA_BYTES goes ahead by UCX's own put, since the lane keeps the order; then the message has the signal only.
 * Where an adapter moves the data and the signal is added, or there are several lanes, each message has a reply, and
 * carries at most PACKET_BYTES: UCX could send the fragments of a longer one over several lanes, and a later message
 * could overtake the last fragment. Longer data is declined: the core's put, fence and atomic are the cheapest form
 * there, because the adapter moves the data, and one message follows. Not about memory of devices. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/amo_cpu.h>
#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>
#include <string.h>

/* The data of a message where puts are an adapter's: the smallest packets hold 1 KiB less headers. */
enum { PACKET_BYTES = 512 };

static bool is_carried(const struct isthmus_put_signal *what)
{
    bool is_of_host = what->remote->kind == ISTHMUS_MEM_HOST && what->signal->kind == ISTHMUS_MEM_HOST &&
                      (what->source_mem == NULL || what->source_mem->kind == ISTHMUS_MEM_HOST);
    return is_of_host && (what->flags & ~(uint32_t)ISTHMUS_PUT_SIGNAL_NBI) == 0 &&
           (what->op == ISTHMUS_AMO_SET || what->op == ISTHMUS_AMO_ADD);
}

static enum ib_wait wait_of(const struct isthmus_put_signal *what)
{
    return (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0 ? IB_NO_WAIT : IB_WAIT;
}

static isthmus_status do_own(const struct isthmus_put_signal *what)
{
    isthmus_copy_cpu(what->remote->own + what->remote_offset_bytes, what->source, what->length_bytes);
    isthmus_order_stores_();
    (void)isthmus_amo_cpu(what->op, what->signal->own + what->signal_offset_bytes, what->value, 0, sizeof what->value);
    return ISTHMUS_OK;
}

/* ---- by an adapter ---- */

/* In a job with memory of devices a processor that executes a signal also flushes what adapters have written there. */
static bool is_written(const isthmus_chan *chan, const isthmus_path *path, const struct isthmus_put_signal *what)
{
    const struct ib_ep *ep = path->eps[chan->worker->index];
    bool is_in_order = ep != NULL && ep->lanes == IB_LANE_RDMA && ep->is_ordered;
    return what->op == ISTHMUS_AMO_SET && is_in_order && path->tr->stage == NULL;
}

static void on_value_written(void *request, ucs_status_t status, void *user_data)
{
    struct ib_am_message *message = user_data;
    ib_batch_end(message->batch, status);
    ib_am_message_release(message);
    ib_ucp.ucp_request_free(request);
}

/* UCX may need the value for longer than this call: the message holds it. */
static void write_value(const struct ib_target *word, struct ib_am_message *message, struct ib_batch *batch)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_value_written,
        .user_data = message,
    };
    message->batch = batch;
    ib_ep_record(word->ep, IB_OP_SHORT_PUT, true);
    ucs_status_ptr_t request = ib_ucp.ucp_put_nbx(word->ep->ucp, &message->address, sizeof message->address,
                                                  word->address, word->rkey, &params);
    ib_batch_add(request, batch);
    if (!UCS_PTR_IS_PTR(request)) ib_am_message_release(message);
}

static isthmus_status write_both(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    struct ib_worker *worker = chan->worker;
    struct ib_target data, word;
    enum ib_wait wait = wait_of(what);
    struct ib_batch own = {0}, *batch = wait == IB_NO_WAIT ? chan->local : &own;
    isthmus_status status = ib_target_find(chan, path, what->remote, what->remote_offset_bytes,
                                           ib_class_of_put(what->length_bytes), wait, &data);
    if (status == ISTHMUS_OK)
        status = ib_target_find(chan, path, what->signal, what->signal_offset_bytes, IB_OP_SHORT_PUT, wait, &word);
    struct ib_am_message *message = status == ISTHMUS_OK ? ib_am_message_get(worker) : NULL;
    if (message == NULL) return status == ISTHMUS_OK ? ISTHMUS_ERR_AGAIN : status;
    message->worker = worker;
    message->address = what->value;
    status = ib_put_by_ucx(&data, what->source, what->source_mem, what->length_bytes, batch, wait);
    if (status != ISTHMUS_OK) {
        ib_am_message_release(message);
        return status;
    }
    ucs_status_t fenced = ib_ucp.ucp_worker_fence(worker->ucp);
    if (batch->failure == UCS_OK) batch->failure = fenced;
    if (batch->failure == UCS_OK)
        write_value(&word, message, batch);
    else
        ib_am_message_release(message);
    (void)ib_worker_wait(worker, &own, IB_FOR_EVER);
    return own.failure == UCS_OK ? ISTHMUS_OK : ib_ep_fail(word.ep, own.failure);
}

/* ---- by a message ---- */

/* Fills a message that is sent next: the data of the put behind its signal. Returns the number of bytes behind the
 * address. `length_bytes` 0: UCX's own put has the data. */
static size_t fill(struct ib_am_message *message, const struct ib_target *at, const struct isthmus_put_signal *what,
                   size_t length_bytes)
{
    const struct ib_am_signal signal = {
        .address = what->signal->address + what->signal_offset_bytes, .value = what->value, .op = what->op};
    message->address = at->address;
    memcpy(message->data, &signal, sizeof signal);
    memcpy(message->data + sizeof signal, what->source, length_bytes);
    return sizeof signal + length_bytes;
}

/* Returns AGAIN if no message is free; then nothing was sent. */
static isthmus_status send_in_order(isthmus_chan *chan, const struct ib_target *at,
                                    const struct isthmus_put_signal *what)
{
    struct ib_ep *ep = at->ep;
    struct ib_worker *worker = ep->worker;
    struct ib_am_message *message = ib_am_message_get(worker);
    struct ib_batch own = {0}, *batch = wait_of(what) == IB_NO_WAIT ? chan->local : &own;
    if (message == NULL) return ISTHMUS_ERR_AGAIN;
    bool is_inline = what->length_bytes <= IB_AM_DATA_BYTES, flushes = batch == &own && ep->flush.n_pending == 0;
    isthmus_status status = ISTHMUS_OK;
    if (!is_inline)
        status = ib_put_by_ucx(at, what->source, what->source_mem, what->length_bytes, batch, wait_of(what));
    if (status != ISTHMUS_OK) {
        message->worker = worker;
        ib_am_message_release(message);
        return status;
    }
    ib_ep_record(ep, IB_OP_AM, true);
    if (flushes) ib_am_add_flush(ep, message);
    size_t data_bytes = fill(message, at, what, is_inline ? what->length_bytes : 0);
    ucs_status_t sent = ib_am_send(worker, ep->ucp, flushes ? IB_AM_SIGNAL_FLUSH : IB_AM_SIGNAL, message, data_bytes);
    if (sent != UCS_OK && batch->failure == UCS_OK) batch->failure = sent;
    if (sent != UCS_OK && flushes) ib_am_flush_done(ep, sent);
    (void)ib_worker_wait(worker, &own, IB_FOR_EVER);
    return own.failure == UCS_OK ? ISTHMUS_OK : ib_ep_fail(ep, own.failure);
}

/* Likewise. The message has a copy of the data; remote_commit waits for its reply. */
static isthmus_status send_request(isthmus_chan *chan, const struct ib_target *at,
                                   const struct isthmus_put_signal *what)
{
    const struct ib_am_fetch_into reply = {.batch = chan->remote};
    struct ib_am_message *message = ib_am_request_get(at->ep, &reply);
    if (message == NULL) return ISTHMUS_ERR_AGAIN;
    size_t data_bytes = fill(message, at, what, what->length_bytes);
    ib_am_request_send(at->ep, IB_AM_SIGNAL_FETCH, message, data_bytes);
    return ISTHMUS_OK;
}

static isthmus_status send_message(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    struct ib_target at;
    isthmus_status status = ib_target_find(chan, path, what->remote, what->remote_offset_bytes, IB_OP_AM, wait_of(what),
                                           &at);
    if (status != ISTHMUS_OK) return status;
    if (!at.is_by_am && what->length_bytes > PACKET_BYTES) return ISTHMUS_ERR_UNSUPPORTED;
    return at.is_by_am ? send_in_order(chan, &at, what) : send_request(chan, &at, what);
}

/* ---- the slot ---- */

static isthmus_status put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    bool is_nbi = (what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0;
    if (is_nbi && !ib_has_room(chan)) return ISTHMUS_ERR_AGAIN;
    for (;;) {
        isthmus_status status = is_written(chan, path, what) ? write_both(chan, path, what)
                                                             : send_message(chan, path, what);
        if (status != ISTHMUS_ERR_AGAIN || is_nbi) return status;
        status = ib_ep_wait_for_room(path->eps[chan->worker->index], IB_WAIT);
        if (status != ISTHMUS_OK) return status;
    }
}

isthmus_status ib_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    if (!is_carried(what)) return ISTHMUS_ERR_UNSUPPORTED;
    if (what->remote->own != NULL) return do_own(what);
    ib_worker_lock(chan->worker);
    isthmus_status status = put_signal(chan, path, what);
    ib_worker_unlock(chan->worker);
    return status;
}

/* ---- messages of peers ---- */

/* Returns false if the message is refused: then neither data nor signal is written, and the log has a line. */
static bool execute(const struct ib_worker *worker, const char *message, size_t message_bytes)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_am_signal signal = {0};
    uint64_t address = 0;
    size_t prefix_bytes = sizeof address + sizeof signal, data_bytes = message_bytes - prefix_bytes;
    if (message_bytes >= prefix_bytes) {
        memcpy(&address, message, sizeof address);
        memcpy(&signal, message + sizeof address, sizeof signal);
    }
    bool is_allowed = signal.address != 0 && signal.address % sizeof signal.value == 0 &&
                      (signal.op == ISTHMUS_AMO_SET || signal.op == ISTHMUS_AMO_ADD) &&
                      data_bytes <= IB_AM_DATA_BYTES &&
                      ib_am_is_exposed(worker->tr, signal.address, sizeof signal.value) &&
                      (data_bytes == 0 || ib_am_is_exposed(worker->tr, address, data_bytes));
    if (!is_allowed) {
        s->log(s->core, ISTHMUS_LOG_WARN,
               "dropped a peer's put of %zu bytes to 0x%llx with a signal (%u) at 0x%llx: this PE does not expose that "
               "memory",
               message_bytes, (unsigned long long)address, signal.op, (unsigned long long)signal.address);
        return false;
    }
    if (data_bytes > 0) ib_am_write(address, message + prefix_bytes, data_bytes);
    isthmus_order_stores_();
    (void)isthmus_amo_cpu(signal.op, (void *)(uintptr_t)signal.address, signal.value, 0, sizeof signal.value);
    return true;
}

static ucs_status_t on_signal(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                              const ucp_am_recv_param_t *param)
{
    (void)header;
    if (ib_am_is_eager(param, header_bytes)) (void)execute(arg, data, length_bytes);
    return UCS_OK;
}

static ucs_status_t on_signal_flush(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                    const ucp_am_recv_param_t *param)
{
    struct ib_am_request_id request;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes < sizeof request) return UCS_OK;
    memcpy(&request, data, sizeof request);
    (void)execute(arg, (const char *)data + sizeof request, length_bytes - sizeof request);
    ib_am_reply_to_flush(arg, &request, param);
    return UCS_OK;
}

static ucs_status_t on_signal_fetch(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                    const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    struct ib_am_request_id request;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes < sizeof request ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0)
        return UCS_OK;
    struct ib_am_message *message = ib_am_message_alloc(worker);
    if (message == NULL) return UCS_OK;
    memcpy(&message->request, data, sizeof request);
    message->address = 0; /* the fetched value, of which there is none */
    bool is_executed = execute(worker, (const char *)data + sizeof request, length_bytes - sizeof request);
    ib_am_reply(worker, param->reply_ep, is_executed ? IB_AM_FETCH_REPLY : IB_AM_REFUSAL, message, 0);
    return UCS_OK;
}

isthmus_status ib_am_signals_listen(struct ib_worker *worker)
{
    if (worker->index > 0) return ISTHMUS_OK; /* peers know the address of worker 0 */
    isthmus_status status = ib_am_listen(worker, IB_AM_SIGNAL, on_signal);
    if (status == ISTHMUS_OK) status = ib_am_listen(worker, IB_AM_SIGNAL_FLUSH, on_signal_flush);
    return status == ISTHMUS_OK ? ib_am_listen(worker, IB_AM_SIGNAL_FETCH, on_signal_fetch) : status;
}

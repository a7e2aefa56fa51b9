/* plugins/ib/am/am_put.c: short puts, and flushes, as messages of our own where UCX makes messages of them anyway: over
 * TCP.
 *
 * UCX's put is a message that has a reply, and its flush one more, which has two. Here a flush is a request to which
 * the peer replies in order, and puts have no reply. A put for which its caller waits carries a flush request when no
 * flush is under way, since a flush is likely to follow, and each message costs a system call. No message overtakes
 * another: all that an endpoint sends, UCX's own messages too, goes through one connection (IB_LANE_AM), and the peer
 * executes it as it arrives. Not about endpoints over which an adapter reads or writes, nor about memory of devices. */
#include "plugins/ib/am/am_priv.h"

#include <string.h>

/* ---- sent by this PE ---- */

/* One flush request at a time: its reply confirms all messages before it. */
void ib_am_add_flush(struct ib_ep *ep, struct ib_am_message *message)
{
    message->request = (struct ib_am_request_id){.index = ep->id, .sequence = ++ep->flush_sequence};
    ep->n_flushing = ep->n_issued;
    ep->is_flush_am = true;
    ib_batch_count(&ep->flush, ep->flush.n_pending + 1);
}

bool ib_am_put(struct ib_ep *ep, uint64_t address, const struct ib_am_data *data, struct ib_batch *batch)
{
    struct ib_am_message *message = ib_am_message_get(ep->worker);
    if (message == NULL) return false;
    bool flushes = data->flushes && ep->flush.n_pending == 0;
    ib_ep_record(ep, ib_class_of_put(data->length_bytes), !data->is_notify);
    if (flushes) ib_am_add_flush(ep, message);
    message->address = address;
    memcpy(message->data, data->bytes, data->length_bytes);
    ucs_status_t sent = ib_am_send(ep->worker, ep->ucp, flushes ? IB_AM_PUT_FLUSH : IB_AM_PUT, message,
                                   data->length_bytes);
    if (sent == UCS_OK) return true;
    if (batch->failure == UCS_OK) batch->failure = sent;
    if (flushes) ib_am_flush_done(ep, sent);
    return true;
}

bool ib_am_flush(struct ib_ep *ep)
{
    struct ib_am_message *message = ib_am_message_get(ep->worker);
    if (message == NULL) return false;
    ib_am_add_flush(ep, message);
    ucs_status_t sent = ib_am_send(ep->worker, ep->ucp, IB_AM_FLUSH, message, 0);
    if (sent != UCS_OK) ib_am_flush_done(ep, sent);
    return true;
}

void ib_am_flush_done(struct ib_ep *ep, ucs_status_t status)
{
    if (!ep->is_flush_am) return;
    ep->is_flush_am = false;
    if (status != UCS_OK && ep->flush.failure == UCS_OK) ep->flush.failure = status;
    if (status == UCS_OK) ep->n_flushed = ep->n_flushing;
    ib_batch_count(&ep->flush, ep->flush.n_pending - 1);
}

/* ---- messages of peers ---- */

void ib_am_execute_put(const struct ib_worker *worker, const char *put, size_t put_bytes)
{
    const struct isthmus_services *s = worker->tr->services;
    uint64_t address = 0;
    size_t data_bytes = put_bytes - sizeof address;
    if (put_bytes >= sizeof address) memcpy(&address, put, sizeof address);
    if (address != 0 && data_bytes <= IB_AM_DATA_BYTES && ib_am_is_exposed(worker->tr, address, data_bytes))
        ib_am_write(address, put + sizeof address, data_bytes);
    else
        s->log(s->core, ISTHMUS_LOG_WARN,
               "dropped a peer's put of %zu bytes to 0x%llx: this PE does not expose that memory", data_bytes,
               (unsigned long long)address);
}

/* All messages before this one are executed. */
void ib_am_reply_to_flush(struct ib_worker *worker, const struct ib_am_request_id *request,
                          const ucp_am_recv_param_t *param)
{
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) return;
    struct ib_am_message *message = ib_am_message_alloc(worker);
    if (message == NULL) return;
    message->request = *request;
    ib_am_reply(worker, param->reply_ep, IB_AM_FLUSH_REPLY, message, 0);
}

static ucs_status_t on_put(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                           const ucp_am_recv_param_t *param)
{
    (void)header;
    if (ib_am_is_eager(param, header_bytes)) ib_am_execute_put(arg, data, length_bytes);
    return UCS_OK;
}

static ucs_status_t on_flush(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                             const ucp_am_recv_param_t *param)
{
    struct ib_am_request_id request;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes < sizeof request) return UCS_OK;
    memcpy(&request, data, sizeof request);
    if (length_bytes > sizeof request)
        ib_am_execute_put(arg, (const char *)data + sizeof request, length_bytes - sizeof request);
    ib_am_reply_to_flush(arg, &request, param);
    return UCS_OK;
}

static ucs_status_t on_flush_reply(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                   const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    struct ib_am_request_id request;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes != sizeof request) return UCS_OK;
    memcpy(&request, data, sizeof request);
    struct ib_ep *ep = request.index < worker->n_ep_ids ? worker->eps_by_id[request.index] : NULL;
    if (ep != NULL && ep->flush_sequence == request.sequence) ib_am_flush_done(ep, UCS_OK);
    return UCS_OK;
}

isthmus_status ib_am_puts_listen(struct ib_worker *worker)
{
    isthmus_status status = ib_am_listen(worker, IB_AM_FLUSH_REPLY, on_flush_reply);
    if (worker->index > 0) return status; /* peers know the address of worker 0 */
    if (status == ISTHMUS_OK) status = ib_am_listen(worker, IB_AM_PUT, on_put);
    if (status == ISTHMUS_OK) status = ib_am_listen(worker, IB_AM_FLUSH, on_flush);
    return status == ISTHMUS_OK ? ib_am_listen(worker, IB_AM_PUT_FLUSH, on_flush) : status;
}

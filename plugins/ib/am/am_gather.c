/* plugins/ib/am/am_gather.c: puts that share a message: the slots put_more and post, over TCP.
 *
 * Each message costs a system call here and one at the peer, many times the copy of a short put. So a message
 * gathers puts to one peer until it is full, or anything else is about to go to that peer: then it goes first, and
 * so nothing overtakes a gathered put: ib_ep_order() tests the bit IB_GATHERING, and each flush sends the message
 * first. A fence between two puts of a message needs nothing, but the first put after one takes the slow path of
 * ib_ep_order(), and begins a new message. Not about endpoints over which an adapter writes: it has a queue of its
 * own. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/inline.h>
#include <string.h>

/* A put in a message; the data follows, up to the next multiple of 8 bytes. */
struct record {
    uint32_t length_bytes, reserved;
    uint64_t address; /* directly before the data, as ib_am_execute_put() has it */
};

enum {
    MOST_BYTES = 256, /* of a put: longer ones gain little */
    MOST_MESSAGES = 8 /* that gather at a time; other messages need the rest of the pool */
};

static size_t record_bytes_of(size_t length_bytes) { return sizeof(struct record) + (length_bytes + 7) / 8 * 8; }

/* ---- sent by this PE ---- */

static struct ib_am_message *take_gathered(struct ib_ep *ep)
{
    struct ib_am_message *message = ep->gathered;
    struct ib_ep **link = &ep->worker->gathering;
    while (*link != ep) link = &(*link)->next_gathering;
    *link = ep->next_gathering;
    ep->worker->n_gathering--;
    ep->gathered = NULL;
    ep->before &= (uint8_t)~IB_GATHERING;
    return message;
}

void ib_am_send_gathered_slow(struct ib_ep *ep)
{
    struct ib_am_message *message = take_gathered(ep);
    if (ep->failure != UCS_OK) {
        ib_am_message_release(message);
        return;
    }
    ucs_status_t sent = ib_am_send(ep->worker, ep->ucp, IB_AM_PUTS, message, ep->gathered_bytes);
    if (sent != UCS_OK && ep->flush.failure == UCS_OK) ep->flush.failure = sent;
}

void ib_am_drop_gathered(struct ib_ep *ep)
{
    if (ep->gathered != NULL) ib_am_message_release(take_gathered(ep));
}

static void send_all(struct ib_worker *worker)
{
    while (worker->gathering != NULL) ib_am_send_gathered_slow(worker->gathering);
}

static bool begin_message(struct ib_ep *ep)
{
    struct ib_worker *worker = ep->worker;
    if (worker->n_gathering == MOST_MESSAGES) send_all(worker);
    struct ib_am_message *message = ib_am_message_get(worker);
    if (message == NULL) return false;
    message->address = 0; /* the number of puts */
    message->worker = worker;
    ep->gathered = message;
    ep->gathered_bytes = 0;
    ep->before |= IB_GATHERING;
    ep->next_gathering = worker->gathering;
    worker->gathering = ep;
    worker->n_gathering++;
    return true;
}

static bool gather(struct ib_ep *ep, uint64_t address, const void *source, size_t length_bytes)
{
    const struct record record = {.length_bytes = (uint32_t)length_bytes, .address = address};
    size_t bytes = record_bytes_of(length_bytes);
    if (ep->gathered != NULL && bytes > sizeof ep->gathered->data - ep->gathered_bytes) ib_am_send_gathered_slow(ep);
    if (ep->gathered == NULL && !begin_message(ep)) return false;
    char *at = ep->gathered->data + ep->gathered_bytes;
    memcpy(at, &record, sizeof record);
    memcpy(at + sizeof record, source, length_bytes);
    memset(at + sizeof record + length_bytes, 0, bytes - sizeof record - length_bytes);
    ep->gathered->address++;
    ep->gathered_bytes += bytes;
    ib_ep_record(ep, ib_class_of_put(length_bytes), true);
    return true;
}

/* Returns true if a put may join those gathered so far. */
static bool is_in_order(const struct ib_ep *ep, enum ib_op_class class)
{
    return ep->n_fences == ep->worker->n_fences && (ep->before & ep->conflicts[class] & ~IB_GATHERING) == 0;
}

static isthmus_status put_more(const isthmus_chan *chan, const isthmus_path *path, uint64_t address, const void *source,
                               size_t length_bytes)
{
    struct ib_ep *ep = path->eps[chan->worker->index];
    enum ib_op_class class = ib_class_of_put(length_bytes);
    if (ep == NULL || ep->lanes != IB_LANE_AM || ep->failure != UCS_OK) return ISTHMUS_ERR_UNSUPPORTED;
    isthmus_status status = is_in_order(ep, class) ? ISTHMUS_OK : ib_ep_order_slow(ep, class, IB_WAIT);
    if (status != ISTHMUS_OK) return status;
    return gather(ep, address, source, length_bytes) ? ISTHMUS_OK : ISTHMUS_ERR_UNSUPPORTED;
}

isthmus_status ib_put_more(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                           const void *source, const isthmus_lmem *source_mem, size_t length_bytes)
{
    bool is_of_host = remote->is_rma && remote->kind == ISTHMUS_MEM_HOST &&
                      (source_mem == NULL || source_mem->kind == ISTHMUS_MEM_HOST);
    if (!is_of_host || length_bytes > MOST_BYTES) return ISTHMUS_ERR_UNSUPPORTED;
    ib_worker_lock(chan->worker);
    isthmus_status status = put_more(chan, path, remote->address + offset_bytes, source, length_bytes);
    ib_worker_unlock(chan->worker);
    return status;
}

isthmus_status ib_post(isthmus_chan *chan)
{
    ib_worker_lock(chan->worker);
    send_all(chan->worker);
    ib_worker_unlock(chan->worker);
    return ISTHMUS_OK;
}

/* ---- messages of peers ---- */

/* Executes the first put of `bytes`. Returns its length with the record, or 0 if it is not whole. */
static size_t execute_first(const struct ib_worker *worker, const char *bytes, size_t n_bytes)
{
    struct record record;
    if (n_bytes < sizeof record) return 0;
    memcpy(&record, bytes, sizeof record);
    if (record.length_bytes > MOST_BYTES || record_bytes_of(record.length_bytes) > n_bytes) return 0;
    ib_am_execute_put(worker, bytes + sizeof record - sizeof record.address,
                      sizeof record.address + record.length_bytes);
    return record_bytes_of(record.length_bytes);
}

static ucs_status_t on_puts(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                            const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    const struct isthmus_services *s = worker->tr->services;
    uint64_t n_puts, n_done = 0;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes < sizeof n_puts) return UCS_OK;
    memcpy(&n_puts, data, sizeof n_puts);
    for (size_t at = sizeof n_puts; n_done < n_puts; n_done++) {
        size_t bytes = execute_first(worker, (const char *)data + at, length_bytes - at);
        if (bytes == 0) break;
        at += bytes;
    }
    if (n_done < n_puts)
        s->log(s->core, ISTHMUS_LOG_WARN,
               "dropped the last %llu of a peer's %llu gathered puts: the message is too short",
               (unsigned long long)(n_puts - n_done), (unsigned long long)n_puts);
    return UCS_OK;
}

isthmus_status ib_am_gather_listen(struct ib_worker *worker)
{
    if (worker->index > 0) return ISTHMUS_OK; /* peers know the address of worker 0 */
    return ib_am_listen(worker, IB_AM_PUTS, on_puts);
}

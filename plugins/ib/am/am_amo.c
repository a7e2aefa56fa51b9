/* plugins/ib/am/am_amo.c: atomics as messages of our own. The peer's processor executes them, as it executes the
 * atomics of PEs that load and store: all exclude one another. UCX's atomics are messages too, and each has a reply.
 * They are not used: from 1.16 on UCX finds no protocol for them on an endpoint that reports the loss of its peer
 * ("cannot find remote protocol for amo_post"), 1.13 stores wrong results of fetching and, or, xor over its shared
 * memory, and no UCX has 8 and 16 bits. A message here has a reply, unless it fetches nothing on an endpoint with a
 * single AM lane: a flush covers that. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/amo_cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FETCHES = 64 }; /* of a worker */

/* An atomic that fetches, or another message with such a reply, until the reply is here. */
struct fetch {
    struct fetch *next; /* free */
    struct ib_ep *ep;   /* NULL: free */
    struct ib_batch *batch, *also;
    void *fetched; /* NULL: the old value is dropped */
    uint32_t size_bytes;
    struct ib_am_request_id request; /* its sequence changes with each use */
};

struct ib_am_fetches {
    struct fetch *free;
    struct fetch list[MAX_FETCHES];
};

/* ---- sent by this PE ---- */

static void fetch_done(struct ib_worker *worker, struct fetch *fetch, ucs_status_t status)
{
    struct ib_batch *batch = fetch->batch, *also = fetch->also;
    ib_replies_add(&fetch->ep->am_replies);
    fetch->ep = NULL;
    fetch->request.sequence++;
    fetch->next = worker->am_fetches->free;
    worker->am_fetches->free = fetch;
    ib_batch_count(&worker->room, 0);
    if (also != NULL) ib_batch_count(also, also->n_pending - 1);
    ib_batch_end(batch, status);
}

struct ib_am_message *ib_am_request_get(struct ib_ep *ep, const struct ib_am_fetch_into *into)
{
    struct ib_worker *worker = ep->worker;
    struct fetch *fetch = worker->am_fetches->free;
    struct ib_am_message *message = fetch != NULL ? ib_am_message_get(worker) : NULL;
    if (message == NULL) return NULL;
    worker->am_fetches->free = fetch->next;
    fetch->ep = ep;
    fetch->batch = into->batch;
    fetch->also = into->also;
    fetch->fetched = into->fetched;
    fetch->size_bytes = into->size_bytes;
    message->request = fetch->request;
    ep->am_replies.n_requests++;
    ep->issued |= 1u << IB_OP_AM;
    ib_batch_count(into->batch, into->batch->n_pending + 1);
    if (into->also != NULL) ib_batch_count(into->also, into->also->n_pending + 1);
    return message;
}

void ib_am_request_send(struct ib_ep *ep, enum ib_am_id id, struct ib_am_message *message, size_t data_bytes)
{
    struct ib_worker *worker = ep->worker;
    struct fetch *fetch = &worker->am_fetches->list[message->request.index];
    ucs_status_t sent = ib_am_send(worker, ep->ucp, id, message, data_bytes);
    if (sent != UCS_OK) fetch_done(worker, fetch, sent);
}

static void fill(struct ib_am_message *message, uint64_t address, const struct ib_amo *amo)
{
    message->address = address;
    memcpy(message->data, amo, sizeof *amo);
}

bool ib_am_fetch(struct ib_ep *ep, uint64_t address, const struct ib_amo *amo, void *fetched, struct ib_batch *batch,
                 struct ib_batch *also)
{
    const struct ib_am_fetch_into into = {batch, also, fetched, amo->size_bytes};
    struct ib_am_message *message = ib_am_request_get(ep, &into);
    if (message == NULL) return false;
    fill(message, address, amo);
    ib_am_request_send(ep, IB_AM_FETCH, message, sizeof *amo);
    return true;
}

bool ib_am_post(struct ib_ep *ep, uint64_t address, const struct ib_amo *amo, struct ib_batch *batch)
{
    struct ib_am_message *message = ib_am_message_get(ep->worker);
    if (message == NULL) return false;
    ib_ep_record(ep, IB_OP_AM, true);
    fill(message, address, amo);
    ucs_status_t sent = ib_am_send(ep->worker, ep->ucp, IB_AM_POST, message, sizeof *amo);
    if (sent != UCS_OK && batch->failure == UCS_OK) batch->failure = sent;
    return true;
}

void ib_am_fetches_fail(struct ib_worker *worker, const struct ib_ep *ep)
{
    for (uint32_t i = 0; i < MAX_FETCHES; i++)
        if (worker->am_fetches->list[i].ep == ep) fetch_done(worker, &worker->am_fetches->list[i], ep->failure);
}

/* ---- messages of peers ---- */

/* Returns false if the message is refused; the log has a line then. */
static bool execute(const struct ib_worker *worker, const char *message, uint64_t *old)
{
    const struct isthmus_services *s = worker->tr->services;
    uint64_t address;
    struct ib_amo amo;
    memcpy(&address, message, sizeof address);
    memcpy(&amo, message + sizeof address, sizeof amo);
    bool has_width = amo.size_bytes == 1 || amo.size_bytes == 2 || amo.size_bytes == 4 || amo.size_bytes == 8;
    if (has_width && amo.op < ISTHMUS_AMO_COUNT && address != 0 && address % amo.size_bytes == 0 &&
        ib_am_is_exposed(worker->tr, address, amo.size_bytes)) {
        *old = isthmus_amo_cpu(amo.op, (void *)(uintptr_t)address, amo.operand, amo.compare, amo.size_bytes);
        return true;
    }
    s->log(s->core, ISTHMUS_LOG_WARN,
           "dropped a peer's atomic (%u) on %u bytes at 0x%llx: this PE does not expose that memory", amo.op,
           amo.size_bytes, (unsigned long long)address);
    return false;
}

enum { REQUEST_BYTES = sizeof(uint64_t) + sizeof(struct ib_amo) };

static ucs_status_t on_post(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                            const ucp_am_recv_param_t *param)
{
    uint64_t old;
    (void)header;
    if (ib_am_is_eager(param, header_bytes) && length_bytes == REQUEST_BYTES) (void)execute(arg, data, &old);
    return UCS_OK;
}

/* A refused message gets a reply too: its sender must not wait for ever. */
static ucs_status_t on_fetch(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                             const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    struct ib_am_request_id request;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes != sizeof request + REQUEST_BYTES ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0)
        return UCS_OK;
    struct ib_am_message *message = ib_am_message_alloc(worker);
    if (message == NULL) return UCS_OK;
    memcpy(&message->request, data, sizeof request);
    bool is_executed = execute(worker, (const char *)data + sizeof request, &message->address);
    ib_am_reply(worker, param->reply_ep, is_executed ? IB_AM_FETCH_REPLY : IB_AM_REFUSAL, message, 0);
    return UCS_OK;
}

/* Returns the fetch that a reply belongs to, or NULL if none waits for it. */
static struct fetch *fetch_of(const struct ib_worker *worker, const char *message)
{
    struct ib_am_request_id request;
    memcpy(&request, message, sizeof request);
    if (request.index >= MAX_FETCHES) return NULL;
    struct fetch *fetch = &worker->am_fetches->list[request.index];
    return fetch->ep != NULL && fetch->request.sequence == request.sequence ? fetch : NULL;
}

static ucs_status_t on_fetch_reply(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                   const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes != sizeof(struct ib_am_request_id) + sizeof(uint64_t))
        return UCS_OK;
    struct fetch *fetch = fetch_of(worker, data);
    if (fetch == NULL) return UCS_OK;
    if (fetch->fetched != NULL)
        memcpy(fetch->fetched, (const char *)data + sizeof(struct ib_am_request_id), fetch->size_bytes);
    fetch_done(worker, fetch, UCS_OK);
    return UCS_OK;
}

static ucs_status_t on_refusal(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                               const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes != sizeof(struct ib_am_request_id)) return UCS_OK;
    struct fetch *fetch = fetch_of(worker, data);
    if (fetch == NULL) return UCS_OK;
    const isthmus_path *path = fetch->ep->path;
    char text[160];
    snprintf(text, sizeof text, "PE %d on %s refuses an atomic on memory that it has not exposed", path->pe,
             path->host_name);
    ib_refusal_keep(worker->tr, ISTHMUS_ERR_INVALID, text);
    fetch_done(worker, fetch, IB_REFUSED);
    return UCS_OK;
}

/* ---- workers ---- */

isthmus_status ib_am_amos_open(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_am_fetches *fetches = calloc(1, sizeof *fetches);
    if (fetches == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for atomics");
    for (uint32_t i = 0; i < MAX_FETCHES; i++) {
        fetches->list[i].request.index = i;
        fetches->list[i].next = fetches->free;
        fetches->free = &fetches->list[i];
    }
    worker->am_fetches = fetches;
    isthmus_status status = ib_am_listen(worker, IB_AM_FETCH_REPLY, on_fetch_reply);
    if (status == ISTHMUS_OK) status = ib_am_listen(worker, IB_AM_REFUSAL, on_refusal);
    if (worker->index > 0) return status; /* peers know the address of worker 0 */
    if (status == ISTHMUS_OK) status = ib_am_listen(worker, IB_AM_POST, on_post);
    return status == ISTHMUS_OK ? ib_am_listen(worker, IB_AM_FETCH, on_fetch) : status;
}

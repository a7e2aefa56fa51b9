/* plugins/ib/am/am_device.c: operations on memory of a device that a peer stages, and all atomics on memory of devices:
 * a request to the peer, which replies once it has executed it (am_stage.c). The core executes those on memory of this
 * PE's own device.
 *
 * A long put or get is a request for each IB_BOUNCE_BYTES; many are under way at a time, so that the network, the
 * peer's copies and this PE work beside one another. The requests of a worker are limited: a caller that needs one more
 * waits for a reply. Requests have no order: a fence waits for their replies, and a request after a fence waits for a
 * flush of UCX's own operations. */
#include "plugins/ib/am/am_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_REQUESTS = 64 }; /* of a worker at a time; a power of two */

struct pending_request {
    struct ib_device_request header; /* UCX reads it until the message is sent */
    struct ib_ep *ep;                /* NULL: free */
    struct ib_batch *sending;        /* counts it until the payload is taken; may be NULL */
    struct ib_batch *replying;       /* counts it until the peer has replied */
    void *dest;                      /* for the fetched data; NULL: there is none */
    struct ib_bounce *bounce; /* of a local operand on a device: its buffer is `dest`, or the payload; NULL: none */
    bool is_sent, is_replied, is_receiving;
};

struct ib_device_requests {
    struct ib_batch room; /* pending: all are in use, and a caller waits */
    struct pending_request list[MAX_REQUESTS];
};

/* ---- a request: taken, then sent and replied to, in any order of these two. Under the worker's lock ---- */

static struct pending_request *find_free(struct ib_device_requests *requests)
{
    for (uint32_t i = 0; i < MAX_REQUESTS; i++)
        if (requests->list[i].ep == NULL) return &requests->list[i];
    return NULL;
}

static isthmus_status requests_create(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_device_requests *requests = calloc(1, sizeof *requests);
    if (requests == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for requests to peers");
    for (uint32_t i = 0; i < MAX_REQUESTS; i++) requests->list[i].header.id = i;
    worker->device_requests = requests;
    return ISTHMUS_OK;
}

/* Waits for room. */
static struct pending_request *take(struct ib_worker *worker)
{
    struct ib_device_requests *requests = worker->device_requests;
    struct pending_request *request;
    while ((request = find_free(requests)) == NULL) {
        ib_batch_count(&requests->room, 1);
        (void)ib_worker_wait(worker, &requests->room, IB_FOR_EVER);
    }
    return request;
}

/* Ends the use of a bounce buffer: UCX neither reads nor writes it any more. */
static ucs_status_t bounce_done(struct pending_request *request, ucs_status_t status)
{
    struct ib_bounce *bounce = request->bounce;
    request->bounce = NULL;
    return bounce != NULL ? ib_bounce_end(bounce, status) : status;
}

static void release(struct ib_device_requests *requests, struct pending_request *request)
{
    if (request->ep == NULL || !request->is_sent || !request->is_replied || request->is_receiving) return;
    request->ep = NULL;
    request->header.id += MAX_REQUESTS; /* a late reply to the old id finds no request */
    ib_batch_count(&requests->room, 0);
}

static void request_replied(struct ib_device_requests *requests, struct pending_request *request, ucs_status_t status)
{
    if (request->is_replied) return;
    if (request->header.opcode == IB_DEVICE_GET && !request->is_receiving) status = bounce_done(request, status);
    request->is_replied = true;
    ib_batch_end(request->replying, status);
    release(requests, request);
}

static void request_sent(struct ib_device_requests *requests, struct pending_request *request, ucs_status_t status)
{
    if (request->header.opcode == IB_DEVICE_PUT) status = bounce_done(request, status);
    request->is_sent = true;
    if (request->sending != NULL) ib_batch_end(request->sending, status);
    if (status != UCS_OK) request_replied(requests, request, status); /* there will be no reply */
    release(requests, request);
}

static void on_sent(void *ucp_request, ucs_status_t status, void *user_data)
{
    struct pending_request *request = user_data;
    request_sent(request->ep->worker->device_requests, request, status);
    ib_ucp.ucp_request_free(ucp_request);
}

static void request_send(struct pending_request *request, const void *payload, size_t length_bytes)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_REPLY,
        .cb.send = on_sent,
        .user_data = request,
    };
    request->is_sent = request->is_replied = request->is_receiving = false;
    if (request->sending != NULL) ib_batch_count(request->sending, request->sending->n_pending + 1);
    ib_batch_count(request->replying, request->replying->n_pending + 1);
    ucs_status_ptr_t sent = ib_ucp.ucp_am_send_nbx(request->ep->ucp, IB_AM_DEVICE_REQUEST, &request->header,
                                                   sizeof request->header, payload, length_bytes, &params);
    if (!UCS_PTR_IS_PTR(sent)) request_sent(request->ep->worker->device_requests, request, UCS_PTR_STATUS(sent));
}

void ib_device_requests_fail(struct ib_worker *worker, const struct ib_ep *ep)
{
    for (uint32_t i = 0; worker->device_requests != NULL && i < MAX_REQUESTS; i++)
        if (worker->device_requests->list[i].ep == ep)
            request_replied(worker->device_requests, &worker->device_requests->list[i], ep->failure);
}

/* ---- replies ---- */

static void keep_refusal(const struct pending_request *request, isthmus_status code, const char *text,
                         size_t text_bytes)
{
    const isthmus_path *path = request->ep->path;
    char all[sizeof path->tr->refusal.text];
    snprintf(all, sizeof all, "PE %d on %s: %.*s", path->pe, path->host_name,
             (int)(text_bytes < IB_REASON_BYTES ? text_bytes : IB_REASON_BYTES), text);
    ib_refusal_keep(path->tr, code, all);
}

static void on_received(void *ucp_request, ucs_status_t status, size_t length_bytes, void *user_data)
{
    struct pending_request *request = user_data;
    struct ib_device_requests *requests = request->ep->worker->device_requests;
    (void)length_bytes;
    request->is_receiving = false;
    if (request->is_replied) (void)bounce_done(request, UCS_ERR_CANCELED); /* the peer was lost meanwhile */
    request_replied(requests, request, status);
    release(requests, request);
    if (ucp_request != NULL) ib_ucp.ucp_request_free(ucp_request);
}

/* The data of a get is still at the peer (rendezvous): UCX moves it to `dest`. */
static void receive(struct ib_worker *worker, struct pending_request *request, void *data)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_received,
        .user_data = request,
    };
    request->is_receiving = true;
    ucs_status_ptr_t received = ib_ucp.ucp_am_recv_data_nbx(worker->ucp, data, request->dest,
                                                            request->header.length_bytes, &params);
    if (!UCS_PTR_IS_PTR(received)) on_received(NULL, UCS_PTR_STATUS(received), request->header.length_bytes, request);
}

/* Returns the request of a reply, or NULL if none waits for it. */
static struct pending_request *request_of(const struct ib_worker *worker, const struct ib_device_reply *reply)
{
    struct pending_request *request = worker->device_requests != NULL
                                          ? &worker->device_requests->list[reply->id % MAX_REQUESTS]
                                          : NULL;
    bool waits = request != NULL && request->ep != NULL && request->header.id == reply->id;
    return waits && !request->is_replied && !request->is_receiving ? request : NULL;
}

static ucs_status_t on_reply(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                             const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    struct ib_device_reply reply;
    if (header_bytes != sizeof reply) return UCS_OK;
    memcpy(&reply, header, sizeof reply);
    struct pending_request *request = request_of(worker, &reply);
    if (request == NULL) return UCS_OK;
    bool is_get = request->header.opcode == IB_DEVICE_GET,
         is_eager = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
    ucs_status_t status = UCS_OK;
    if (reply.status != ISTHMUS_OK) {
        keep_refusal(request, reply.status, data, is_eager ? length_bytes : 0);
        status = IB_REFUSED;
    } else if (is_get && length_bytes != request->header.length_bytes) {
        status = UCS_ERR_IO_ERROR;
    } else if (is_get && !is_eager) {
        receive(worker, request, data);
        return UCS_INPROGRESS;
    } else if (is_get) {
        memcpy(request->dest, data, length_bytes);
    } else if (request->dest != NULL) {
        memcpy(request->dest, &reply.fetched, request->header.length_bytes);
    }
    request_replied(worker->device_requests, request, status);
    return UCS_OK;
}

isthmus_status ib_device_listen(struct ib_worker *worker) { return ib_am_listen(worker, IB_AM_DEVICE_REPLY, on_reply); }

/* ---- requests of this PE ---- */

/* The batches that count a request: of the caller, which waits for it, or of the channel. */
struct counting {
    struct ib_batch *sending, *replying;
};

/* Finds the endpoint, and waits until a request may be sent after the last fence; with IB_NO_WAIT also for room. */
static isthmus_status ep_ready(isthmus_chan *chan, isthmus_path *path, enum ib_wait wait, struct ib_ep **out)
{
    struct ib_worker *worker = chan->worker;
    isthmus_status status = worker->device_requests == NULL ? requests_create(worker) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = ib_ep_get(worker, path, out);
    if (status == ISTHMUS_OK) status = ib_ep_order(*out, IB_OP_DEVICE, wait);
    if (status != ISTHMUS_OK || wait == IB_WAIT) return status;
    return find_free(worker->device_requests) != NULL ? ISTHMUS_OK : ISTHMUS_ERR_AGAIN;
}

/* While it waits for room, the peer may be lost. `bounce`: of the payload, or of the fetched data; NULL: these are on
 * the host. */
static isthmus_status request_start(struct ib_ep *ep, struct ib_device_request header, void *local,
                                    struct ib_bounce *bounce, struct counting counting)
{
    struct pending_request *request = take(ep->worker);
    if (ep->failure != UCS_OK) {
        if (bounce != NULL) (void)ib_bounce_end(bounce, UCS_ERR_CANCELED);
        return ib_ep_fail(ep, ep->failure);
    }
    bool is_put = header.opcode == IB_DEVICE_PUT;
    header.id = request->header.id;
    *request = (struct pending_request){.header = header,
                                        .ep = ep,
                                        .sending = counting.sending,
                                        .replying = counting.replying,
                                        .dest = is_put ? NULL : local,
                                        .bounce = bounce};
    request_send(request, is_put ? local : NULL, is_put ? header.length_bytes : 0);
    return ISTHMUS_OK;
}

/* UCX 1.13 ends the process where it cannot register the payload of a long message, so this finds out before. The
 * pages are faulted in, as a registration does it. */
static bool is_registrable(const struct ib_ep *ep, const void *payload, size_t length_bytes)
{
    if (ep->lanes == IB_LANE_AM) return true; /* nothing is registered */
    if (ib_is_copied(ep->worker, payload, length_bytes)) return false;
    uintptr_t before = (uintptr_t)payload % (uintptr_t)sysconf(_SC_PAGESIZE);
    return madvise((char *)(uintptr_t)payload - before, length_bytes + before, MADV_POPULATE_WRITE) == 0;
}

/* Requests at most IB_BOUNCE_BYTES. A bounce buffer, if the operand needs one, is waited for first: a request is sent
 * as soon as it is taken. */
static isthmus_status request_part(struct ib_ep *ep, const struct ib_device_request *header,
                                   const struct ib_operand *local, struct counting counting, enum ib_wait wait)
{
    const struct ib_bounce part = {.device = local->addr,
                                   .kind = local->kind,
                                   .length_bytes = header->length_bytes,
                                   .is_get = header->opcode == IB_DEVICE_GET};
    bool is_host = local->kind == ISTHMUS_MEM_HOST;
    struct ib_bounce *bounce = NULL;
    if (is_host && (part.is_get || is_registrable(ep, local->addr, part.length_bytes)))
        return request_start(ep, *header, local->addr, NULL, counting);
    if (is_host && !ib_may_be_copied(ep->worker, local->addr, part.length_bytes, counting.sending)) return ISTHMUS_OK;
    isthmus_status status = is_host ? ib_bounces_open(ep->worker, ISTHMUS_MEM_HOST) : ISTHMUS_OK;
    if (status == ISTHMUS_OK && wait == IB_NO_WAIT && !ib_bounce_is_free(ep->worker)) return ISTHMUS_ERR_AGAIN;
    if (status == ISTHMUS_OK) status = ib_bounce_begin(ep->worker, &part, &bounce);
    return status == ISTHMUS_OK ? request_start(ep, *header, ib_bounce_bytes(bounce), bounce, counting) : status;
}

/* Splits a put or a get. AGAIN comes before the first part only. */
static isthmus_status request_parts(struct ib_ep *ep, struct ib_device_request header, struct ib_operand local,
                                    struct counting counting, enum ib_wait wait)
{
    isthmus_status status = ISTHMUS_OK;
    for (; local.length_bytes > 0 && status == ISTHMUS_OK; wait = IB_WAIT) {
        header.length_bytes = local.length_bytes < IB_BOUNCE_BYTES ? (uint32_t)local.length_bytes : IB_BOUNCE_BYTES;
        status = request_part(ep, &header, &local, counting, wait);
        header.address += header.length_bytes;
        local.addr += header.length_bytes;
        local.length_bytes -= header.length_bytes;
    }
    return status;
}

static isthmus_status wait_all(struct ib_worker *worker, const struct ib_ep *ep, const struct ib_batch *batch)
{
    (void)ib_worker_wait(worker, batch, IB_FOR_EVER);
    return batch->failure == UCS_OK ? ISTHMUS_OK : ib_ep_fail(ep, batch->failure);
}

static isthmus_status transfer(isthmus_chan *chan, isthmus_path *path, struct ib_device_request header,
                               const struct ib_operand *local, bool is_nbi)
{
    struct ib_batch batch = {0}, *waited = is_nbi ? chan->local : &batch;
    enum ib_wait wait = is_nbi ? IB_NO_WAIT : IB_WAIT;
    bool is_put = header.opcode == IB_DEVICE_PUT;
    struct counting counting = {is_put ? waited : NULL, is_put ? chan->remote : waited};
    struct ib_ep *ep = NULL;
    ib_worker_lock(chan->worker);
    isthmus_status status = ep_ready(chan, path, wait, &ep);
    if (status == ISTHMUS_OK) {
        status = request_parts(ep, header, *local, counting, wait);
        isthmus_status waited_for = wait_all(chan->worker, ep, &batch);
        if (status == ISTHMUS_OK) status = waited_for;
    }
    ib_worker_unlock(chan->worker);
    return status;
}

/* ---- for the slots of channels ---- */

static struct ib_device_request header_of(uint32_t opcode, const isthmus_rmem *remote, uint64_t offset_bytes)
{
    return (struct ib_device_request){
        .opcode = opcode, .kind = remote->kind, .address = remote->address + offset_bytes};
}

isthmus_status ib_device_put_operand(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, const struct ib_operand *local, bool is_nbi)
{
    return transfer(chan, path, header_of(IB_DEVICE_PUT, remote, offset_bytes), local, is_nbi);
}

isthmus_status ib_device_get_operand(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, const struct ib_operand *local, bool is_nbi)
{
    return transfer(chan, path, header_of(IB_DEVICE_GET, remote, offset_bytes), local, is_nbi);
}

isthmus_status ib_device_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const void *source, size_t length_bytes, bool is_nbi)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    if (remote->own != NULL)
        return s->memory_copy(s->core, remote->kind, remote->own + offset_bytes, source, length_bytes);
    const struct ib_operand local = {(char *)(uintptr_t)source, ISTHMUS_MEM_HOST, length_bytes};
    return ib_device_put_operand(chan, path, remote, offset_bytes, &local, is_nbi);
}

isthmus_status ib_device_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             void *dest, size_t length_bytes, bool is_nbi)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    if (remote->own != NULL)
        return s->memory_copy(s->core, remote->kind, dest, remote->own + offset_bytes, length_bytes);
    const struct ib_operand local = {dest, ISTHMUS_MEM_HOST, length_bytes};
    return ib_device_get_operand(chan, path, remote, offset_bytes, &local, is_nbi);
}

/* remote_commit waits for the reply to an atomic that fetches nothing. */
isthmus_status ib_device_amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const struct ib_amo *amo, void *fetched, uint32_t flags)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    uint32_t bits = (uint32_t)__builtin_ctz(amo->size_bytes);
    if (remote->own != NULL)
        return s->memory_amo(s->core, remote->kind, remote->own + offset_bytes, amo->op, bits, amo->operand,
                             amo->compare, fetched);
    struct ib_device_request header = header_of(fetched != NULL ? IB_DEVICE_AMO : IB_DEVICE_POST, remote, offset_bytes);
    header.length_bytes = amo->size_bytes;
    header.op = amo->op;
    header.bits = bits;
    header.operand = amo->operand;
    header.compare = amo->compare;
    struct ib_batch batch = {0};
    struct counting counting = {NULL, &batch};
    struct ib_ep *ep = NULL;
    if ((flags & ISTHMUS_AMO_FETCHING) == 0) counting.replying = chan->remote;
    if ((flags & ISTHMUS_AMO_NBI) != 0) counting.replying = chan->local;
    ib_worker_lock(chan->worker);
    isthmus_status status = ep_ready(chan, path, (flags & ISTHMUS_AMO_NBI) != 0 ? IB_NO_WAIT : IB_WAIT, &ep);
    if (status == ISTHMUS_OK) status = request_start(ep, header, fetched, NULL, counting);
    if (status == ISTHMUS_OK) status = wait_all(chan->worker, ep, &batch);
    ib_worker_unlock(chan->worker);
    return status;
}

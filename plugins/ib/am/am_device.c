/* plugins/ib/am/am_device.c: operations on memory of a device that a peer's UCX does not support, and all atomics on memory
 * of devices: a request to the peer, which replies when it is done (am_stage.c). The core handles memory of this PE's
 * device.
 *
 * A long put or get is cut into pieces; many are under way at a time, so that the network, the peer's copies and this
 * PE work beside one another. The requests of a worker are limited: a caller that needs one more waits for a reply.
 * Messages have no order: a fence waits for replies, and a request after a fence waits for a flush of UCX's own
 * operations. */
#include "plugins/ib/am/am_device.h"

#include "plugins/ib/am/am_operand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ASKS = 64 }; /* of a worker at a time; a power of two */

struct ask {
    struct ib_ask_head head;  /* UCX reads it until the message is sent */
    struct ib_end *end;       /* NULL: this one is free */
    struct ib_batch *sending; /* counts it until the payload is taken; may be NULL */
    struct ib_batch *asking;  /* counts it until it is answered */
    void *dest;               /* for the fetched data; NULL: there is none */
    struct ib_move *move;     /* of a local operand on a device; its piece is `dest`, or the payload */
    bool is_sent, is_answered, is_receiving;
};

struct ib_asks {
    struct ib_batch room; /* pending: all are in use, and a caller waits */
    struct ask list[MAX_ASKS];
};

/* ---- a request: taken, sent, answered, in any order of the latter two. Under the worker's lock ---- */

static struct ask *find_free(struct ib_asks *asks)
{
    for (uint32_t i = 0; i < MAX_ASKS; i++)
        if (asks->list[i].end == NULL) return &asks->list[i];
    return NULL;
}

static isthmus_status asks_create(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_asks *asks = calloc(1, sizeof *asks);
    if (asks == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for requests to peers");
    for (uint32_t i = 0; i < MAX_ASKS; i++) asks->list[i].head.number = i;
    worker->asks = asks;
    return ISTHMUS_OK;
}

/* Waits for room. */
static struct ask *take(struct ib_worker *worker)
{
    struct ib_asks *asks = worker->asks;
    struct ask *ask;
    while ((ask = find_free(asks)) == NULL) {
        ib_batch_count(&asks->room, 1);
        (void)ib_worker_wait(worker, &asks->room, IB_FOR_EVER);
    }
    return ask;
}

/* The piece is free: no transfer reads or writes it any more. */
static ucs_status_t end_move(struct ask *ask, ucs_status_t status)
{
    struct ib_move *move = ask->move;
    ask->move = NULL;
    return move != NULL ? ib_move_end(move, status) : status;
}

static void give_back(struct ib_asks *asks, struct ask *ask)
{
    if (ask->end == NULL || !ask->is_sent || !ask->is_answered || ask->is_receiving) return;
    ask->end = NULL;
    ask->head.number += MAX_ASKS; /* a late reply to the old number finds no request */
    ib_batch_count(&asks->room, 0);
}

static void note_answered(struct ib_asks *asks, struct ask *ask, ucs_status_t status)
{
    if (ask->is_answered) return;
    if (ask->head.what == IB_ASK_GET && !ask->is_receiving) status = end_move(ask, status);
    ask->is_answered = true;
    ib_batch_end(ask->asking, status);
    give_back(asks, ask);
}

static void note_sent(struct ib_asks *asks, struct ask *ask, ucs_status_t status)
{
    if (ask->head.what == IB_ASK_PUT) status = end_move(ask, status);
    ask->is_sent = true;
    if (ask->sending != NULL) ib_batch_end(ask->sending, status);
    if (status != UCS_OK) note_answered(asks, ask, status); /* there will be no reply */
    give_back(asks, ask);
}

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    struct ask *ask = user_data;
    note_sent(ask->end->worker->asks, ask, status);
    ib_ucp.ucp_request_free(request);
}

static void send_ask(struct ask *ask, const void *payload, size_t length_bytes)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_REPLY,
        .cb.send = on_sent,
        .user_data = ask,
    };
    ask->is_sent = ask->is_answered = ask->is_receiving = false;
    if (ask->sending != NULL) ib_batch_count(ask->sending, ask->sending->n_pending + 1);
    ib_batch_count(ask->asking, ask->asking->n_pending + 1);
    ucs_status_ptr_t request = ib_ucp.ucp_am_send_nbx(ask->end->ep, IB_MESSAGE_ASK, &ask->head, sizeof ask->head,
                                                      payload, length_bytes, &params);
    if (!UCS_PTR_IS_PTR(request)) note_sent(ask->end->worker->asks, ask, UCS_PTR_STATUS(request));
}

void ib_asks_fail(struct ib_worker *worker, const struct ib_end *end)
{
    for (uint32_t i = 0; worker->asks != NULL && i < MAX_ASKS; i++)
        if (worker->asks->list[i].end == end) note_answered(worker->asks, &worker->asks->list[i], end->failure);
}

/* ---- answers ---- */

/* Keeps the text for the callers that wait for these requests; the first one stays. */
void ib_refusal_keep(isthmus_tr *tr, isthmus_status code, const char *text)
{
    pthread_mutex_lock(&tr->lost_lock);
    if (tr->refusal.code == ISTHMUS_OK) {
        tr->refusal.code = code;
        snprintf(tr->refusal.text, sizeof tr->refusal.text, "%s", text);
    }
    pthread_mutex_unlock(&tr->lost_lock);
}

static void keep_answer(const struct ask *ask, isthmus_status code, const char *text, size_t text_bytes)
{
    const isthmus_path *path = ask->end->path;
    char all[sizeof path->tr->refusal.text];
    snprintf(all, sizeof all, "PE %d on %s: %.*s", path->pe, path->host_name,
             (int)(text_bytes < IB_REASON_BYTES ? text_bytes : IB_REASON_BYTES), text);
    ib_refusal_keep(path->tr, code, all);
}

static void on_received(void *request, ucs_status_t status, size_t length_bytes, void *user_data)
{
    struct ask *ask = user_data;
    struct ib_asks *asks = ask->end->worker->asks;
    (void)length_bytes;
    ask->is_receiving = false;
    if (ask->is_answered) (void)end_move(ask, UCS_ERR_CANCELED); /* it was lost meanwhile */
    note_answered(asks, ask, status);
    give_back(asks, ask);
    if (request != NULL) ib_ucp.ucp_request_free(request);
}

/* The data of a get still lies at the peer: UCX moves it to `dest`. */
static void receive(struct ib_worker *worker, struct ask *ask, void *data)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_received,
        .user_data = ask,
    };
    ask->is_receiving = true;
    ucs_status_ptr_t request = ib_ucp.ucp_am_recv_data_nbx(worker->ucp, data, ask->dest, ask->head.length_bytes,
                                                           &params);
    if (!UCS_PTR_IS_PTR(request)) on_received(NULL, UCS_PTR_STATUS(request), ask->head.length_bytes, ask);
}

/* Returns the request of a reply, or NULL if none waits for it. */
static struct ask *asker_of(const struct ib_worker *worker, const struct ib_answer_head *answer)
{
    struct ask *ask = worker->asks != NULL ? &worker->asks->list[answer->number % MAX_ASKS] : NULL;
    bool waits = ask != NULL && ask->end != NULL && ask->head.number == answer->number;
    return waits && !ask->is_answered && !ask->is_receiving ? ask : NULL;
}

static ucs_status_t on_answer(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                              const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    struct ib_answer_head answer;
    if (header_bytes != sizeof answer) return UCS_OK;
    memcpy(&answer, header, sizeof answer);
    struct ask *ask = asker_of(worker, &answer);
    if (ask == NULL) return UCS_OK;
    bool is_get = ask->head.what == IB_ASK_GET, is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
    ucs_status_t status = UCS_OK;
    if (answer.status != ISTHMUS_OK) {
        keep_answer(ask, answer.status, data, is_here ? length_bytes : 0);
        status = IB_REFUSED;
    } else if (is_get && length_bytes != ask->head.length_bytes) {
        status = UCS_ERR_IO_ERROR;
    } else if (is_get && !is_here) {
        receive(worker, ask, data);
        return UCS_INPROGRESS;
    } else if (is_get) {
        memcpy(ask->dest, data, length_bytes);
    } else if (ask->dest != NULL) {
        memcpy(ask->dest, &answer.fetched, ask->head.length_bytes);
    }
    note_answered(worker->asks, ask, status);
    return UCS_OK;
}

isthmus_status ib_listen(struct ib_worker *worker, unsigned number, ucp_am_recv_callback_t callback)
{
    const struct isthmus_services *s = worker->tr->services;
    const ucp_am_handler_param_t params = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = number,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = callback,
        .arg = worker,
    };
    ucs_status_t set = ib_ucp.ucp_worker_set_am_recv_handler(worker->ucp, &params);
    if (set == UCS_OK) return ISTHMUS_OK;
    return s->fail(s->core, ib_ucp_code(set), "ucp_worker_set_am_recv_handler: %s", ib_ucp.ucs_status_string(set));
}

isthmus_status ib_asks_listen(struct ib_worker *worker) { return ib_listen(worker, IB_MESSAGE_ANSWER, on_answer); }

/* ---- asking ---- */

/* The batches that count a request: those of the caller, which waits for it, or of the channel. */
struct counting {
    struct ib_batch *sending, *asking;
};

/* The end, ready for messages after the fences that there were. */
static isthmus_status end_ready(isthmus_chan *chan, isthmus_path *path, struct ib_end **out)
{
    struct ib_worker *worker = chan->worker;
    isthmus_status status = worker->asks == NULL ? asks_create(worker) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = ib_end_get(worker, path, out);
    return status == ISTHMUS_OK ? ib_end_order(*out, IB_REQUEST) : status;
}

/* While it waits for room, the end may be lost. `move`: of the payload, or of the fetched data; NULL: on the host. */
static isthmus_status ask_for(struct ib_end *end, struct ib_ask_head head, void *local, struct ib_move *move,
                              struct counting counting)
{
    struct ask *ask = take(end->worker);
    if (end->failure != UCS_OK) {
        if (move != NULL) (void)ib_move_end(move, UCS_ERR_CANCELED);
        return ib_end_fail(end, end->failure);
    }
    bool is_put = head.what == IB_ASK_PUT;
    head.number = ask->head.number;
    *ask = (struct ask){.head = head,
                        .end = end,
                        .sending = counting.sending,
                        .asking = counting.asking,
                        .dest = is_put ? NULL : local,
                        .move = move};
    send_ask(ask, is_put ? local : NULL, is_put ? head.length_bytes : 0);
    return ISTHMUS_OK;
}

/* Requests at most a piece. If the operand needs a piece, that is waited for first: a request once taken is used at
 * once. */
static isthmus_status ask_part(struct ib_end *end, const struct ib_ask_head *head, const struct ib_operand *local,
                               struct counting counting)
{
    const struct ib_move part = {.device = local->addr,
                                 .kind = local->kind,
                                 .length_bytes = head->length_bytes,
                                 .is_get = head->what == IB_ASK_GET};
    struct ib_move *move = NULL;
    if (local->kind == ISTHMUS_MEM_HOST) return ask_for(end, *head, local->addr, NULL, counting);
    isthmus_status status = ib_move_begin(end->worker, &part, &move);
    return status == ISTHMUS_OK ? ask_for(end, *head, ib_move_bytes(move), move, counting) : status;
}

/* A put or a get, in pieces. */
static isthmus_status ask_in_pieces(struct ib_end *end, struct ib_ask_head head, struct ib_operand local,
                                    struct counting counting)
{
    isthmus_status status = ISTHMUS_OK;
    while (local.length_bytes > 0 && status == ISTHMUS_OK) {
        head.length_bytes = local.length_bytes < IB_PIECE_BYTES ? (uint32_t)local.length_bytes : IB_PIECE_BYTES;
        status = ask_part(end, &head, &local, counting);
        head.address += head.length_bytes;
        local.addr += head.length_bytes;
        local.length_bytes -= head.length_bytes;
    }
    return status;
}

static isthmus_status wait_all(struct ib_worker *worker, const struct ib_end *end, const struct ib_batch *batch)
{
    (void)ib_worker_wait(worker, batch, IB_FOR_EVER);
    return batch->failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(end, batch->failure);
}

static isthmus_status transfer(isthmus_chan *chan, isthmus_path *path, struct ib_ask_head head,
                               const struct ib_operand *local, bool is_nbi)
{
    struct ib_batch batch = {0}, *waited = is_nbi ? &chan->local : &batch;
    bool is_put = head.what == IB_ASK_PUT;
    struct counting counting = {is_put ? waited : NULL, is_put ? &chan->remote : waited};
    struct ib_end *end = NULL;
    ib_worker_lock(chan->worker);
    isthmus_status status = end_ready(chan, path, &end);
    if (status == ISTHMUS_OK) {
        status = ask_in_pieces(end, head, *local, counting);
        isthmus_status waited_for = wait_all(chan->worker, end, &batch);
        if (status == ISTHMUS_OK) status = waited_for;
    }
    ib_worker_unlock(chan->worker);
    return status;
}

/* ---- for the slots ---- */

static struct ib_ask_head head_of(uint32_t what, const isthmus_rmem *remote, uint64_t offset_bytes)
{
    return (struct ib_ask_head){.what = what, .kind = remote->kind, .address = remote->address + offset_bytes};
}

isthmus_status ib_ask_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const struct ib_operand *local, bool is_nbi)
{
    return transfer(chan, path, head_of(IB_ASK_PUT, remote, offset_bytes), local, is_nbi);
}

isthmus_status ib_ask_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const struct ib_operand *local, bool is_nbi)
{
    return transfer(chan, path, head_of(IB_ASK_GET, remote, offset_bytes), local, is_nbi);
}

isthmus_status ib_device_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const void *source, size_t length_bytes, bool is_nbi)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    if (remote->own != NULL)
        return s->memory_copy(s->core, remote->kind, remote->own + offset_bytes, source, length_bytes);
    const struct ib_operand local = {(char *)(uintptr_t)source, ISTHMUS_MEM_HOST, length_bytes};
    return ib_ask_put(chan, path, remote, offset_bytes, &local, is_nbi);
}

isthmus_status ib_device_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             void *dest, size_t length_bytes, bool is_nbi)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    if (remote->own != NULL)
        return s->memory_copy(s->core, remote->kind, dest, remote->own + offset_bytes, length_bytes);
    const struct ib_operand local = {dest, ISTHMUS_MEM_HOST, length_bytes};
    return ib_ask_get(chan, path, remote, offset_bytes, &local, is_nbi);
}

/* One that fetches nothing counts in the batch of the commit until it is done. */
isthmus_status ib_device_amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const struct ib_atomic *amo, void *fetched, uint32_t flags)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    uint32_t bits = (uint32_t)__builtin_ctz(amo->size_bytes);
    if (remote->own != NULL)
        return s->memory_amo(s->core, remote->kind, remote->own + offset_bytes, amo->op, bits, amo->operand,
                             amo->compare, fetched);
    struct ib_ask_head head = head_of(IB_ASK_AMO, remote, offset_bytes);
    head.length_bytes = amo->size_bytes;
    head.op = amo->op;
    head.bits = bits;
    head.operand = amo->operand;
    head.compare = amo->compare;
    struct ib_batch batch = {0};
    struct counting counting = {NULL, &batch};
    struct ib_end *end = NULL;
    if ((flags & ISTHMUS_AMO_FETCHING) == 0) counting.asking = &chan->remote;
    if ((flags & ISTHMUS_AMO_NBI) != 0) counting.asking = &chan->local;
    ib_worker_lock(chan->worker);
    isthmus_status status = end_ready(chan, path, &end);
    if (status == ISTHMUS_OK) status = ask_for(end, head, fetched, NULL, counting);
    if (status == ISTHMUS_OK) status = wait_all(chan->worker, end, &batch);
    ib_worker_unlock(chan->worker);
    return status;
}

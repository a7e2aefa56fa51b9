/* plugins/ib/rc/rc_amo.c: queue pairs from the adapter of this PE (rc_port.c) to those of peers (rc_qp.h), and the
 * atomics under way there. An endpoint has one queue pair, created before its first atomic. A message requests its
 * counterpart, which the peer's progress creates; from then on the peer's processor is not involved. Atomics on memory
 * of the calling PE go through its adapter in the same way, connected without messages: adapter and processor do not
 * exclude one another, so that all atomics on a word go to one of them. */
#include "plugins/ib/rc/rc.h"

#include "plugins/ib/am/am_priv.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_REQUESTS = 128, /* under way on a worker */
    POLL_AT_ONCE = 16,
    WHY_BYTES = 160
};

/* What the two sides of a connection send each other. A peer that could not create its queue pair replies with qp_num 0
 * and the reason. A request with qp_num 0 releases the peer's queue pair. */
struct qp_exchange {
    struct ib_qp_address qp;
    uint32_t passive_id;
    enum { QP_KEPT, QP_LENT, QP_LATER } terms; /* of a reply. QP_LENT: until it has nothing under way */
    char why[WHY_BYTES];
};
_Static_assert(sizeof(struct qp_exchange) <= IB_AM_DATA_BYTES, "one message");

/* An atomic, until the adapter has completed it: even when no caller waits any longer, the adapter may write its
 * value. */
struct rc_request {
    struct rc_request *next; /* free */
    struct ib_ep *ep;        /* NULL: the peer is lost, and the caller has the failure */
    const struct ib_qp *qp;  /* NULL: free */
    struct ib_batch *batch, *also;
    void *fetched;
    uint32_t sequence; /* of the uses of this slot: a completion of an earlier use finds no request */
};

struct ib_rc {
    struct ib_cq *cq;
    uint32_t n_busy, n_qps;
    uint64_t n_uses; /* of all its queue pairs */
    struct rc_request *free;
    char why[WHY_BYTES]; /* why the last queue pair could not be connected */
    struct rc_request list[MAX_REQUESTS];
};

/* ---- the adapter of this PE ---- */

void ib_rc_close(isthmus_tr *tr)
{
    for (uint32_t i = 0; i < tr->n_passive_ids; i++) ib_qp_destroy(tr->passive_qps[i]);
    free(tr->passive_qps);
    ib_adapter_close(tr->adapter);
}

/* ---- queue pairs ---- */

enum { EXCHANGE_OFFSET = offsetof(struct ib_am_message, data) - offsetof(struct ib_am_message, request) };

static isthmus_status find_passive_id(isthmus_tr *tr, uint32_t *id)
{
    const struct isthmus_services *s = tr->services;
    uint32_t n = tr->n_passive_ids;
    for (*id = 0; tr->n_passive_qps < n && *id < n; (*id)++)
        if (tr->passive_qps[*id] == NULL) return ISTHMUS_OK;
    if (n >= 2 * (uint64_t)s->n_pes * IB_MAX_WORKERS) /* twice: a release may still be under way */
        return s->fail(s->core, ISTHMUS_ERR_LIMIT,
                       "peers request more queue pairs than the PEs of this job have workers");
    uint32_t n_more = n / 2 + 16;
    struct ib_qp **more = realloc(tr->passive_qps, (n + n_more) * sizeof(struct ib_qp *));
    if (more == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a queue pair");
    for (uint32_t i = n; i < n + n_more; i++) more[i] = NULL;
    tr->passive_qps = more;
    tr->n_passive_ids = n + n_more;
    *id = n;
    return ISTHMUS_OK;
}

static isthmus_status passive_qp_create(isthmus_tr *tr, const struct ib_qp_address *peer, struct qp_exchange *out)
{
    const struct isthmus_services *s = tr->services;
    struct ib_qp *qp = NULL;
    isthmus_status status = find_passive_id(tr, &out->passive_id);
    if (status == ISTHMUS_OK)
        status = tr->adapter != NULL ? ib_qp_create(tr->adapter, NULL, &qp)
                                     : s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "%s", tr->why_no_adapter);
    if (status == ISTHMUS_OK) status = ib_qp_connect(qp, peer);
    if (status != ISTHMUS_OK) {
        ib_qp_destroy(qp);
        return status;
    }
    ib_qp_address(qp, &out->qp);
    tr->passive_qps[out->passive_id] = qp;
    tr->n_passive_qps++;
    return ISTHMUS_OK;
}

/* Returns false if there is none of that id. */
static bool passive_qp_release(isthmus_tr *tr, uint32_t id)
{
    if (id >= tr->n_passive_ids || tr->passive_qps[id] == NULL) return false;
    ib_qp_destroy(tr->passive_qps[id]);
    tr->passive_qps[id] = NULL;
    tr->n_passive_qps--;
    return true;
}

/* Counterparts beyond half of this PE's part are lent, so that some always come free again; beyond the whole part a
 * peer has to repeat its request. */
static isthmus_status passive_qp_grant(isthmus_tr *tr, const struct ib_qp_address *peer, struct qp_exchange *out)
{
    uint64_t most = (uint64_t)tr->most_qps * tr->settings.n_workers;
    if (tr->adapter != NULL && tr->n_granted_qps >= most) {
        out->terms = QP_LATER;
        return ISTHMUS_OK;
    }
    out->terms = tr->n_granted_qps >= most / 2 ? QP_LENT : QP_KEPT;
    isthmus_status status = passive_qp_create(tr, peer, out);
    if (status == ISTHMUS_OK) tr->n_granted_qps++;
    return status;
}

/* On worker 0: a peer requests the counterpart of its queue pair, or releases it. */
static ucs_status_t on_qp_request(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                  const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    const struct isthmus_services *s = worker->tr->services;
    struct qp_exchange theirs, mine = {0};
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes != EXCHANGE_OFFSET + sizeof theirs ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0)
        return UCS_OK;
    memcpy(&theirs, (const char *)data + EXCHANGE_OFFSET, sizeof theirs);
    if (theirs.qp.qp_num == 0) {
        if (passive_qp_release(worker->tr, theirs.passive_id)) worker->tr->n_granted_qps--;
        return UCS_OK;
    }
    struct ib_am_message *message = ib_am_message_alloc(worker);
    if (message == NULL) return UCS_OK;
    if (passive_qp_grant(worker->tr, &theirs.qp, &mine) != ISTHMUS_OK) {
        mine.qp.qp_num = 0;
        snprintf(mine.why, sizeof mine.why, "%s", s->fail_text(s->core));
    }
    memcpy(&message->request, data, sizeof message->request);
    memcpy(message->data, &mine, sizeof mine);
    ib_am_reply(worker, param->reply_ep, IB_AM_QP_REPLY, message, sizeof mine);
    return UCS_OK;
}

static void forget_qp(struct ib_ep *ep)
{
    ib_qp_destroy(ep->qp);
    ep->qp = NULL;
    ep->is_qp_connected = ep->has_qp_answered = false;
    ep->worker->rc->n_qps--;
}

/* Returns OK if the queue pair is connected. */
static isthmus_status connect_qp(struct ib_ep *ep, const struct ib_qp_address *peer)
{
    isthmus_status status = ib_qp_connect(ep->qp, peer);
    ep->is_qp_connected = status == ISTHMUS_OK;
    if (ep->is_qp_connected) __atomic_store_n(&ep->path->has_masked, ib_qp_has_masked(ep->qp), __ATOMIC_RELAXED);
    return status;
}

static void qp_connected(struct ib_ep *ep, const struct qp_exchange *theirs)
{
    const struct isthmus_services *s = ep->worker->tr->services;
    struct ib_rc *rc = ep->worker->rc;
    ep->passive_id = theirs->passive_id;
    ep->is_qp_lent = theirs->terms == QP_LENT;
    if (theirs->terms == QP_LATER)
        forget_qp(ep); /* ib_rc_connect() sends another request */
    else if (theirs->qp.qp_num == 0)
        snprintf(rc->why, sizeof rc->why, "%.*s", (int)sizeof theirs->why - 1, theirs->why);
    else if (connect_qp(ep, &theirs->qp) != ISTHMUS_OK)
        snprintf(rc->why, sizeof rc->why, "%s", s->fail_text(s->core));
    ib_batch_count(&ep->qp_connecting, 0);
}

static ucs_status_t on_qp_reply(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    struct ib_am_request_id request_id;
    struct qp_exchange theirs;
    (void)header;
    if (!ib_am_is_eager(param, header_bytes) || length_bytes != EXCHANGE_OFFSET + sizeof theirs) return UCS_OK;
    memcpy(&request_id, data, sizeof request_id);
    memcpy(&theirs, (const char *)data + EXCHANGE_OFFSET, sizeof theirs);
    struct ib_ep *ep = request_id.index < worker->n_ep_ids ? worker->eps_by_id[request_id.index] : NULL;
    if (ep != NULL && ep->qp_connecting.n_pending > 0) qp_connected(ep, &theirs);
    return UCS_OK;
}

static ucs_status_t send_exchange(struct ib_ep *ep, const struct qp_exchange *mine)
{
    struct ib_am_message *message = ib_am_message_alloc(ep->worker);
    if (message == NULL) return UCS_ERR_NO_MEMORY;
    message->request = (struct ib_am_request_id){.index = ep->id};
    message->address = 0;
    memcpy(message->data, mine, sizeof *mine);
    return ib_am_send(ep->worker, ep->ucp, IB_AM_QP_REQUEST, message, sizeof *mine);
}

static isthmus_status connect_to_peer(struct ib_ep *ep)
{
    struct qp_exchange mine = {0};
    ib_qp_address(ep->qp, &mine.qp);
    ib_batch_count(&ep->qp_connecting, 1);
    ucs_status_t sent = send_exchange(ep, &mine);
    if (sent == UCS_OK) return ISTHMUS_OK;
    ib_batch_count(&ep->qp_connecting, 0);
    return ib_ep_fail(ep, sent);
}

/* The counterparts of this PE's own memory are under the lock of worker 0. No thread that holds that lock waits for
 * another one. */
static void lock_first(struct ib_worker *worker)
{
    if (worker->index != 0) ib_worker_lock(&worker->tr->workers[0]);
}

static void unlock_first(struct ib_worker *worker)
{
    if (worker->index != 0) ib_worker_unlock(&worker->tr->workers[0]);
}

static isthmus_status connect_to_self(struct ib_ep *ep)
{
    struct qp_exchange passive = {0};
    struct ib_qp_address mine;
    ib_qp_address(ep->qp, &mine);
    lock_first(ep->worker);
    isthmus_status status = passive_qp_create(ep->worker->tr, &mine, &passive);
    unlock_first(ep->worker);
    ep->passive_id = passive.passive_id;
    return status == ISTHMUS_OK ? connect_qp(ep, &passive.qp) : status;
}

/* Both ends have nothing under way: this one has all replies. */
static void disconnect(struct ib_ep *ep)
{
    const struct qp_exchange release = {.passive_id = ep->passive_id};
    if (ep->path->is_self) {
        lock_first(ep->worker);
        (void)passive_qp_release(ep->worker->tr, ep->passive_id);
        unlock_first(ep->worker);
    } else if (send_exchange(ep, &release) != UCS_OK) {
        return;
    }
    forget_qp(ep);
}

static bool is_qp_idle(const struct ib_ep *ep)
{
    return ep->has_qp_answered && ep->failure == UCS_OK && ep->rc_replies.n_requests == ep->rc_replies.n_replies;
}

/* The adapter has a number of queue pairs for all PEs and workers of the host. Beyond its share, a worker
 * destroys its least recently used queue pair; the next atomic to that peer makes a new one. A queue pair without a
 * request so far stays: otherwise threads could destroy each other's for ever. */
static void make_room(struct ib_worker *worker)
{
    struct ib_ep *oldest = NULL;
    if (worker->rc->n_qps < worker->tr->most_qps) return;
    for (struct ib_ep *ep = worker->eps; ep != NULL; ep = ep->next)
        if (is_qp_idle(ep) && (oldest == NULL || ep->qp_used < oldest->qp_used)) oldest = ep;
    if (oldest != NULL) disconnect(oldest);
}

static isthmus_status start_to_connect(struct ib_ep *ep)
{
    struct ib_rc *rc = ep->worker->rc;
    make_room(ep->worker);
    isthmus_status status = ib_qp_create(ep->worker->tr->adapter, rc->cq, &ep->qp);
    if (status != ISTHMUS_OK) return status;
    rc->n_qps++;
    ep->qp_used = ++rc->n_uses;
    return ep->path->is_self ? connect_to_self(ep) : connect_to_peer(ep);
}

/* The queue pair stays, unconnected, until the endpoint is closed: later atomics fail too. */
static isthmus_status fail_to_connect(const struct ib_ep *ep)
{
    const isthmus_path *path = ep->path;
    const struct isthmus_services *s = path->tr->services;
    if (ep->failure != UCS_OK) return ib_ep_fail(ep, ep->failure);
    return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "no queue pair for atomics to the adapter of PE %d on %s: %s",
                   path->pe, path->host_name, ep->worker->rc->why);
}

isthmus_status ib_rc_connect(struct ib_ep *ep, enum ib_wait wait)
{
    isthmus_status status = ISTHMUS_OK;
    do { /* again if it was given up before this thread saw it */
        if (ep->failure != UCS_OK) return ib_ep_fail(ep, ep->failure);
        if (ep->qp == NULL) status = start_to_connect(ep); /* else another thread connects it */
        if (status == ISTHMUS_OK) status = ib_ep_wait_for_reply(ep, &ep->qp_connecting, wait);
    } while (status == ISTHMUS_OK && ep->qp == NULL);
    if (status != ISTHMUS_OK) return status;
    return ep->is_qp_connected ? ISTHMUS_OK : fail_to_connect(ep);
}

/* ---- requests ---- */

static void free_request(struct ib_worker *worker, struct rc_request *request)
{
    struct ib_rc *rc = worker->rc;
    request->qp = NULL;
    request->ep = NULL;
    request->sequence++;
    request->next = rc->free;
    rc->free = request;
    rc->n_busy--;
    ib_batch_count(&worker->room, 0);
}

/* Ends the caller's wait. The slot is free once the adapter has completed the request. */
static void complete(struct rc_request *request, ucs_status_t status)
{
    struct ib_ep *ep = request->ep;
    if (ep == NULL) return;
    request->ep = NULL;
    ib_replies_add(&ep->rc_replies);
    if (request->also != NULL) ib_batch_count(request->also, request->also->n_pending - 1);
    ib_batch_end(request->batch, status);
}

static void fail_request(struct rc_request *request, const char *why)
{
    const isthmus_path *path = request->ep->path;
    char text[200];
    snprintf(text, sizeof text, "the adapter of PE %d on %s does not execute an atomic: %s", path->pe, path->host_name,
             why);
    ib_refusal_keep(path->tr, ISTHMUS_ERR_IO, text);
    complete(request, IB_REFUSED);
}

/* Messages have connected the queue pairs, so the peer is there: only packets addressed as these do not reach it. */
static void fail_first_request(struct rc_request *request, const char *why)
{
    const isthmus_path *path = request->ep->path;
    char from[IB_QP_TEXT_BYTES], text[400];
    ib_qp_describe(request->ep->qp, from);
    snprintf(text, sizeof text, "the adapter of PE %d on %s does not answer the first atomic: %.40s; it went by %s",
             path->pe, path->host_name, why, from);
    ib_refusal_keep(path->tr, ISTHMUS_ERR_UNREACHABLE, text);
    complete(request, IB_REFUSED);
}

bool ib_rc_start(struct ib_ep *ep, const struct ib_rc_amo *amo, const struct ib_word_op *op)
{
    struct ib_rc *rc = ep->worker->rc;
    struct rc_request *request = rc->free;
    if (request == NULL) return false;
    rc->free = request->next;
    rc->n_busy++;
    request->ep = ep;
    request->qp = ep->qp;
    request->batch = amo->batch;
    request->also = amo->also;
    request->fetched = amo->fetched;
    ep->rc_replies.n_requests++;
    ep->qp_used = ++rc->n_uses;
    ep->issued |= 1u << IB_OP_RC_AMO;
    ib_batch_count(amo->batch, amo->batch->n_pending + 1);
    if (amo->also != NULL) ib_batch_count(amo->also, amo->also->n_pending + 1);
    const struct ib_qp_target target = {
        .address = amo->address,
        .rkey = amo->rkey,
        .wr_id = (uint64_t)request->sequence << 32 | (uint64_t)(request - rc->list),
    };
    int error = ib_qp_post(ep->qp, &target, op);
    if (error != 0) {
        fail_request(request, strerror(error));
        free_request(ep->worker, request);
    }
    return true;
}

static void request_completed(struct ib_worker *worker, const struct ib_wc *wc)
{
    uint32_t slot = (uint32_t)wc->wr_id;
    struct rc_request *request = slot < MAX_REQUESTS ? &worker->rc->list[slot] : NULL;
    if (request == NULL || request->qp == NULL || request->sequence != wc->wr_id >> 32) return;
    struct ib_ep *ep = request->ep;
    if (ep != NULL && wc->failure == NULL) {
        if (request->fetched != NULL) memcpy(request->fetched, &wc->value, sizeof wc->value);
        ep->has_qp_answered = true;
        complete(request, UCS_OK);
        if (ep->is_qp_lent && is_qp_idle(ep)) disconnect(ep);
    } else if (ep != NULL && wc->is_loss && !ep->has_qp_answered) {
        fail_first_request(request, wc->failure);
    } else if (ep != NULL && wc->is_loss) {
        ib_ep_lose(ep, UCS_ERR_ENDPOINT_TIMEOUT);
        complete(request, UCS_ERR_ENDPOINT_TIMEOUT);
    } else if (ep != NULL) {
        fail_request(request, wc->failure);
    }
    free_request(worker, request);
}

int ib_rc_progress(struct ib_worker *worker)
{
    struct ib_rc *rc = worker->rc;
    struct ib_wc wcs[POLL_AT_ONCE];
    if (rc == NULL || rc->n_busy == 0) return 0;
    uint32_t n = ib_cq_poll(rc->cq, wcs, POLL_AT_ONCE);
    for (uint32_t i = 0; i < n; i++) request_completed(worker, &wcs[i]);
    return (int)n;
}

/* Also while no request is under way: another thread may start one during the sleep. */
int ib_rc_arm(struct ib_worker *worker)
{
    if (worker->rc == NULL) return -1;
    ib_cq_arm(worker->rc->cq);
    return ib_cq_fd(worker->rc->cq);
}

void ib_rc_ep_fail(const struct ib_ep *ep)
{
    struct ib_rc *rc = ep->worker->rc;
    for (uint32_t i = 0; rc != NULL && i < MAX_REQUESTS; i++)
        if (rc->list[i].ep == ep) complete(&rc->list[i], ep->failure);
    if (ep->qp_connecting.n_pending > 0) ib_batch_count((struct ib_batch *)(uintptr_t)&ep->qp_connecting, 0);
}

/* Without its queue pair no request is completed any more. */
void ib_rc_ep_close(struct ib_ep *ep)
{
    struct ib_rc *rc = ep->worker->rc;
    if (ep->qp == NULL) return;
    const struct ib_qp *qp = ep->qp;
    ib_rc_ep_fail(ep);
    forget_qp(ep);
    for (uint32_t i = 0; i < MAX_REQUESTS; i++)
        if (rc->list[i].qp == qp) free_request(ep->worker, &rc->list[i]);
}

/* ---- workers ---- */

isthmus_status ib_rc_worker_open(struct ib_worker *worker)
{
    isthmus_tr *tr = worker->tr;
    const struct isthmus_services *s = tr->services;
    if (tr->adapter == NULL) return ISTHMUS_OK;
    struct ib_rc *rc = worker->rc = calloc(1, sizeof *rc);
    if (rc == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for atomics");
    for (uint32_t i = 0; i < MAX_REQUESTS; i++) {
        rc->list[i].next = rc->free;
        rc->free = &rc->list[i];
    }
    isthmus_status status = ib_cq_create(tr->adapter, MAX_REQUESTS, &rc->cq);
    if (status == ISTHMUS_OK) status = ib_am_listen(worker, IB_AM_QP_REPLY, on_qp_reply);
    if (status == ISTHMUS_OK && worker->index == 0) status = ib_am_listen(worker, IB_AM_QP_REQUEST, on_qp_request);
    return status;
}

void ib_rc_worker_close(struct ib_worker *worker)
{
    if (worker->rc == NULL) return;
    ib_cq_destroy(worker->rc->cq);
    free(worker->rc);
}

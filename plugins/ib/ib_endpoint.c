/* plugins/ib/ib_endpoint.c: paths and endpoints: a path has the peer's address, and an endpoint on each worker that
 * communicates with the peer. And the report of a peer that is lost, or of an operation that fails. */
#include "plugins/ib/am/am.h"
#include "plugins/ib/rc/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures ---- */

enum { LOSS_ROUNDS = 100 }; /* of progress in which UCX reports an endpoint whose requests it has failed */

void ib_refusal_keep(isthmus_tr *tr, isthmus_status code, const char *text)
{
    pthread_mutex_lock(&tr->lost_lock);
    if (tr->refusal.code == ISTHMUS_OK) {
        tr->refusal.code = code;
        snprintf(tr->refusal.text, sizeof tr->refusal.text, "%s", text);
    }
    pthread_mutex_unlock(&tr->lost_lock);
}

static isthmus_status fail_refused(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    pthread_mutex_lock(&tr->lost_lock);
    isthmus_status status = s->fail(s->core, tr->refusal.code, "%s", tr->refusal.text);
    pthread_mutex_unlock(&tr->lost_lock);
    return status;
}

/* UCX fails the requests of a lost endpoint before it reports the loss: poll for that report. */
static void await_report(const struct ib_worker *worker, const ucs_status_t *failure)
{
    for (int i = 0; i < LOSS_ROUNDS && __atomic_load_n(failure, __ATOMIC_RELAXED) == UCS_OK; i++)
        (void)ib_ucp.ucp_worker_progress(worker->ucp);
}

/* The peer is lost if UCX reports that for its endpoint, or a status that no living peer causes. With any other status
 * UCX cannot execute the request on that endpoint. */
static bool is_loss(ucs_status_t why)
{
    return ib_ucp_code(why) == ISTHMUS_ERR_PEER_LOST && why != UCS_ERR_CANCELED && why != UCS_ERR_NOT_CONNECTED;
}

/* `peer`: as text, "PE 3 on node7: ", or "" if it is unknown. */
static isthmus_status fail_operation(const struct isthmus_services *s, const char *peer, ucs_status_t why)
{
    char reason[IB_REASON_TEXT_BYTES];
    isthmus_status code = ib_ucp_code(why);
    if (code == ISTHMUS_ERR_PEER_LOST || code == ISTHMUS_ERR_UNREACHABLE) code = ISTHMUS_ERR_UNSUPPORTED;
    ib_ucp_latest(reason);
    return s->fail(s->core, code, "%sUCX %s cannot execute an operation: %s%s", peer, ib_ucp_version(),
                   ib_ucp.ucs_status_string(why), reason);
}

isthmus_status ib_ep_fail(const struct ib_ep *ep, ucs_status_t why)
{
    const isthmus_path *path = ep->path;
    const struct isthmus_services *s = path->tr->services;
    char peer[IB_HOST_NAME_BYTES + 24];
    if (why == IB_REFUSED) return fail_refused(path->tr);
    if (!is_loss(why)) await_report(ep->worker, &ep->failure);
    if (ep->failure != UCS_OK) why = ep->failure; /* the cause, of which `why` may be a consequence */
    bool is_lost = ep->failure != UCS_OK ? ep->failure != UCS_ERR_NO_MEMORY : is_loss(why);
    if (is_lost)
        return s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: %s", path->pe, path->host_name,
                       ib_ucp.ucs_status_string(why));
    snprintf(peer, sizeof peer, "PE %d on %s: ", path->pe, path->host_name);
    return fail_operation(s, peer, why);
}

isthmus_status ib_batch_fail(const struct ib_worker *worker, struct ib_batch *batch)
{
    isthmus_tr *tr = worker->tr;
    const struct isthmus_services *s = tr->services;
    ucs_status_t why = batch->failure;
    if (why == UCS_OK) return ISTHMUS_OK;
    batch->failure = UCS_OK; /* reported once; the next operation on the lost peer fails by itself */
    if (why == IB_REFUSED) return fail_refused(tr);
    await_report(worker, &tr->lost_why);
    pthread_mutex_lock(&tr->lost_lock);
    isthmus_status status;
    if (tr->lost_pe >= 0)
        status = s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: %s", tr->lost_pe, tr->lost_host,
                         ib_ucp.ucs_status_string(tr->lost_why));
    else
        status = fail_operation(s, "", why);
    pthread_mutex_unlock(&tr->lost_lock);
    return status;
}

static isthmus_status fail_to_connect(const isthmus_path *path, isthmus_status code, ucs_status_t why)
{
    const struct isthmus_services *s = path->tr->services;
    char note[IB_NOTE_BYTES], reason[IB_REASON_TEXT_BYTES], address[IB_IPV4_BYTES];
    (void)ib_ucp_note(note);
    ib_ucp_latest(reason);
    if (ib_net_is_shared(reason, path->host_name, address))
        return s->fail(s->core, code,
                       "no connection to PE %d on %s: it and this host have the address %s; name another network in "
                       "ISTHMUS_INTERFACE",
                       path->pe, path->host_name, address);
    return s->fail(s->core, code,
                   "no connection to PE %d on %s: %s%s; compare links and settings: here is %s, there %s", path->pe,
                   path->host_name, ib_ucp.ucs_status_string(why), reason, note, path->note);
}

void ib_ep_lose(struct ib_ep *ep, ucs_status_t why)
{
    const isthmus_path *path = ep->path;
    isthmus_tr *tr = path->tr;
    ep->failure = why;
    ep->worker->has_lost_eps = true;
    pthread_mutex_lock(&tr->lost_lock);
    if (tr->lost_pe < 0) {
        __atomic_store_n(&tr->lost_pe, path->pe, __ATOMIC_RELAXED);
        tr->lost_why = why;
        memcpy(tr->lost_host, path->host_name, sizeof tr->lost_host);
    }
    pthread_mutex_unlock(&tr->lost_lock);
}

/* Called by UCX, during progress and so under the worker's lock. */
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t why)
{
    (void)ep;
    ib_ep_lose(arg, why);
}

/* ---- endpoints ---- */

/* UCX never connects to the calling PE itself. */
static ucs_status_t ucp_ep_open(struct ib_ep *ep)
{
    const isthmus_path *path = ep->path;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = path->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error, .arg = ep},
    };
    return path->is_self ? UCS_OK : ib_ucp.ucp_ep_create(ep->worker->ucp, &params, &ep->ucp);
}

static isthmus_status ep_create(struct ib_worker *worker, isthmus_path *path, struct ib_ep **out)
{
    const struct isthmus_services *s = path->tr->services;
    struct ib_ep *ep = calloc(1, sizeof *ep);
    if (ep == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an endpoint to PE %d", path->pe);
    ep->worker = worker;
    ep->path = path;
    ib_ep_set_lanes(ep, IB_LANES_MANY, false);
    isthmus_status status = ib_ep_add_id(ep);
    if (status != ISTHMUS_OK) {
        free(ep);
        return status;
    }
    ucs_status_t made = ucp_ep_open(ep);
    if (made != UCS_OK) {
        worker->eps_by_id[ep->id] = NULL;
        free(ep);
        return fail_to_connect(path, made == UCS_ERR_NO_MEMORY ? ISTHMUS_ERR_NO_MEMORY : ISTHMUS_ERR_UNREACHABLE, made);
    }
    ep->next = worker->eps;
    worker->eps = ep;
    path->eps[worker->index] = ep;
    *out = ep;
    return ISTHMUS_OK;
}

isthmus_status ib_ep_get(struct ib_worker *worker, isthmus_path *path, struct ib_ep **out)
{
    struct ib_ep *ep = path->eps[worker->index];
    if (ep == NULL) {
        isthmus_status status = ep_create(worker, path, &ep);
        if (status != ISTHMUS_OK) return status;
    }
    if (ep->failure != UCS_OK) return ib_ep_fail(ep, ep->failure);
    *out = ep;
    return ISTHMUS_OK;
}

/* Messages are sent, and replies received; meanwhile the peer may be lost. */
isthmus_status ib_ep_wait_for_room(struct ib_ep *ep, enum ib_wait wait)
{
    struct ib_worker *worker = ep->worker;
    if (wait == IB_WAIT) {
        ib_batch_count(&worker->room, 1);
        (void)ib_worker_wait(worker, &worker->room, IB_FOR_EVER);
    }
    if (ep->failure != UCS_OK) return ib_ep_fail(ep, ep->failure);
    return wait == IB_WAIT ? ISTHMUS_OK : ISTHMUS_ERR_AGAIN;
}

enum { TURNS_PER_S = 4 }; /* of waits for a reply that last */

#define IB_NS_PER_S UINT64_C(1000000000)

static void report_wait(const struct ib_ep *ep)
{
    const struct isthmus_services *s = ep->worker->tr->services;
    if (ISTHMUS_HAS(s, still_waits)) s->still_waits(s->core);
}

/* Returns true if calls without a wait go on: the peer has some time left. */
static bool may_still_reply(struct ib_ep *ep)
{
    uint64_t now_ns = ib_now_ns();
    if (ep->reply_by_ns == 0) ep->reply_by_ns = now_ns + ep->worker->tr->settings.timeout_s * IB_NS_PER_S;
    if (now_ns >= ep->next_turn_ns) {
        ep->next_turn_ns = now_ns + IB_NS_PER_S / TURNS_PER_S;
        report_wait(ep);
    }
    return now_ns < ep->reply_by_ns;
}

isthmus_status ib_ep_wait_for_reply(struct ib_ep *ep, const struct ib_batch *batch, enum ib_wait wait)
{
    const isthmus_path *path = ep->path;
    const struct isthmus_services *s = path->tr->services;
    uint32_t timeout_s = path->tr->settings.timeout_s;
    if (wait == IB_NO_WAIT && batch->n_pending > 0 && may_still_reply(ep)) return ISTHMUS_ERR_AGAIN;
    for (uint32_t i = 0; wait == IB_WAIT && i < timeout_s * TURNS_PER_S; i++) {
        if (ib_worker_wait(ep->worker, batch, IB_NS_PER_S / TURNS_PER_S)) break;
        report_wait(ep);
    }
    if (batch->n_pending == 0) {
        ep->reply_by_ns = 0;
        return ISTHMUS_OK;
    }
    ib_ep_lose(ep, UCS_ERR_ENDPOINT_TIMEOUT);
    return s->fail(
        s->core, ISTHMUS_ERR_UNREACHABLE,
        "PE %d on %s does not answer within %u s (ISTHMUS_IB_TIMEOUT); its process may be stopped, or its host "
        "overloaded",
        path->pe, path->host_name, timeout_s);
}

/* Waits for the reply to a request that counts in ep->connecting. A peer whose UCX has no memory for a connection lives
 * on and sends no reply, so only the time limit detects it. */
static isthmus_status ep_connects(struct ib_ep *ep, enum ib_wait wait)
{
    const isthmus_path *path = ep->path;
    isthmus_status status = ib_ep_wait_for_reply(ep, &ep->connecting, wait);
    if (status != ISTHMUS_OK) return status;
    ucs_status_t failure = ep->failure != UCS_OK ? ep->failure : ep->connecting.failure;
    if (failure == UCS_OK) return ISTHMUS_OK;
    bool is_lost = ib_ucp_code(failure) == ISTHMUS_ERR_PEER_LOST;
    return fail_to_connect(path, is_lost ? ISTHMUS_ERR_PEER_LOST : ISTHMUS_ERR_UNREACHABLE, failure);
}

/* UCX detects by the address that a local operand lies on a device. A message of our own would be filled by the
 * processor, so there are none where operands may lie on a device. */
static void find_lanes(struct ib_ep *ep)
{
    const isthmus_tr *tr = ep->worker->tr;
    bool may_be_on_device = tr->stage != NULL && tr->kinds != 1u << ISTHMUS_MEM_HOST, is_fenced;
    enum ib_lanes lanes = ib_lanes_query(ep->ucp, &is_fenced);
    bool is_ordered = lanes == IB_LANE_AM || (!ep->path->is_relaxed && ib_order_is_kept(&tr->order, is_fenced));
    ib_ep_set_lanes(ep, lanes == IB_LANE_AM && may_be_on_device ? IB_LANE_RDMA : lanes, is_ordered);
}

static const char *const lanes_text[] = {
    [IB_LANES_MANY] = "several lanes: a fence may flush them",
    [IB_LANE_RDMA] = "one lane: a fence flushes it where atomics come before puts",
    [IB_LANE_AM] = "one TCP connection: short puts and atomics are active messages",
};

void ib_ep_probe(struct ib_ep *ep, ucp_rkey_h rkey, uint64_t address)
{
    ucp_request_param_t params;
    if (ep->has_replied || (ep->before & IB_PROBING) != 0) return; /* the latter: by an earlier call */
    ib_request_params(&params, &ep->connecting);
    ib_batch_add(ib_ucp.ucp_get_nbx(ep->ucp, &ep->sample, sizeof ep->sample, address, rkey, &params), &ep->connecting);
    ep->before |= IB_PROBING;
}

isthmus_status ib_ep_probe_end(struct ib_ep *ep, enum ib_wait wait)
{
    const struct isthmus_services *s = ep->worker->tr->services;
    isthmus_status status = ep_connects(ep, wait);
    if (status != ISTHMUS_OK || ep->has_replied) return status; /* the latter: another thread has waited, too */
    ep->has_replied = true;
    ep->before &= (uint8_t)~IB_PROBING;
    find_lanes(ep);
    s->log(s->core, ISTHMUS_LOG_DEBUG, "PE %d is reached by %s%s", ep->path->pe, lanes_text[ep->lanes],
           ep->is_ordered ? "" : "; puts, in any order, are flushed before what follows a fence");
    return status;
}

/* By force: the peer may be lost, and otherwise the core has completed all operations. */
static void ep_close(struct ib_ep *ep)
{
    ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ib_am_drop_gathered(ep);
    ep->close_request = ib_ucp.ucp_ep_close_nbx(ep->ucp, &params);
    ep->ucp = NULL;
}

void ib_eps_close_lost(struct ib_worker *worker)
{
    worker->has_lost_eps = false;
    for (struct ib_ep *ep = worker->eps; ep != NULL; ep = ep->next) {
        if (ep->failure == UCS_OK || ep->ucp == NULL) continue;
        ep_close(ep);
        ib_device_requests_fail(worker, ep);
        ib_am_flush_done(ep, ep->failure);
        ib_am_fetches_fail(worker, ep);
        ib_rc_ep_fail(ep);
    }
}

static void ep_unlink(struct ib_worker *worker, struct ib_ep *ep)
{
    struct ib_ep **link = &worker->eps;
    while (*link != ep) link = &(*link)->next;
    *link = ep->next;
    if (!ep->is_listed) return;
    for (link = &worker->unflushed; *link != ep;) link = &(*link)->next_unflushed;
    *link = ep->next_unflushed;
}

static void ep_destroy(struct ib_worker *worker, struct ib_ep *ep)
{
    if (ep->ucp != NULL) ep_close(ep);
    if (ep->close_request != NULL && !UCS_PTR_IS_ERR(ep->close_request)) {
        while (ib_ucp.ucp_request_check_status(ep->close_request) == UCS_INPROGRESS)
            (void)ib_ucp.ucp_worker_progress(worker->ucp);
        ib_ucp.ucp_request_free(ep->close_request);
    }
    ib_device_requests_fail(worker, ep);
    ib_am_fetches_fail(worker, ep);
    ib_rc_ep_close(ep);
    worker->eps_by_id[ep->id] = NULL;
    ep_unlink(worker, ep);
    free(ep);
}

/* ---- paths ---- */

/* A new endpoint has nothing to flush: its flush completes when the connection is made or refused. */
static isthmus_status connect_now(isthmus_path *path)
{
    struct ib_worker *worker = &path->tr->workers[0];
    struct ib_ep *ep = NULL;
    ib_worker_lock(worker);
    isthmus_status status = ib_ep_get(worker, path, &ep);
    if (status == ISTHMUS_OK) {
        ucp_request_param_t params;
        ib_request_params(&params, &ep->connecting);
        ib_batch_add(ib_ucp.ucp_ep_flush_nbx(ep->ucp, &params), &ep->connecting);
        status = ep_connects(ep, IB_WAIT);
    }
    ib_worker_unlock(worker);
    return status;
}

isthmus_status ib_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->services;
    struct ib_frame frame;
    const void *address = NULL;
    isthmus_status status = ib_frame_read(s, IB_FRAME_CARD, (struct ib_frame_owner){peer->pe, peer->host_name},
                                          peer->card, peer->card_bytes, &frame, &address);
    if (status != ISTHMUS_OK) return status;
    isthmus_path *path = calloc(1, sizeof *path);
    void *copy = malloc(frame.payload_bytes);
    if (path == NULL || copy == NULL) {
        free(copy);
        free(path);
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    }
    path->tr = tr;
    path->pe = peer->pe;
    path->is_self = peer->pe == s->my_pe;
    path->is_relaxed = frame.is_relaxed != 0;
    path->address = memcpy(copy, address, frame.payload_bytes);
    path->note = ib_frame_note(&frame, copy);
    snprintf(path->host_name, sizeof path->host_name, "%s", peer->host_name);
    if (!path->is_self) status = connect_now(path);
    if (status != ISTHMUS_OK) {
        ib_path_close(path);
        return status;
    }
    *out = path;
    return ISTHMUS_OK;
}

void ib_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    for (uint32_t i = 0; i < path->tr->n_workers; i++) {
        struct ib_worker *worker = &path->tr->workers[i];
        if (path->eps[i] == NULL) continue;
        ib_worker_lock(worker);
        ep_destroy(worker, path->eps[i]);
        ib_worker_unlock(worker);
    }
    free(path->address);
    free(path);
}

/* plugins/ib/ib_endpoint.c: the way to a peer: its address, an end on each worker that needs one, and the report of its
 * loss. */
#include "plugins/ib/ib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures ---- */

enum { LOSS_ROUNDS = 100 }; /* of progress in which UCX reports an endpoint whose requests it has failed */

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

/* The peer is lost if UCX reports that of its endpoint, or a status that no living peer causes. A request that ends
 * otherwise is one that UCX cannot execute there. */
static bool is_loss(ucs_status_t why)
{
    return ib_ucp_code(why) == ISTHMUS_ERR_PEER_LOST && why != UCS_ERR_CANCELED && why != UCS_ERR_NOT_CONNECTED;
}

/* `whom`: the peer as text, "PE 3 on node7: ", or "" if it is unknown. */
static isthmus_status fail_operation(const struct isthmus_services *s, const char *whom, ucs_status_t why)
{
    char reason[IB_REASON_TEXT_BYTES];
    isthmus_status code = ib_ucp_code(why);
    if (code == ISTHMUS_ERR_PEER_LOST || code == ISTHMUS_ERR_UNREACHABLE) code = ISTHMUS_ERR_UNSUPPORTED;
    ib_ucp_latest(reason);
    return s->fail(s->core, code, "%sUCX %s cannot execute an operation: %s%s", whom, ib_ucp_version(),
                   ib_ucp.ucs_status_string(why), reason);
}

isthmus_status ib_end_fail(const struct ib_end *end, ucs_status_t why)
{
    const isthmus_path *path = end->path;
    const struct isthmus_services *s = path->tr->services;
    char whom[IB_HOST_NAME_BYTES + 24];
    if (why == IB_REFUSED) return fail_refused(path->tr);
    if (!is_loss(why)) await_report(end->worker, &end->failure);
    if (end->failure != UCS_OK) why = end->failure; /* the cause, of which `why` may be a consequence */
    bool is_lost = end->failure != UCS_OK ? end->failure != UCS_ERR_NO_MEMORY : is_loss(why);
    if (is_lost)
        return s->fail(s->core, ISTHMUS_ERR_PEER_LOST, "PE %d on %s is lost: %s", path->pe, path->host_name,
                       ib_ucp.ucs_status_string(why));
    snprintf(whom, sizeof whom, "PE %d on %s: ", path->pe, path->host_name);
    return fail_operation(s, whom, why);
}

isthmus_status ib_batch_fail(const struct ib_worker *worker, struct ib_batch *batch)
{
    isthmus_tr *tr = worker->tr;
    const struct isthmus_services *s = tr->services;
    ucs_status_t why = batch->failure;
    if (why == UCS_OK) return ISTHMUS_OK;
    batch->failure = UCS_OK; /* returned once; the next operation on the lost peer fails by itself */
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
    char note[IB_NOTE_BYTES], reason[IB_REASON_TEXT_BYTES];
    (void)ib_ucp_note(note);
    ib_ucp_latest(reason);
    return s->fail(s->core, code, "no connection to PE %d on %s: %s%s; UCX works with %s here, with %s there", path->pe,
                   path->host_name, ib_ucp.ucs_status_string(why), reason, note, path->note);
}

void ib_end_lose(struct ib_end *end, ucs_status_t why)
{
    const isthmus_path *path = end->path;
    isthmus_tr *tr = path->tr;
    end->failure = why;
    end->worker->has_lost_ends = true;
    pthread_mutex_lock(&tr->lost_lock);
    if (tr->lost_pe < 0) {
        __atomic_store_n(&tr->lost_pe, path->pe, __ATOMIC_RELAXED);
        tr->lost_why = why;
        memcpy(tr->lost_host, path->host_name, sizeof tr->lost_host);
    }
    pthread_mutex_unlock(&tr->lost_lock);
}

/* From UCX, inside progress and so under the worker's lock. */
static void on_error(void *arg, ucp_ep_h ep, ucs_status_t why)
{
    (void)ep;
    ib_end_lose(arg, why);
}

/* ---- ends ---- */

/* UCX never connects to this PE itself. */
static ucs_status_t endpoint_create(struct ib_end *end)
{
    const isthmus_path *path = end->path;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = path->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error, .arg = end},
    };
    return path->is_self ? UCS_OK : ib_ucp.ucp_ep_create(end->worker->ucp, &params, &end->ep);
}

static isthmus_status end_create(struct ib_worker *worker, isthmus_path *path, struct ib_end **out)
{
    const struct isthmus_services *s = path->tr->services;
    struct ib_end *end = calloc(1, sizeof *end);
    if (end == NULL)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an end of the path to PE %d", path->pe);
    end->worker = worker;
    end->path = path;
    ib_end_carries(end, IB_LANES);
    isthmus_status status = ib_short_number(end);
    if (status != ISTHMUS_OK) {
        free(end);
        return status;
    }
    ucs_status_t made = endpoint_create(end);
    if (made != UCS_OK) {
        worker->numbered[end->number] = NULL;
        free(end);
        return fail_to_connect(path, made == UCS_ERR_NO_MEMORY ? ISTHMUS_ERR_NO_MEMORY : ISTHMUS_ERR_UNREACHABLE, made);
    }
    end->next = worker->ends;
    worker->ends = end;
    path->ends[worker->index] = end;
    *out = end;
    return ISTHMUS_OK;
}

isthmus_status ib_end_get(struct ib_worker *worker, isthmus_path *path, struct ib_end **out)
{
    struct ib_end *end = path->ends[worker->index];
    if (end == NULL) {
        isthmus_status status = end_create(worker, path, &end);
        if (status != ISTHMUS_OK) return status;
    }
    if (end->failure != UCS_OK) return ib_end_fail(end, end->failure);
    *out = end;
    return ISTHMUS_OK;
}

/* Waits for the reply to `request`, which counts in end->opening. A peer whose UCX has no memory for a connection lives
 * on and sends no reply, so only the time limit detects it. */
static isthmus_status end_opens(struct ib_end *end, ucs_status_ptr_t request)
{
    const isthmus_path *path = end->path;
    const struct isthmus_services *s = path->tr->services;
    ib_post(request, &end->opening);
    if (!ib_worker_wait(end->worker, &end->opening, path->tr->settings.timeout_s * (uint64_t)1000000000)) {
        ib_end_lose(end, UCS_ERR_ENDPOINT_TIMEOUT);
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE, "PE %d on %s does not answer within %u s (ISTHMUS_IB_TIMEOUT)",
                       path->pe, path->host_name, path->tr->settings.timeout_s);
    }
    ucs_status_t failure = end->failure != UCS_OK ? end->failure : end->opening.failure;
    if (failure == UCS_OK) return ISTHMUS_OK;
    bool is_lost = ib_ucp_code(failure) == ISTHMUS_ERR_PEER_LOST;
    return fail_to_connect(path, is_lost ? ISTHMUS_ERR_PEER_LOST : ISTHMUS_ERR_UNREACHABLE, failure);
}

static const char *const carriages[] = {
    [IB_LANES] = "several lanes: a fence may flush them",
    [IB_LANE] = "one lane: a fence flushes it where atomics come before puts",
    [IB_LINE] = "one connection: short puts and atomics are messages",
};

isthmus_status ib_end_prove(struct ib_end *end, ucp_rkey_h key, uint64_t address)
{
    if (end->has_answered || end->opening.n_pending > 0) return ISTHMUS_OK; /* the latter: another thread does it */
    const struct isthmus_services *s = end->worker->tr->services;
    ucp_request_param_t params;
    ib_request_params(&params, &end->opening);
    isthmus_status status = end_opens(
        end, ib_ucp.ucp_get_nbx(end->ep, &end->sample, sizeof end->sample, address, key, &params));
    end->has_answered = status == ISTHMUS_OK;
    if (!end->has_answered) return status;
    ib_end_carries(end, ib_short_carriage(end));
    s->log(s->core, ISTHMUS_LOG_DEBUG, "PE %d is reached by %s", end->path->pe, carriages[end->carriage]);
    return status;
}

/* By force: the peer may be lost, and the core has completed all that was under way. */
static void end_close(struct ib_end *end)
{
    ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    end->closing = ib_ucp.ucp_ep_close_nbx(end->ep, &params);
    end->ep = NULL;
}

void ib_ends_bury(struct ib_worker *worker)
{
    worker->has_lost_ends = false;
    for (struct ib_end *end = worker->ends; end != NULL; end = end->next) {
        if (end->failure == UCS_OK || end->ep == NULL) continue;
        end_close(end);
        ib_asks_fail(worker, end);
        ib_short_call_ended(end, end->failure);
        ib_short_fetches_fail(worker, end);
        ib_nic_end_fail(end);
    }
}

static void unlink_end(struct ib_worker *worker, struct ib_end *end)
{
    struct ib_end **link = &worker->ends;
    while (*link != end) link = &(*link)->next;
    *link = end->next;
    if (!end->is_dirty) return;
    for (link = &worker->dirty; *link != end;) link = &(*link)->next_dirty;
    *link = end->next_dirty;
}

static void end_destroy(struct ib_worker *worker, struct ib_end *end)
{
    if (end->ep != NULL) end_close(end);
    if (end->closing != NULL && !UCS_PTR_IS_ERR(end->closing)) {
        while (ib_ucp.ucp_request_check_status(end->closing) == UCS_INPROGRESS)
            (void)ib_ucp.ucp_worker_progress(worker->ucp);
        ib_ucp.ucp_request_free(end->closing);
    }
    ib_asks_fail(worker, end);
    ib_short_fetches_fail(worker, end);
    ib_nic_end_close(end);
    worker->numbered[end->number] = NULL;
    unlink_end(worker, end);
    free(end);
}

/* ---- paths ---- */

/* A new end has no state of its peer: a flush ends when the connection is made or refused. */
static isthmus_status connect_now(isthmus_path *path)
{
    struct ib_worker *worker = &path->tr->workers[0];
    struct ib_end *end = NULL;
    ib_worker_lock(worker);
    isthmus_status status = ib_end_get(worker, path, &end);
    if (status == ISTHMUS_OK) {
        ucp_request_param_t params;
        ib_request_params(&params, &end->opening);
        status = end_opens(end, ib_ucp.ucp_ep_flush_nbx(end->ep, &params));
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
        if (path->ends[i] == NULL) continue;
        ib_worker_lock(worker);
        end_destroy(worker, path->ends[i]);
        ib_worker_unlock(worker);
    }
    free(path->address);
    free(path);
}

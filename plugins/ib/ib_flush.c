/* plugins/ib/ib_flush.c: flushes, of one endpoint or of all at once, and commits, with and without a wait.
 * An endpoint has one flush at a time, whichever channel began it. A flush that was under way before may not cover the
 * latest operations, so it is waited for first; a flush that begins later covers them.
 *
 * A commit without a wait covers the operations that the channel has issued so far, and is not to be held up by later
 * ones. So these count in the other halves from then on, and the commit keeps, for each endpoint, the number of the
 * last operation that has to be flushed. One is under way at a time. */
#include "plugins/ib/am/am.h"

#include <isthmus/inline.h>
#include <stdlib.h>

/* Returns true if a flush of all endpoints has to flush this one. A flush of this endpoint alone also covers notifies,
 * and operations whose value the caller has waited for: mark_all(). */
static bool needs_flush(const struct ib_ep *ep) { return ep->n_flushed < ep->n_to_flush; }

static void mark_all(struct ib_ep *ep) { ep->n_to_flush = ep->n_issued; }

/* No flush is pending: takes note of the last one. */
static isthmus_status flush_settle(struct ib_ep *ep)
{
    if (ep->failure != UCS_OK) return ib_ep_fail(ep, ep->failure);
    if (ep->flush.failure != UCS_OK) return ib_ep_fail(ep, ep->flush.failure);
    if (ep->n_flushed < ep->n_flushing) ep->n_flushed = ep->n_flushing;
    return ISTHMUS_OK;
}

IB_INLINE isthmus_status flush_ended(struct ib_worker *worker, struct ib_ep *ep)
{
    (void)ib_worker_wait(worker, &ep->flush, IB_FOR_EVER);
    return flush_settle(ep);
}

/* The peer's adapter reads behind its writes, which are visible then. */
static void read_back(struct ib_ep *ep, const ucp_request_param_t *params)
{
    const struct ib_place *put = &ep->last_put;
    if (put->number <= ep->n_flushed) return;
    ib_batch_add(ib_ucp.ucp_get_nbx(ep->ucp, &ep->sample, sizeof ep->sample, put->address, put->rkey, params),
                 &ep->flush);
}

IB_INLINE void flush_start(struct ib_ep *ep)
{
    ucp_request_param_t params;
    if (!needs_flush(ep) || ep->flush.n_pending > 0 || ep->failure != UCS_OK) return;
    ib_am_send_gathered(ep);
    ep->n_flushing = ep->n_issued;
    if (ep->lanes == IB_LANE_AM && ib_am_flush(ep)) return;
    ib_request_params(&params, &ep->flush);
    if (ep->path->is_relaxed) read_back(ep, &params);
    ib_batch_add(ib_ucp.ucp_ep_flush_nbx(ep->ucp, &params), &ep->flush);
}

isthmus_status ib_flush_one(struct ib_worker *worker, struct ib_ep *ep)
{
    mark_all(ep);
    if (ep->flush.n_pending > 0) (void)ib_worker_wait(worker, &ep->flush, IB_FOR_EVER);
    flush_start(ep);
    return needs_flush(ep) ? flush_ended(worker, ep) : ISTHMUS_OK;
}

/* Removes endpoints that are flushed; a lost one stays, because each flush returns its failure. */
static void sweep(struct ib_worker *worker)
{
    for (struct ib_ep **link = &worker->unflushed; *link != NULL;) {
        struct ib_ep *ep = *link;
        if (needs_flush(ep)) {
            link = &ep->next_unflushed;
            continue;
        }
        ep->is_listed = false;
        *link = ep->next_unflushed;
    }
}

/* Meanwhile endpoints are only added to the list, in front. Returns the first failure; the others are flushed too. */
static isthmus_status flush_all(struct ib_worker *worker)
{
    isthmus_status status = ISTHMUS_OK;
    worker->n_flushing_all++;
    for (struct ib_ep *ep = worker->unflushed; ep != NULL; ep = ep->next_unflushed)
        if (ep->flush.n_pending > 0) (void)ib_worker_wait(worker, &ep->flush, IB_FOR_EVER);
    for (struct ib_ep *ep = worker->unflushed; ep != NULL; ep = ep->next_unflushed) flush_start(ep);
    for (struct ib_ep *ep = worker->unflushed; ep != NULL; ep = ep->next_unflushed) {
        isthmus_status ended = needs_flush(ep) ? flush_ended(worker, ep) : ISTHMUS_OK;
        if (status == ISTHMUS_OK) status = ended;
    }
    if (--worker->n_flushing_all == 0) sweep(worker);
    return status;
}

/* ---- the halves ---- */

isthmus_status ib_wait_local(isthmus_chan *chan)
{
    isthmus_status first = ISTHMUS_OK;
    for (int i = 0; i < 2; i++) {
        (void)ib_worker_wait(chan->worker, &chan->halves[i].local, IB_FOR_EVER);
        isthmus_status status = ib_batch_fail(chan->worker, &chan->halves[i].local);
        if (first == ISTHMUS_OK) first = status;
    }
    return first;
}

isthmus_status ib_wait_remote(isthmus_chan *chan)
{
    isthmus_status first = ISTHMUS_OK;
    if (ib_batch_is_done(&chan->halves[0].remote) && ib_batch_is_done(&chan->halves[1].remote)) return ISTHMUS_OK;
    for (int i = 0; i < 2; i++) {
        (void)ib_worker_wait(chan->worker, &chan->halves[i].remote, IB_FOR_EVER);
        isthmus_status status = ib_batch_fail(chan->worker, &chan->halves[i].remote);
        if (first == ISTHMUS_OK) first = status;
    }
    return first;
}

/* Everything is flushed: what is left of the commit under way are operations that are complete at the target. */
static isthmus_status end_commit(isthmus_chan *chan)
{
    struct ib_commit *commit = &chan->commit;
    if (!commit->is_under_way) return ISTHMUS_OK;
    (void)ib_worker_wait(chan->worker, &commit->halves->local, IB_FOR_EVER);
    commit->is_under_way = false;
    commit->n_flushes = 0;
    return ib_batch_fail(chan->worker, &commit->halves->local);
}

isthmus_status ib_remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    struct ib_worker *worker = chan->worker;
    isthmus_status status = ISTHMUS_OK;
    isthmus_publish_stores_();
    ib_worker_lock(worker);
    struct ib_ep *ep = path != NULL ? path->eps[worker->index] : NULL;
    if (ep != NULL)
        status = ib_flush_one(worker, ep);
    else if (path == NULL)
        status = flush_all(worker);
    isthmus_status rest = ib_wait_remote(chan);
    if (path == NULL && rest == ISTHMUS_OK) rest = end_commit(chan);
    ib_worker_unlock(worker);
    return status != ISTHMUS_OK ? status : rest;
}

/* ---- without a wait ---- */

static bool add_flush(struct ib_commit *commit, struct ib_ep *ep)
{
    if (commit->n_flushes == commit->room) {
        uint32_t room = commit->room == 0 ? 8 : 2 * commit->room;
        struct ib_commit_flush *flushes = realloc(commit->flushes, room * sizeof *flushes);
        if (flushes == NULL) return false;
        commit->flushes = flushes;
        commit->room = room;
    }
    commit->flushes[commit->n_flushes++] = (struct ib_commit_flush){ep, ep->n_to_flush};
    return true;
}

static bool add_flushes(isthmus_chan *chan, isthmus_path *path)
{
    struct ib_worker *worker = chan->worker;
    struct ib_ep *ep = path != NULL ? path->eps[worker->index] : worker->unflushed;
    chan->commit.n_flushes = 0;
    if (path != NULL && ep != NULL) mark_all(ep);
    for (; ep != NULL; ep = path != NULL ? NULL : ep->next_unflushed) {
        ib_am_send_gathered(ep); /* now: a flush that is under way may not end before the reply to one of these puts */
        if (needs_flush(ep) && !add_flush(&chan->commit, ep)) return false;
    }
    return true;
}

/* Returns AGAIN until the endpoint is flushed as far as it has to be. */
static isthmus_status advance_flush(const struct ib_commit_flush *flush)
{
    struct ib_ep *ep = flush->ep;
    while (ep->n_flushed < flush->n_to_flush) {
        if (ep->flush.n_pending > 0) return ISTHMUS_ERR_AGAIN;
        isthmus_status status = flush_settle(ep);
        if (status != ISTHMUS_OK) return status;
        if (ep->n_flushed < flush->n_to_flush) flush_start(ep);
    }
    return ISTHMUS_OK;
}

isthmus_status ib_flush_begin(struct ib_ep *ep)
{
    const struct ib_commit_flush flush = {ep, ep->n_before};
    if (ep->n_to_flush < ep->n_before) ep->n_to_flush = ep->n_before;
    return advance_flush(&flush);
}

/* Starts what can start, and forgets what is done. Returns the first failure. */
static isthmus_status advance_flushes(struct ib_commit *commit)
{
    isthmus_status first = ISTHMUS_OK;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < commit->n_flushes; i++) {
        isthmus_status status = advance_flush(&commit->flushes[i]);
        if (status == ISTHMUS_ERR_AGAIN)
            commit->flushes[n_left++] = commit->flushes[i];
        else if (first == ISTHMUS_OK)
            first = status;
    }
    commit->n_flushes = n_left;
    return first;
}

/* Under the lock. */
static isthmus_status advance(isthmus_chan *chan)
{
    struct ib_commit *commit = &chan->commit;
    struct ib_worker *worker = chan->worker;
    isthmus_status status = advance_flushes(commit);
    if (status == ISTHMUS_OK) status = ib_batch_fail(worker, &commit->halves->local);
    if (status == ISTHMUS_OK) status = ib_batch_fail(worker, &commit->halves->remote);
    if (status == ISTHMUS_OK &&
        commit->n_flushes + commit->halves->local.n_pending + commit->halves->remote.n_pending > 0)
        return ISTHMUS_ERR_AGAIN;
    commit->is_under_way = false;
    if (worker->n_flushing_all == 0) sweep(worker);
    return status;
}

isthmus_status ib_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    struct ib_commit *commit = &chan->commit;
    isthmus_publish_stores_();
    ib_worker_lock(chan->worker);
    if (commit->is_under_way) {
        ib_worker_unlock(chan->worker);
        return ISTHMUS_ERR_AGAIN;
    }
    if (!add_flushes(chan, path)) {
        ib_worker_unlock(chan->worker);
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a commit");
    }
    bool is_first = chan->local == &chan->halves[0].local;
    commit->halves = &chan->halves[is_first ? 0 : 1];
    chan->local = &chan->halves[is_first ? 1 : 0].local;
    chan->remote = &chan->halves[is_first ? 1 : 0].remote;
    commit->is_under_way = true;
    *ticket = ++commit->ticket;
    isthmus_status status = advance_flushes(commit);
    ib_worker_unlock(chan->worker);
    return status;
}

isthmus_status ib_commit_test(isthmus_chan *chan, uint64_t ticket)
{
    struct ib_worker *worker = chan->worker;
    isthmus_status status = ISTHMUS_OK;
    ib_worker_lock(worker);
    if (chan->commit.is_under_way && ticket >= chan->commit.ticket) {
        if (!worker->has_leader) (void)ib_worker_progress(worker);
        status = advance(chan);
    }
    ib_worker_unlock(worker);
    return status;
}

int32_t ib_poll(isthmus_chan *chan)
{
    struct ib_worker *worker = chan->worker;
    ib_worker_lock(worker);
    int32_t n_events = worker->has_leader ? 0 : ib_worker_progress(worker);
    ib_worker_unlock(worker);
    return n_events;
}

/* plugins/ofi/ofi_order.c: fence, the two halves of quiet, and commits without a wait.
 * Messages to one PE are executed in the order in which they were sent, so a fence has to order them against accesses
 * only: those before it are waited for, and those after it wait for messages before it (ofi_rma.c). */
#include "ofi.h"

static struct ofi_half *other_half(isthmus_chan *chan) { return &chan->halves[1 - chan->now]; }

static bool half_is_done(const struct ofi_half *half) { return half->local.n_pending + half->remote.n_pending == 0; }

/* Returns the failure of the operations that were counted there, once. */
static isthmus_status take_failure(struct ofi_half *half)
{
    isthmus_path *failed = half->local.failed != NULL ? half->local.failed : half->remote.failed;
    half->local.failed = half->remote.failed = NULL;
    return failed != NULL ? ofi_path_lost(failed) : ISTHMUS_OK;
}

/* ---- commits: those of one channel follow one another ---- */

static bool messages_are_done(const isthmus_tr *tr, uint64_t ticket)
{
    for (const isthmus_path *path = tr->unacked; path != NULL; path = path->next_unacked)
        if (path->unacked_since < ticket && path->acked < ticket && path->acked < path->committed) return false;
    return true;
}

/* One flush at a time is under way on a path: that of the ticket, or a later one. */
static bool flushes_are_done(const isthmus_tr *tr, uint64_t ticket)
{
    for (uint32_t i = 0; i < tr->n_paths && tr->needs_flush; i++) {
        const isthmus_path *path = tr->paths[i];
        if (path != NULL && path->flushes.n_pending > 0 && path->flush_asked < ticket) return false;
    }
    return true;
}

static isthmus_status flush_all(isthmus_tr *tr, isthmus_status (*flush)(isthmus_path *))
{
    isthmus_status status = ISTHMUS_OK;
    for (uint32_t i = 0; i < tr->n_paths && tr->needs_flush && status == ISTHMUS_OK; i++)
        if (tr->paths[i] != NULL) status = flush(tr->paths[i]);
    return status;
}

/* Requests an acknowledgement of all that was sent, unless the newest request has done so. AGAIN: nothing was sent. */
static isthmus_status commit(isthmus_path *path)
{
    isthmus_status status = path->asked < path->sent ? ofi_commit_try(path) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) path->committed = path->asked;
    return status;
}

/* The ticket is a number that no request has: above those of the requests that it covers, below those of later ones.
 * After AGAIN, paths that have their commit request get no second one. */
static isthmus_status begin(isthmus_chan *chan)
{
    isthmus_tr *tr = chan->tr;
    if (chan->ticket != 0) return ISTHMUS_ERR_AGAIN;
    isthmus_status flushed = flush_all(tr, ofi_flush_try);
    if (flushed != ISTHMUS_OK) return flushed;
    uint64_t ticket = ++tr->newest_number;
    for (isthmus_path *path = tr->unacked, *next; path != NULL; path = next) {
        next = path->next_unacked; /* a lost path leaves the list */
        isthmus_status status = commit(path);
        if (status != ISTHMUS_OK) return status;
    }
    chan->ticket = ticket;
    chan->now = 1 - chan->now;
    return ISTHMUS_OK;
}

/* Of the commit under way, if there is one. */
static isthmus_status test(isthmus_chan *chan)
{
    isthmus_tr *tr = chan->tr;
    struct ofi_half *half = other_half(chan);
    if (chan->ticket == 0) return ISTHMUS_OK;
    if (!half_is_done(half) || !messages_are_done(tr, chan->ticket) || !flushes_are_done(tr, chan->ticket))
        return ISTHMUS_ERR_AGAIN;
    chan->done_ticket = chan->ticket;
    chan->ticket = 0;
    isthmus_status status = take_failure(half);
    return status == ISTHMUS_OK && tr->lost_unacked != NULL ? ofi_path_lost(tr->lost_unacked) : status;
}

/* Begins a commit, after the one under way. AGAIN: that one is not complete, or there is no room for a request. */
static isthmus_status follow(isthmus_chan *chan)
{
    isthmus_status status = test(chan);
    return status == ISTHMUS_OK ? begin(chan) : status;
}

isthmus_status ofi_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    isthmus_publish_stores_(); /* stores to the own PE */
    ofi_lock(chan->tr);
    if (path != NULL && path->has_notified) ofi_note_unacked(path, path->sent); /* all else is covered anyway */
    isthmus_status status = follow(chan);
    if (status == ISTHMUS_OK) *ticket = chan->ticket;
    ofi_unlock(chan->tr);
    return status;
}

isthmus_status ofi_commit_test(isthmus_chan *chan, uint64_t ticket)
{
    isthmus_tr *tr = chan->tr;
    isthmus_status status = ISTHMUS_OK;
    ofi_lock(tr);
    if (chan->done_ticket < ticket && (status = test(chan)) == ISTHMUS_ERR_AGAIN) {
        if (tr->leader == NULL) tr->n_armed_events += (uint32_t)ofi_poll(tr);
        status = test(chan);
    }
    ofi_unlock(tr);
    return status;
}

static isthmus_status commit_all(isthmus_chan *chan, struct ofi_wait *wait)
{
    isthmus_status status;
    while ((status = follow(chan)) == ISTHMUS_ERR_AGAIN) {
        wait->needs_room = chan->ticket == 0;
        ofi_wait_step(wait);
    }
    uint64_t ticket = chan->ticket;
    wait->needs_room = false;
    while (status == ISTHMUS_OK && chan->done_ticket < ticket) {
        status = test(chan);
        if (status != ISTHMUS_ERR_AGAIN) continue;
        ofi_wait_step(wait);
        status = ISTHMUS_OK;
    }
    return status;
}

/* Also words of notify(), which a commit of all paths leaves out. They are in no list of requests under way: the wait
 * names the path, whose process may have ended. */
static isthmus_status commit_path(isthmus_path *path)
{
    struct ofi_wait wait = {.tr = path->tr, .path = path, .needs_room = true};
    isthmus_status status = ISTHMUS_OK;
    if (path->is_self || !path->has_notified) return status;
    while ((status = commit(path)) == ISTHMUS_ERR_AGAIN) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    return status == ISTHMUS_OK ? ofi_await_acked(path, path->committed) : status;
}

isthmus_status ofi_remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    isthmus_tr *tr = chan->tr;
    struct ofi_wait wait = {.tr = tr};
    isthmus_publish_stores_(); /* stores to the own PE */
    ofi_lock(tr);
    isthmus_status status = path != NULL ? commit_path(path) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = commit_all(chan, &wait);
    ofi_wait_end(&wait);
    ofi_unlock(tr);
    return status;
}

/* ---- the rest ---- */

isthmus_status ofi_local_complete(isthmus_chan *chan, isthmus_path *path)
{
    struct ofi_wait wait = {.tr = chan->tr};
    (void)path;
    ofi_lock(chan->tr);
    while (chan->halves[0].local.n_pending + chan->halves[1].local.n_pending > 0) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    isthmus_status status = take_failure(ofi_half_now(chan));
    ofi_unlock(chan->tr);
    return status;
}

isthmus_status ofi_await_accesses(isthmus_chan *chan)
{
    struct ofi_wait wait = {.tr = chan->tr};
    while (!half_is_done(&chan->halves[0]) || !half_is_done(&chan->halves[1])) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    isthmus_status status = take_failure(ofi_half_now(chan));
    return status == ISTHMUS_OK ? flush_all(chan->tr, ofi_flush) : status;
}

isthmus_status ofi_fence(isthmus_chan *chan, isthmus_path *path)
{
    isthmus_tr *tr = chan->tr;
    isthmus_order_stores_(); /* stores to the own PE */
    ofi_lock(tr);
    isthmus_status status = ofi_await_accesses(chan);
    if (path != NULL)
        path->fenced = tr->newest_number;
    else
        tr->fenced = tr->newest_number;
    ofi_unlock(tr);
    return status;
}

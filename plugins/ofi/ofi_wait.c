/* plugins/ofi/ofi_wait.c: how a thread waits inside of a slot. One thread at a time leads: it makes progress for all
 * that wait, polls for a while, and then sleeps on the completion queue. Meanwhile the core's progress thread leaves
 * the endpoint alone (ofi_arm() returns AGAIN). */
#include "ofi.h"

#include <assert.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

enum {
    NAP_NS = 50000000,    /* the longest sleep; events end it */
    NAP_BLIND_NS = 50000, /* without a descriptor, or for what makes no event */
    CHECK_NS = 200000000, /* between two checks of the peer */
    PING_AFTER_NS = 500000000,
    REPORT_NS = 250000000 /* between two calls of still_waits() */
};

uint64_t ofi_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the peer ---- */

/* Without the lock: the core may query the job's server, and other threads go on meanwhile. They may close the path. */
static void check_in_job(isthmus_path *path)
{
    isthmus_tr *tr = path->tr;
    const struct isthmus_services *s = tr->services;
    const uint16_t index = path->index;
    const int32_t pe = path->pe;
    ofi_unlock(tr);
    bool is_alive = s->peer_alive(s->core, pe) != 0;
    ofi_lock(tr);
    if (tr->paths[index] != path || path->pe != pe) return;
    if (is_alive)
        ofi_ping(path);
    else
        ofi_path_lose(path, "it has ended, or left the job");
}

/* Many operations may wait for one peer, which is checked once. Returns true if the lock was released meanwhile. */
static bool check_path(isthmus_path *path, uint64_t now_ns, bool is_long)
{
    if (path->is_lost || path->is_self || now_ns < path->checked_ns + CHECK_NS) return false;
    path->checked_ns = now_ns;
    if (ofi_path_has_ended(path)) {
        ofi_path_lose(path, "its process has ended");
    } else if (is_long && ISTHMUS_HAS(path->tr->services, peer_alive)) {
        check_in_job(path);
        return true;
    } else if (is_long) {
        ofi_ping(path);
    }
    return false;
}

/* Each path once: where the lock was released, the list may be another one, and begins again. */
static void check_unacked(isthmus_tr *tr, uint64_t now_ns, bool is_long)
{
    for (isthmus_path *path = tr->unacked, *next; path != NULL; path = next) {
        next = path->next_unacked; /* a lost path leaves the list */
        if (check_path(path, now_ns, is_long)) next = tr->unacked;
    }
}

/* Without the lock: the core may end the job in that call, and other threads go on meanwhile. */
static void report_wait(struct ofi_wait *wait, uint64_t now_ns)
{
    const struct isthmus_services *s = wait->tr->services;
    if (!wait->is_cold || now_ns - wait->reported_ns < REPORT_NS || !ISTHMUS_HAS(s, still_waits)) return;
    wait->reported_ns = now_ns;
    ofi_unlock(wait->tr);
    s->still_waits(s->core);
    ofi_lock(wait->tr);
}

/* A provider without connections reports no loss, and one with them only when something is sent. */
static void check_peers(struct ofi_wait *wait, uint64_t now_ns)
{
    isthmus_tr *tr = wait->tr;
    if (wait->since_ns == 0) wait->since_ns = wait->checked_ns = wait->reported_ns = now_ns;
    report_wait(wait, now_ns);
    if (now_ns - wait->checked_ns < CHECK_NS) return;
    wait->checked_ns = now_ns;
    bool is_long = now_ns - wait->since_ns > PING_AFTER_NS;
    if (wait->path != NULL) {
        (void)check_path(wait->path, now_ns, is_long);
        return;
    }
    check_unacked(tr, now_ns, is_long);
    for (uint32_t i = 0; i < OFI_ACCESSES; i++)
        if (tr->accesses[i].is_used && tr->accesses[i].path != NULL)
            (void)check_path(tr->accesses[i].path, now_ns, is_long);
    for (uint32_t i = 0; i < OFI_CALLS; i++)
        if (tr->calls[i].is_used) (void)check_path(tr->calls[i].path, now_ns, is_long);
}

/* ---- steps ---- */

static void nap(const struct ofi_wait *wait)
{
    isthmus_tr *tr = wait->tr;
    bool is_blind = wait->needs_room || tr->unsent != NULL || tr->unposted != NULL;
    const struct timespec most = {.tv_nsec = is_blind ? NAP_BLIND_NS : tr->resends ? OFI_RESEND_EVERY_NS : NAP_NS};
    struct fid *queue = &tr->cq->fid;
    struct pollfd ready = {.fd = tr->event_fd >= 0 ? tr->event_fd : tr->timer_fd, .events = POLLIN};
    if (tr->event_fd >= 0 && fi_trywait(tr->fabric, &queue, 1) != FI_SUCCESS) return;
    if (tr->event_fd < 0 && ofi_timer_set(tr, NAP_BLIND_NS) != ISTHMUS_OK) return;
    int cancel = tr->cancel_before; /* the thread stays as it is during the nap */
    ofi_unlock(tr);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    (void)ppoll(&ready, 1, &most, NULL);
    ofi_lock(tr);
    tr->cancel_before = cancel;
}

static void yield_lock(isthmus_tr *tr)
{
    ofi_unlock(tr);
    sched_yield();
    ofi_lock(tr);
}

static void lead(struct ofi_wait *wait)
{
    isthmus_tr *tr = wait->tr;
    tr->leader = wait;
    wait->thread = pthread_self();
    int32_t n = ofi_poll(tr);
    if (n > 0) {
        tr->n_armed_events += (uint32_t)n; /* for a PE whose other threads wait for what has arrived */
        wait->idle = (struct isthmus_idle){0};
        if (tr->n_followers > 0) pthread_cond_broadcast(&tr->changed);
        return;
    }
    if (__atomic_load_n(&tr->n_lock_waiters, __ATOMIC_RELAXED) > 0) yield_lock(tr);
    if (isthmus_idle_look_again(&wait->idle, &tr->habit)) return;
    uint64_t now = ofi_now_ns();
    check_peers(wait, now);
    switch (isthmus_idle_next(&wait->idle, &tr->habit, now)) {
    case ISTHMUS_IDLE_LOOK: break;
    case ISTHMUS_IDLE_SLEEP: nap(wait); break;
    case ISTHMUS_IDLE_YIELD:
        yield_lock(tr);
        isthmus_idle_yielded(&tr->habit, now, ofi_now_ns());
        break;
    }
}

/* The leader may wait for another peer, so a follower checks its own. */
static void follow(struct ofi_wait *wait)
{
    isthmus_tr *tr = wait->tr;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += wait->needs_room ? NAP_BLIND_NS : NAP_NS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    int cancel = tr->cancel_before; /* of this thread; others have the lock meanwhile */
    tr->n_followers++;
    (void)pthread_cond_clockwait(&tr->changed, &tr->lock, CLOCK_MONOTONIC, &until);
    tr->n_followers--;
    tr->cancel_before = cancel;
    check_peers(wait, ofi_now_ns());
}

void ofi_wait_step(struct ofi_wait *wait)
{
    const struct ofi_wait *leader = wait->tr->leader;
    assert(leader == NULL || leader == wait || !pthread_equal(leader->thread, pthread_self()));
    if (leader != NULL && leader != wait)
        follow(wait);
    else
        lead(wait);
}

void ofi_wait_end(struct ofi_wait *wait)
{
    isthmus_tr *tr = wait->tr;
    if (tr->leader != wait) return;
    tr->leader = NULL;
    if (tr->n_followers > 0) pthread_cond_broadcast(&tr->changed);
}

isthmus_status ofi_wait_for(isthmus_tr *tr, const struct ofi_count *count)
{
    struct ofi_wait wait = {.tr = tr};
    while (count->n_pending > 0) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    return count->failed == NULL ? ISTHMUS_OK : ofi_path_lost(count->failed);
}

/* plugins/ib/ib_worker.c: workers: which thread makes their progress, and how a wait passes its time.
 * One thread at a time leads a worker: it makes progress for all threads that wait on that worker, polls for a while,
 * and then sleeps on the worker's descriptor. While there is a leader the core's progress thread may not sleep on that
 * worker (ib_arm() returns AGAIN), and polls again a little later: so taking and leaving the lead costs nothing. */
#include "plugins/ib/am/am.h"
#include "plugins/ib/rc/rc.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/statvfs.h>
#include <time.h>

enum { FIRST_EVERY = 4 }; /* polls of another worker by its leader: then worker 0 is polled as well */
enum { POST_LOOKS = 16 }; /* the most polls between a peer's post and its launch */
enum { NAP_MS = 50 };     /* the longest sleep; events end it. Bounds what a lost event could cost */
/* Over an adapter a completion follows soon, and to be woken for it takes longer than the operation. */
enum { ADAPTER_AWAKE_NS = 1000000 };

uint64_t ib_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- life ---- */

static void destroy_dead_rkeys(struct ib_worker *worker);

static isthmus_status add_to_events(const struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = worker->index};
    if (epoll_ctl(worker->tr->events, EPOLL_CTL_ADD, worker->event_fd, &event) == 0 || errno == EEXIST)
        return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "cannot wait for a UCX worker: epoll: %s", strerror(errno));
}

/* A single worker is waited for by its own descriptor: with tr->events each message would wake one more descriptor.
 * The progress thread does not sleep on private ones. */
static isthmus_status watch_worker(struct ib_worker *worker)
{
    isthmus_tr *tr = worker->tr;
    const struct isthmus_services *s = tr->services;
    ucs_status_t got = ib_ucp.ucp_worker_get_efd(worker->ucp, &worker->event_fd);
    if (got != UCS_OK)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED,
                       "UCX has no descriptor to sleep on: %s; a transport of UCX_TLS may lack one",
                       ib_ucp.ucs_status_string(got));
    if (worker->index == 0 || worker->is_private) return ISTHMUS_OK;
    isthmus_status status = add_to_events(&tr->workers[0]);
    return status == ISTHMUS_OK ? add_to_events(worker) : status;
}

/* UCX's own shared memory lies in /dev/shm; when that is full, UCX reports only that it has no memory. */
static isthmus_status fail_to_create(const struct isthmus_services *s, ucs_status_t why)
{
    struct statvfs shm;
    char room[160] = "", reason[IB_REASON_TEXT_BYTES];
    ib_ucp_reason(reason);
    if (why == UCS_ERR_NO_MEMORY && statvfs("/dev/shm", &shm) == 0)
        snprintf(room, sizeof room, "; /dev/shm, which UCX uses for its shared memory, has %llu KiB free of %llu KiB",
                 (unsigned long long)shm.f_bavail * shm.f_frsize / 1024,
                 (unsigned long long)shm.f_blocks * shm.f_frsize / 1024);
    return s->fail(s->core, ib_ucp_code(why), "ucp_worker_create: %s%s%s", ib_ucp.ucs_status_string(why), reason, room);
}

isthmus_status ib_worker_create(isthmus_tr *tr, bool is_private)
{
    const struct isthmus_services *s = tr->services;
    struct ib_worker *worker = &tr->workers[tr->n_workers];
    *worker = (struct ib_worker){
        .tr = tr,
        .index = tr->n_workers,
        .is_private = is_private,
        .has_no_lock = is_private && tr->stage == NULL, /* registrations of staged memory open pools of all workers */
        .event_fd = -1,
        .habit.awake_ns = tr->wakes ? 0 : ADAPTER_AWAKE_NS};
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    /* UCX's interface of datagrams repeats a registration that fails for ever. */
    isthmus_status status = ib_check_locked_memory(tr);
    if (status != ISTHMUS_OK) return status;
    ib_ucp_reason_begin();
    ucs_status_t made = ib_ucp.ucp_worker_create(tr->ucp, &params, &worker->ucp);
    if (made != UCS_OK) return fail_to_create(s, made);
    status = watch_worker(worker);
    if (status == ISTHMUS_OK && tr->stage != NULL) status = ib_device_listen(worker);
    if (status == ISTHMUS_OK) status = ib_am_open(worker);
    if (status == ISTHMUS_OK) status = ib_rc_worker_open(worker);
    if (status != ISTHMUS_OK) {
        ib_ucp.ucp_worker_destroy(worker->ucp);
        ib_rc_worker_close(worker);
        ib_am_close(worker);
        return status;
    }
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    __atomic_store_n(&tr->n_workers, tr->n_workers + 1, __ATOMIC_RELEASE); /* pairs with the acquires of progress */
    return ISTHMUS_OK;
}

void ib_worker_destroy(struct ib_worker *worker)
{
    (void)epoll_ctl(worker->tr->events, EPOLL_CTL_DEL, worker->event_fd, NULL);
    destroy_dead_rkeys(worker);
    ib_ucp.ucp_worker_destroy(worker->ucp);
    ib_rc_worker_close(worker);
    ib_am_close(worker);
    free(worker->device_requests);
    ib_operands_close(worker);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
}

/* A worker is created only when all others have a channel. If that fails, channels share the workers that there are. */
struct ib_worker *ib_worker_least_used(isthmus_tr *tr)
{
    struct ib_worker *least = &tr->workers[0];
    uint32_t n_shared = 0;
    for (uint32_t i = 0; i < tr->n_workers; i++) {
        if (tr->workers[i].is_private) continue;
        n_shared++;
        if (tr->workers[i].n_channels < least->n_channels) least = &tr->workers[i];
    }
    if (least->n_channels == 0 || n_shared == tr->settings.n_workers || tr->n_workers == IB_MAX_WORKERS) return least;
    return ib_worker_create(tr, false) == ISTHMUS_OK ? &tr->workers[tr->n_workers - 1] : least;
}

struct ib_worker *ib_worker_private(isthmus_tr *tr)
{
    for (uint32_t i = 0; i < tr->n_workers; i++)
        if (tr->workers[i].is_private && tr->workers[i].n_channels == 0) return &tr->workers[i];
    if (tr->n_workers == IB_MAX_WORKERS || ib_worker_create(tr, true) != ISTHMUS_OK) return NULL;
    return &tr->workers[tr->n_workers - 1];
}

/* ---- remote keys ---- */

struct ib_dead_rkey {
    struct ib_dead_rkey *next;
    ucp_rkey_h rkey;
};

/* Where there is no memory, the key goes with the worker. */
static void leave_to_caller(struct ib_worker *worker, ucp_rkey_h rkey)
{
    struct ib_dead_rkey *dead = malloc(sizeof *dead);
    if (dead == NULL) return;
    pthread_mutex_lock(&worker->lock);
    *dead = (struct ib_dead_rkey){worker->dead_rkeys, rkey};
    __atomic_store_n(&worker->dead_rkeys, dead, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&worker->lock);
}

void ib_worker_drop_rkey(struct ib_worker *worker, ucp_rkey_h rkey)
{
    if (worker->has_no_lock) {
        leave_to_caller(worker, rkey);
        return;
    }
    ib_worker_lock(worker);
    ib_ucp.ucp_rkey_destroy(rkey);
    ib_worker_unlock(worker);
}

/* ---- requests ---- */

void ib_on_done(void *request, ucs_status_t status, void *user_data)
{
    ib_batch_end(user_data, status);
    ib_ucp.ucp_request_free(request);
}

/* ---- progress ---- */

static void destroy_dead_rkeys(struct ib_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    struct ib_dead_rkey *dead = worker->dead_rkeys;
    __atomic_store_n(&worker->dead_rkeys, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&worker->lock);
    while (dead != NULL) {
        struct ib_dead_rkey *next = dead->next;
        ib_ucp.ucp_rkey_destroy(dead->rkey);
        free(dead);
        dead = next;
    }
}

static int ucp_progress(struct ib_worker *worker)
{
    __atomic_store_n(&ib_ucp_progresses, true, __ATOMIC_RELAXED);
    worker->gathers_posts = true;
    int n = (int)ib_ucp.ucp_worker_progress(worker->ucp);
    worker->gathers_posts = false;
    __atomic_store_n(&ib_ucp_progresses, false, __ATOMIC_RELAXED);
    return n;
}

/* To look for what else has arrived costs less than a launch. */
static int execute_posts(struct ib_worker *worker)
{
    int n = 0;
    for (int i = 0, more = 1; i < POST_LOOKS && more > 0 && worker->n_posts > 0; i++) {
        more = ucp_progress(worker);
        n += more;
    }
    ib_stage_execute_posts(worker->tr);
    return n;
}

int ib_worker_progress(struct ib_worker *worker)
{
    if (__atomic_load_n(&worker->dead_rkeys, __ATOMIC_RELAXED) != NULL) destroy_dead_rkeys(worker);
    int n = ucp_progress(worker);
    if (worker->n_posts > 0) n += execute_posts(worker); /* before endpoints close, by which it replies */
    n += ib_rc_progress(worker);
    if (!worker->has_lost_eps) return n;
    ib_eps_close_lost(worker);
    return n + 1;
}

/* Some adapters, Soft-RoCE among them, report only events after they were armed: earlier ones are polled for. */
isthmus_status ib_worker_arm(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    ucs_status_t armed = ib_ucp.ucp_worker_arm(worker->ucp);
    if (armed == UCS_OK) {
        int n = ib_worker_progress(worker);
        if (n == 0) return ISTHMUS_OK;
        /* A waiting PE sleeps until progress() reports these events, one of which may end its wait. */
        worker->n_armed_events += (uint32_t)n;
        if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
        return ISTHMUS_ERR_AGAIN;
    }
    if (armed == UCS_ERR_BUSY) return ISTHMUS_ERR_AGAIN;
    return s->fail(s->core, ISTHMUS_ERR_IO, "ucp_worker_arm: %s", ib_ucp.ucs_status_string(armed));
}

/* Messages of peers arrive at worker 0. The leader of another worker polls worker 0 too, because the progress thread
 * leaves both alone meanwhile. No lock is waited for: the thread that holds the lock of worker 0 makes its progress.
 * The leader of worker 0 is read without the lock, so that threads which wait on other workers do not pass its cache
 * line around. */
static struct ib_worker *try_lock_first(struct ib_worker *worker)
{
    struct ib_worker *first = &worker->tr->workers[0];
    if (worker == first || __atomic_load_n(&first->has_leader, __ATOMIC_RELAXED)) return NULL;
    if (!ib_worker_trylock(first)) return NULL;
    if (!first->has_leader) return first;
    ib_worker_unlock(first);
    return NULL;
}

static int poll_once(struct ib_worker *worker)
{
    int n = ib_worker_progress(worker);
    if (n > 0 && worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
    if (++worker->n_polls % FIRST_EVERY != 0) return n;
    struct ib_worker *first = try_lock_first(worker);
    if (first == NULL) return n;
    int n_first = ib_worker_progress(first);
    if (n_first > 0 && first->n_followers > 0) pthread_cond_broadcast(&first->changed);
    ib_worker_unlock(first);
    return n + n_first;
}

/* Returns at once where there is work, or where the worker cannot be armed. */
static void nap(struct ib_worker *worker)
{
    struct pollfd fds[] = {{.fd = worker->event_fd, .events = POLLIN},
                           {.fd = -1, .events = POLLIN},
                           {.fd = ib_rc_arm(worker), .events = POLLIN}};
    isthmus_status status = ib_worker_arm(worker); /* and polls the armed queue pairs again */
    struct ib_worker *first = status == ISTHMUS_OK ? try_lock_first(worker) : NULL;
    if (first != NULL) {
        status = ib_worker_arm(first);
        fds[1].fd = first->event_fd;
        ib_worker_unlock(first);
    }
    if (status != ISTHMUS_OK) return;
    int cancel = worker->cancel_before; /* the thread stays as it is during the nap */
    ib_worker_unlock(worker);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    (void)poll(fds, sizeof fds / sizeof *fds, NAP_MS);
    ib_worker_lock(worker);
    worker->cancel_before = cancel;
}

/* A thread that waits for the lock takes it between two polls. */
static void yield_lock(struct ib_worker *worker)
{
    ib_worker_unlock(worker);
    sched_yield();
    ib_worker_lock(worker);
}

static void idle_round(struct ib_worker *worker, struct isthmus_idle *idle, uint64_t now)
{
    switch (isthmus_idle_next(idle, &worker->habit, now)) {
    case ISTHMUS_IDLE_LOOK: break;
    case ISTHMUS_IDLE_SLEEP: nap(worker); break;
    case ISTHMUS_IDLE_YIELD:
        yield_lock(worker);
        isthmus_idle_yielded(&worker->habit, now, ib_now_ns());
        break;
    }
}

static void lead(struct ib_worker *worker, const struct ib_batch *batch, uint64_t deadline_ns)
{
    struct isthmus_idle idle = {0};
    __atomic_store_n(&worker->has_leader, true, __ATOMIC_RELAXED);
    while (batch->n_pending > 0) {
        if (poll_once(worker) > 0) {
            idle = (struct isthmus_idle){0};
            continue;
        }
        if (__atomic_load_n(&worker->n_lock_waiters, __ATOMIC_RELAXED) > 0) yield_lock(worker);
        if (isthmus_idle_look_again(&idle, &worker->habit)) continue;
        uint64_t now = ib_now_ns();
        if (now >= deadline_ns) break;
        idle_round(worker, &idle, now);
    }
    __atomic_store_n(&worker->has_leader, false, __ATOMIC_RELAXED);
    if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
}

static void follow(struct ib_worker *worker, uint64_t deadline_ns)
{
    const struct timespec until = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    int cancel = worker->cancel_before; /* of this thread; others have the lock meanwhile */
    worker->n_followers++;
    if (deadline_ns == IB_FOR_EVER)
        pthread_cond_wait(&worker->changed, &worker->lock);
    else
        pthread_cond_clockwait(&worker->changed, &worker->lock, CLOCK_MONOTONIC, &until);
    worker->n_followers--;
    worker->cancel_before = cancel;
}

bool ib_worker_wait(struct ib_worker *worker, const struct ib_batch *batch, uint64_t timeout_ns)
{
    if (batch->n_pending == 0) return true;
    uint64_t deadline_ns = timeout_ns == IB_FOR_EVER ? IB_FOR_EVER : ib_now_ns() + timeout_ns;
    while (batch->n_pending > 0 && (deadline_ns == IB_FOR_EVER || ib_now_ns() < deadline_ns)) {
        if (worker->has_leader)
            follow(worker, deadline_ns);
        else
            lead(worker, batch, deadline_ns);
    }
    return batch->n_pending == 0;
}

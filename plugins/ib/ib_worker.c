/* plugins/ib/ib_worker.c: progress: who makes it, and how a wait passes its time.
 * One thread at a time leads a worker: it makes progress for all who wait on that worker, spins a moment, and then sleeps on
 * the worker's descriptor. While there is a leader the core's progress thread may not sleep on that worker (ib_arm() says
 * so), and so looks again a little later: to become and to cease to be the leader costs nothing. */
#include "plugins/ib/ib.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum {
    CHEAP_LOOK_NS = 100,
    EAGER_NS = 2000,        /* no processor is given away, where looking is cheap: a round trip over RDMA */
    SHORT_YIELD_NS = 1000,  /* nobody else has run */
    ALONE_LOOKS = 32,       /* then, before the next yield */
    LONG_YIELD_NS = 200000, /* others want the processor: who sleeps gets it back sooner than who yields */
    CROWDED_NS = 20000000,  /* for so long this is believed */
    SPIN_NS = 50000,        /* about a round trip over TCP; after it the processor is worth more to others */
    NAP_MS = 50,            /* the longest sleep; events end it. Bounds what a lost event could cost */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- life ---- */

static isthmus_status watch_worker(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    ucs_status_t got = ib_ucp.ucp_worker_get_efd(worker->ucp, &worker->event_fd);
    if (got != UCS_OK)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "UCX gives no descriptor to sleep on: %s (see UCX_TLS)",
                       ib_ucp.ucs_status_string(got));
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = worker->index};
    if (epoll_ctl(worker->tr->events, EPOLL_CTL_ADD, worker->event_fd, &event) != 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "epoll of a worker: %s", strerror(errno));
    return ISTHMUS_OK;
}

isthmus_status ib_worker_create(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    struct ib_worker *worker = &tr->workers[tr->n_workers];
    *worker = (struct ib_worker){.tr = tr, .index = tr->n_workers, .event_fd = -1};
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t made = ib_ucp.ucp_worker_create(tr->ucp, &params, &worker->ucp);
    if (made != UCS_OK)
        return s->fail(s->core, ib_ucp_code(made), "ucp_worker_create: %s", ib_ucp.ucs_status_string(made));
    isthmus_status status = watch_worker(worker);
    if (status != ISTHMUS_OK) {
        ib_ucp.ucp_worker_destroy(worker->ucp);
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
    ib_ucp.ucp_worker_destroy(worker->ucp);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
}

/* Only created when all others have a channel. A worker that cannot be had is no failure: others do its work. */
struct ib_worker *ib_worker_least_used(isthmus_tr *tr)
{
    struct ib_worker *least = &tr->workers[0];
    for (uint32_t i = 1; i < tr->n_workers; i++)
        if (tr->workers[i].n_channels < least->n_channels) least = &tr->workers[i];
    if (least->n_channels == 0 || tr->n_workers == tr->max_workers) return least;
    return ib_worker_create(tr) == ISTHMUS_OK ? &tr->workers[tr->n_workers - 1] : least;
}

/* ---- requests ---- */

static void on_done(void *request, ucs_status_t status, void *user_data)
{
    struct ib_batch *batch = user_data;
    if (status != UCS_OK && batch->failure == UCS_OK) batch->failure = status;
    batch->n_pending--;
    ib_ucp.ucp_request_free(request);
}

void ib_request_params(ucp_request_param_t *out, struct ib_batch *batch)
{
    *out = (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_done,
        .user_data = batch,
    };
}

/* UCX calls back only for a request that it hands out, and not before we make progress. */
void ib_post(ucs_status_ptr_t request, struct ib_batch *batch)
{
    if (request == NULL) return;
    if (UCS_PTR_IS_ERR(request)) {
        if (batch->failure == UCS_OK) batch->failure = UCS_PTR_STATUS(request);
    } else {
        batch->n_pending++;
    }
}

/* ---- progress ---- */

int ib_worker_progress(struct ib_worker *worker)
{
    int n = (int)ib_ucp.ucp_worker_progress(worker->ucp);
    if (!worker->has_lost_ends) return n;
    ib_ends_bury(worker);
    return n + 1;
}

/* Some adapters, Soft-RoCE among them, tell only of what arrives after they were armed: what came just before is looked for. */
isthmus_status ib_worker_arm(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    ucs_status_t armed = ib_ucp.ucp_worker_arm(worker->ucp);
    if (armed == UCS_OK) {
        if (ib_worker_progress(worker) == 0) return ISTHMUS_OK;
        if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
        return ISTHMUS_ERR_AGAIN;
    }
    if (armed == UCS_ERR_BUSY) return ISTHMUS_ERR_AGAIN;
    return s->fail(s->core, ISTHMUS_ERR_IO, "ucp_worker_arm: %s", ib_ucp.ucs_status_string(armed));
}

static void nap(struct ib_worker *worker)
{
    if (ib_worker_arm(worker) != ISTHMUS_OK) return; /* there is work, or sleep is not possible: spin on */
    struct pollfd fd = {.fd = worker->event_fd, .events = POLLIN};
    pthread_mutex_unlock(&worker->lock);
    (void)poll(&fd, 1, NAP_MS);
    pthread_mutex_lock(&worker->lock);
}

/* How long a leader has had nothing to do, and what it costs to look. */
struct idling {
    uint64_t since_ns, looked_ns; /* 0: not idle */
    bool is_cheap;                /* a look takes no system call */
};

static void note_idle_round(struct idling *idling, uint64_t now)
{
    if (idling->since_ns == 0) idling->since_ns = now;
    idling->is_cheap = now - idling->looked_ns < CHEAP_LOOK_NS;
    idling->looked_ns = now;
}

/* A yield that took no time gave the processor to nobody, and the next ones would not either. The lock is given away all the
 * same: a thread of this PE may want it. */
static void yield(struct ib_worker *worker, uint64_t now)
{
    if (worker->looks_left > 0) {
        worker->looks_left--;
        pthread_mutex_unlock(&worker->lock);
        pthread_mutex_lock(&worker->lock);
        return;
    }
    pthread_mutex_unlock(&worker->lock);
    sched_yield();
    pthread_mutex_lock(&worker->lock);
    uint64_t after = now_ns();
    if (after - now < SHORT_YIELD_NS) worker->looks_left = ALONE_LOOKS;
    if (after - now >= LONG_YIELD_NS) worker->crowded_until_ns = after + CROWDED_NS;
}

/* Where a look is a system call, giving the processor away costs little more, and whom we wait for may need it. */
static void idle_round(struct ib_worker *worker, struct idling *idling)
{
    uint64_t idle_ns = idling->looked_ns - idling->since_ns;
    if (idling->is_cheap && idle_ns < EAGER_NS) return;
    if (idle_ns >= SPIN_NS || idling->looked_ns < worker->crowded_until_ns)
        nap(worker);
    else
        yield(worker, idling->looked_ns);
    idling->looked_ns = now_ns();
}

static void lead(struct ib_worker *worker, const struct ib_batch *batch, uint64_t deadline_ns)
{
    struct idling idling = {.looked_ns = now_ns()};
    worker->has_leader = true;
    while (batch->n_pending > 0) {
        if (ib_worker_progress(worker) > 0) {
            if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
            idling.since_ns = 0;
            continue;
        }
        uint64_t now = now_ns();
        if (now >= deadline_ns) break;
        note_idle_round(&idling, now);
        idle_round(worker, &idling);
    }
    worker->has_leader = false;
    if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
}

static void follow(struct ib_worker *worker)
{
    worker->n_followers++;
    pthread_cond_wait(&worker->changed, &worker->lock);
    worker->n_followers--;
}

bool ib_worker_wait(struct ib_worker *worker, const struct ib_batch *batch, uint64_t timeout_ns)
{
    if (batch->n_pending == 0) return true;
    uint64_t deadline_ns = timeout_ns == IB_FOR_EVER ? IB_FOR_EVER : now_ns() + timeout_ns;
    while (batch->n_pending > 0 && (deadline_ns == IB_FOR_EVER || now_ns() < deadline_ns)) {
        if (worker->has_leader)
            follow(worker);
        else
            lead(worker, batch, deadline_ns);
    }
    return batch->n_pending == 0;
}

/* core/proxy/proxy.c: see device.h. One thread, the server, executes the requests of all kernels, and waits for
 * nothing: a completion begins, requests of other blocks go on meanwhile, and the replies go out when it is there
 * (lane.h). Short fetches have a lane of their own, which costs them the time of one round trip and no quiet.
 *
 * A fence orders the operations of one context. While operations before it may be under way, fetches go into the lane
 * of all other operations: those of another context could overtake.
 *
 * A transport may not be able to commit without a wait. Then the closer (closer.c) waits in the lane's one context,
 * while the server goes on in another one. If the closer's batch has a fence, the server waits for the closer after
 * all, and so does a fence. */
#include "core/proxy/device.h"

#include "core/base/clock.h"
#include "core/base/note.h"
#include "core/base/thread.h"
#include "core/check/check.h"
#include "core/proxy/lane.h"
#include "core/sync/spin.h"
#include "core/transport/progress.h"

#include <isthmus/idle.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    LOG2_SLOTS = 11,  /* 128 KiB of slots; a block that fills it waits for the server, which is the slower side */
    ROUND = 32,       /* requests before kernels may use their slots again */
    HOT_POLLS = 256,  /* without a look at the clock */
    AWAKE_NS = 50000, /* after the last request */
    SHORT_NAP_NS = 20000,
    LONG_NAP_NS = 200000,
    NOTED_NS = 1000000, /* a wait for a completion that lasts longer is noted */
    TIMER_SLACK_NS = 1000,
    LOST_NS = 1000000000 /* at the end: requests that have a ticket and have not come by then come from no kernel */
};

static struct {
    struct ist_requests requests;
    struct ist_lane operations, fetches;
    bool has_closer;                 /* the lane of operations has two contexts, and the closer completes batches */
    bool has_fence;                  /* the server has taken one, which waits for the closer */
    bool always_spins;               /* ISTHMUS_DEVICE_PROXY=spin */
    struct isthmus_idle_habit habit; /* of waits for completions */
    bool is_running, must_end;
    bool is_woken;   /* requests are about to come */
    uint64_t wanted; /* the host's quiets wait for all requests below this ticket */
    uint64_t quiet;  /* below it a batch has that quiet, or has had it */
    uint64_t end;    /* with must_end: the first ticket that need not be served */
    /* Kernels read it, and the server writes it. Those on processors may read when the ring is gone. */
    uint64_t own_stop, *stop;
    const uint64_t *stop_view;
    pthread_t server;
    pthread_mutex_t lock; /* for sleeping and waking */
    pthread_cond_t to_server;
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- how the server passes its time when it has nothing to do ---- */

struct rest {
    uint32_t polls;
    uint64_t since_ns, nap_ns;
    struct isthmus_idle idle; /* while a completion is awaited */
    bool is_noted;
    uint64_t missing_ns; /* at the end: since when nothing is left but requests that have not come */
};

/* Returns true when it is time for a nap. */
static bool is_tired(struct rest *rest)
{
    if (rest->polls++ < HOT_POLLS) {
        ist_pause();
        return false;
    }
    uint64_t now_ns = ist_clock_ns();
    if (rest->since_ns == 0) rest->since_ns = now_ns;
    if (proxy.always_spins || now_ns - rest->since_ns < AWAKE_NS) {
        sched_yield();
        return false;
    }
    return true;
}

/* Returns true if requests are about to come. */
static bool nap(uint64_t nap_ns)
{
    const struct timespec until = ist_clock_until(nap_ns);
    pthread_mutex_lock(&proxy.lock);
    if (!proxy.must_end && !proxy.is_woken) ist_clock_wait(&proxy.to_server, &proxy.lock, &until);
    bool is_woken = proxy.is_woken;
    proxy.is_woken = false;
    pthread_mutex_unlock(&proxy.lock);
    return is_woken;
}

static void wait_for_requests(struct rest *rest)
{
    if (!is_tired(rest)) return;
    ist_device_check();
    rest->nap_ns = rest->nap_ns == 0 ? SHORT_NAP_NS : 2 * rest->nap_ns < LONG_NAP_NS ? 2 * rest->nap_ns : LONG_NAP_NS;
    if (nap(rest->nap_ns)) *rest = (struct rest){0};
}

/* The batch that kernels wait for. */
static const struct ist_batch *awaited(void)
{
    const struct ist_lane *lane = ist_lane_is_done(&proxy.fetches) ? &proxy.operations : &proxy.fetches;
    return lane->closing != NULL ? lane->closing : lane->open;
}

/* Nothing wakes the server when a completion is there. If the wait lasts, it notes what it waits for, for explanations
 * of a job that hangs; the closer notes that itself. */
static void note_wait(struct rest *rest)
{
    if (rest->is_noted || proxy.has_closer) return;
    ist_note_call(IST_NOTE_TRANSPORT, ist_batch_routine, -1);
    ist_batch_note(awaited());
    rest->is_noted = true;
}

static void doze(void)
{
    if (proxy.always_spins)
        sched_yield();
    else
        nap(SHORT_NAP_NS);
}

static void wait_for_completion(struct rest *rest)
{
    if (isthmus_idle_look_again(&rest->idle, &proxy.habit)) return;
    uint64_t now_ns = ist_clock_ns();
    if (rest->since_ns == 0) rest->since_ns = now_ns;
    if (now_ns - rest->since_ns > NOTED_NS) note_wait(rest);
    switch (isthmus_idle_next(&rest->idle, &proxy.habit, now_ns)) {
    case ISTHMUS_IDLE_LOOK: break;
    case ISTHMUS_IDLE_SLEEP: doze(); break;
    case ISTHMUS_IDLE_YIELD:
        sched_yield();
        isthmus_idle_yielded(&proxy.habit, now_ns, ist_clock_ns());
        break;
    }
}

static void start_afresh(struct rest *rest)
{
    if (rest->is_noted) ist_note_over();
    *rest = (struct rest){0};
}

/* ---- completions: each of these returns true if something has happened ---- */

static bool hand_over(struct ist_lane *lane)
{
    if (!proxy.has_closer) ist_lane_split(lane);
    proxy.has_closer = true;
    ist_lane_turn(lane);
    ist_closer_take(lane->closing, &proxy.requests);
    return true;
}

static bool complete_operations(void)
{
    struct ist_lane *lane = &proxy.operations;
    bool is_free = false;
    if (proxy.has_closer && lane->closing != NULL) {
        if (!ist_closer_is_free()) return false;
        lane->closing = NULL;
        is_free = true;
    }
    if (proxy.has_closer && ist_batch_is_awaited(lane->open) && !ist_order_is_simple(lane->open->ctx))
        return hand_over(lane);
    enum ist_lane_result result = ist_lane_advance(lane, &proxy.requests);
    return result == IST_LANE_BLOCKED ? hand_over(lane) : is_free || result == IST_LANE_BUSY;
}

static bool complete_fetches(void)
{
    struct ist_lane *lane = &proxy.fetches;
    enum ist_lane_result result = ist_lane_advance(lane, &proxy.requests);
    if (result != IST_LANE_BLOCKED) return result == IST_LANE_BUSY;
    ist_batch_complete_fetches(lane->open);
    ist_batch_report(lane->open, &proxy.requests);
    return true;
}

/* ---- requests ---- */

/* Returns true if requests may be executed now. */
static bool may_go_on(void)
{
    struct ist_lane *lane = &proxy.operations;
    bool is_closer_busy = proxy.has_closer && lane->closing != NULL;
    if (is_closer_busy && (lane->is_behind_fence || proxy.has_fence)) return false;
    if (proxy.has_fence) ist_batch_fence(lane->open);
    proxy.has_fence = false;
    return *proxy.stop == 0 && !ist_batch_is_full(lane->open) && !ist_batch_is_full(proxy.fetches.open);
}

static void execute(const struct isthmus_request *request)
{
    struct ist_lane *lane = &proxy.operations;
    if (request->op == ISTHMUS_REQUEST_FENCE)
        proxy.has_fence = true;
    else
        ist_batch_add(lane->open, ist_lane_has_fence(lane) ? lane->open : proxy.fetches.open, &proxy.requests, request);
}

/* The host's quiet is one of the open batch, as soon as all requests that it covers are in that batch or were in one
 * before. */
static void add_quiet_of_host(void)
{
    uint64_t wanted = ist_load_acquire(&proxy.wanted), next = proxy.requests.next; /* pairs with want() */
    if ((int64_t)(wanted - proxy.quiet) <= 0 || (int64_t)(next - wanted) < 0) return;
    ist_batch_quiet(proxy.operations.open, next - 1);
    proxy.quiet = next;
}

/* Returns true if there were requests, or completions. */
static bool serve_round(void)
{
    struct isthmus_request request;
    uint32_t n = 0;
    while (n < ROUND && may_go_on() && ist_requests_take(&proxy.requests, &request)) {
        execute(&request);
        n++;
    }
    if (n > 0) ist_requests_consume(&proxy.requests);
    add_quiet_of_host();
    bool any_fetched = complete_fetches(), any_completed = complete_operations();
    return n > 0 || any_fetched || any_completed;
}

/* Nothing that was requested is left, and no reply. */
static bool is_done(void)
{
    return !proxy.has_fence && ist_lane_is_done(&proxy.operations) && ist_lane_is_done(&proxy.fetches);
}

/* Returns true if requests with a ticket will not come any more. */
static bool are_lost(struct rest *rest)
{
    uint64_t now_ns = ist_clock_ns();
    if (!is_done() || rest->missing_ns == 0) rest->missing_ns = now_ns;
    return now_ns - rest->missing_ns > LOST_NS;
}

/* Serves the requests that were made before the end began, and no more: a kernel that does not end would request for
 * ever. Then kernels that still wait are stopped, as ist_proxy_close() promises: nothing replies to them any more. */
static bool is_over(struct rest *rest)
{
    if (!ist_load_acquire(&proxy.must_end)) return false; /* pairs with the release in end_threads() */
    if ((int64_t)(proxy.end - proxy.requests.next) > 0 && !are_lost(rest)) return false;
    ist_store_release(proxy.stop, 1);
    return is_done();
}

/* Operations that no kernel waits for need progress, too. The completion of a lane makes its own. */
static void poll_lanes(void)
{
    static const char routine[] = "a kernel's request";
    if (proxy.operations.closing == NULL || proxy.has_closer) ist_ctx_poll(proxy.operations.open->ctx, routine);
    if (proxy.fetches.closing == NULL) ist_ctx_poll(proxy.fetches.open->ctx, routine);
}

static void *serve(void *unused)
{
    struct rest rest = {0};
    (void)unused;
    ist_spin_is_beside = true;
    prctl(PR_SET_TIMERSLACK, (unsigned long)TIMER_SLACK_NS); /* or a short nap takes four times as long */
    ist_check_enter(); /* arguments are checked in every mode; the order of kernels' calls is not known here */
    for (;;) {
        bool is_busy = serve_round();
        if (is_busy) start_afresh(&rest);
        if (is_over(&rest)) return NULL;
        if (is_busy) continue;
        poll_lanes();
        if (is_done())
            wait_for_requests(&rest);
        else
            wait_for_completion(&rest);
    }
}

/* ---- start and end ---- */

static isthmus_status start_server(void)
{
    int error = ist_quiet_thread_create(&proxy.server, "isthmus proxy", serve, NULL);
    if (error != 0)
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "cannot start the thread for kernels' requests: pthread_create: %s; raise 'ulimit -u'",
                        strerror(error));
    proxy.is_running = true;
    return ISTHMUS_OK;
}

static void choose_stop_word(const struct ist_kernel_memory *memory)
{
    bool is_shared = memory->kernels != NULL;
    proxy.own_stop = 0;
    proxy.stop = is_shared ? proxy.requests.stop : &proxy.own_stop;
    proxy.stop_view = is_shared ? proxy.requests.stop_view : &proxy.own_stop;
}

isthmus_status ist_proxy_open(const struct ist_config *config, const struct ist_kernel_memory *memory)
{
    pthread_cond_init(&proxy.to_server, NULL);
    proxy.must_end = proxy.has_fence = proxy.has_closer = proxy.is_woken = false;
    proxy.wanted = proxy.quiet = 0;
    proxy.habit = (struct isthmus_idle_habit){0};
    proxy.always_spins = config->device_proxy == IST_PROXY_SPIN;
    isthmus_status status = ist_requests_init(&proxy.requests, LOG2_SLOTS, memory);
    if (status == ISTHMUS_OK) choose_stop_word(memory);
    if (status == ISTHMUS_OK) status = ist_lane_init(&proxy.operations);
    if (status == ISTHMUS_OK) status = ist_lane_init(&proxy.fetches);
    if (status == ISTHMUS_OK) status = start_server();
    if (status != ISTHMUS_OK) ist_proxy_close();
    return status;
}

static void end_threads(void)
{
    proxy.end = ist_requests_tail(&proxy.requests); /* perhaps a copy from a device: the server needs the lock */
    pthread_mutex_lock(&proxy.lock);
    ist_store_release(&proxy.must_end, true);
    pthread_cond_signal(&proxy.to_server);
    pthread_mutex_unlock(&proxy.lock);
    pthread_join(proxy.server, NULL);
    ist_closer_end();
    proxy.is_running = false;
}

static void complete_all(const struct ist_lane *lane, void (*complete)(ist_ctx *ctx))
{
    for (int i = 0; i < 2; i++)
        if (lane->batches[i].ctx != NULL) complete(lane->batches[i].ctx);
}

void ist_proxy_end(void (*complete)(ist_ctx *ctx))
{
    if (proxy.is_running) end_threads();
    complete_all(&proxy.operations, complete);
    complete_all(&proxy.fetches, complete);
}

void ist_proxy_close(void)
{
    if (proxy.is_running) end_threads();
    ist_lane_fini(&proxy.operations);
    ist_lane_fini(&proxy.fetches);
    ist_requests_fini(&proxy.requests);
    pthread_cond_destroy(&proxy.to_server);
}

void ist_proxy_wake(void)
{
    pthread_mutex_lock(&proxy.lock);
    proxy.is_woken = proxy.is_running;
    if (proxy.is_running) pthread_cond_signal(&proxy.to_server);
    pthread_mutex_unlock(&proxy.lock);
}

/* ---- the host's quiet ---- */

static void want(uint64_t ticket)
{
    uint64_t before = ist_load_relaxed(&proxy.wanted);
    while ((int64_t)(ticket - before) > 0 &&
           !__atomic_compare_exchange_n(&proxy.wanted, &before, ticket, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

static bool is_quiet_below(uint64_t ticket)
{
    return (int64_t)(ticket - ist_requests_are_quiet_below(&proxy.requests)) <= 0;
}

/* The server notes what it waits for; this note is for a report that has no room for the server's. */
void ist_proxy_quiet(const char *routine)
{
    struct ist_spin spin = {.is_noted = true};
    if (!proxy.is_running) return;
    uint64_t ticket = ist_requests_posted(&proxy.requests);
    if (is_quiet_below(ticket)) return;
    ist_note_call(IST_NOTE_TRANSPORT, routine, -1);
    want(ticket);
    ist_proxy_wake();
    while (!is_quiet_below(ticket)) ist_spin_once(&spin);
    ist_spin_end(&spin);
}

const struct isthmus_ring *ist_proxy_ring(void) { return proxy.requests.for_kernels; }

const uint64_t *ist_proxy_stop_word(void) { return proxy.stop_view; }

void ist_proxy_forget(void)
{
    pthread_mutex_init(&proxy.lock, NULL); /* another thread of the parent may have had it */
    proxy.is_running = false;
    ist_closer_forget();
}

/* core/proxy/proxy.c: see proxy.h. Two threads and three contexts, so that no kernel waits for another one's quiet: the
 * server executes requests in the one context, while the closer waits for the completion of the other one. The closer
 * has at most one batch; what is awaited meanwhile is collected in the open batch. So batches complete in the order of
 * their tickets. Short fetches have a context of their own, which the server completes after each round: the time of
 * one round trip.
 *
 * A fence orders the operations of one context. Where operations before it may be under way, none goes into another
 * context: fetches are executed in the same one, and if the closer gets it, the server waits for the closer. */
#include "core/proxy/proxy.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/check/check.h"
#include "core/ops/order.h"
#include "core/proxy/batch.h"
#include "core/sync/spin.h"
#include "core/transport/progress.h"

#include <sched.h>
#include <string.h>

enum {
    LOG2_SLOTS = 11,  /* 128 KiB of slots; a block that fills it waits for the server, which is the slower side */
    ROUND = 32,       /* requests before kernels may use their slots again */
    HOT_POLLS = 256,  /* without a look at the clock */
    AWAKE_NS = 50000, /* after the last request */
    SHORT_NAP_NS = 20000,
    LONG_NAP_NS = 200000,
    LOST_NS = 1000000000 /* at the end: a kernel with a ticket that has written nothing by then was stopped */
};

static struct {
    struct ist_requests requests;
    struct ist_batch batches[2], fetches;
    struct ist_batch *open;    /* the server's */
    struct ist_batch *closing; /* the closer's; NULL: it has none */
    bool is_held;              /* operations of the batch that is closing come before what follows in the ring */
    bool has_fence;            /* the server has taken one, which waits for that */
    bool always_spins;         /* ISTHMUS_DEVICE_PROXY=spin */
    bool is_running, must_end;
    bool is_served; /* the server has ended: it hands over no more */
    bool is_woken;  /* requests are about to come */
    /* Kernels read it. Those on processors may do so when the ring is gone. */
    uint64_t own_stop, *stop;
    const uint64_t *stop_view;
    pthread_t server, closer;
    pthread_mutex_t lock; /* for sleeping and waking */
    pthread_cond_t to_server, to_closer;
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- how a thread that has nothing to do passes its time ---- */

struct rest {
    uint32_t polls;
    uint64_t since_ns, nap_ns;
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

static void nap(struct rest *rest)
{
    struct timespec until;
    rest->nap_ns = rest->nap_ns == 0 ? SHORT_NAP_NS : 2 * rest->nap_ns < LONG_NAP_NS ? 2 * rest->nap_ns : LONG_NAP_NS;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + rest->nap_ns;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&proxy.lock);
    if (!proxy.must_end && !proxy.is_woken) pthread_cond_timedwait(&proxy.to_server, &proxy.lock, &until);
    if (proxy.is_woken) *rest = (struct rest){0};
    proxy.is_woken = false;
    pthread_mutex_unlock(&proxy.lock);
}

/* ---- the closer ---- */

static void *close_batches(void *unused)
{
    struct rest rest = {0};
    struct ist_batch *batch;
    (void)unused;
    ist_spin_is_beside = true;
    ist_check_enter(); /* these operations are checked as the server's, if at all */
    for (;;) {
        /* Acquire: pairs with the release in hand_over(). */
        while (ist_load_acquire(&proxy.closing) == NULL && !ist_load_acquire(&proxy.is_served) && !is_tired(&rest)) {}
        pthread_mutex_lock(&proxy.lock);
        while ((batch = proxy.closing) == NULL && !proxy.is_served) pthread_cond_wait(&proxy.to_closer, &proxy.lock);
        pthread_mutex_unlock(&proxy.lock);
        if (batch == NULL) return NULL;
        ist_batch_complete(batch);
        ist_batch_report(batch, &proxy.requests);
        ist_store_release(&proxy.closing, NULL); /* pairs with the acquire in is_closer_free() */
        rest = (struct rest){0};
    }
}

/* ---- the server ---- */

static bool is_closer_free(void) { return ist_load_acquire(&proxy.closing) == NULL; }

static void hand_over(void)
{
    struct ist_batch *batch = proxy.open;
    proxy.open = batch == &proxy.batches[0] ? &proxy.batches[1] : &proxy.batches[0];
    proxy.is_held = batch->has_fence;
    pthread_mutex_lock(&proxy.lock);
    ist_store_release(&proxy.closing, batch);
    pthread_cond_signal(&proxy.to_closer);
    pthread_mutex_unlock(&proxy.lock);
}

/* With aliases only there is nothing to wait for. */
static void complete_what_is_awaited(void)
{
    if (ist_batch_is_awaited(&proxy.fetches)) {
        ist_batch_complete_fetches(&proxy.fetches);
        ist_batch_report(&proxy.fetches, &proxy.requests);
    }
    if (!ist_batch_is_awaited(proxy.open) || !is_closer_free()) return;
    if (!ist_order_is_simple(proxy.open->ctx)) {
        hand_over();
        return;
    }
    ist_batch_complete(proxy.open);
    ist_batch_report(proxy.open, &proxy.requests);
}

/* Returns true if requests may be executed now. */
static bool may_go_on(void)
{
    if ((proxy.is_held || proxy.has_fence) && !is_closer_free()) return false;
    proxy.is_held = false;
    if (proxy.has_fence) ist_batch_fence(proxy.open);
    proxy.has_fence = false;
    return !ist_batch_is_full(proxy.open);
}

static void execute(const struct isthmus_request *request)
{
    if (request->op == ISTHMUS_REQUEST_FENCE)
        proxy.has_fence = true;
    else
        ist_batch_add(proxy.open, proxy.open->has_fence ? NULL : &proxy.fetches, &proxy.requests, request);
}

/* Returns how many requests there were. */
static uint32_t serve_round(void)
{
    struct isthmus_request request;
    uint32_t n = 0;
    while (n < ROUND && may_go_on() && ist_requests_take(&proxy.requests, &request)) {
        execute(&request);
        n++;
    }
    if (n > 0) ist_requests_consume(&proxy.requests);
    complete_what_is_awaited();
    return n;
}

/* Nothing that was requested is left, and no reply. */
static bool is_done(void) { return !proxy.has_fence && is_closer_free() && !ist_batch_is_awaited(proxy.open); }

/* Called when there is no request. Kernels that still wait are stopped, as ist_proxy_close() promises. */
static bool is_over(const struct rest *rest)
{
    if (!ist_load_acquire(&proxy.must_end)) return false;
    ist_store_release(proxy.stop, 1);
    bool is_lost = rest->since_ns != 0 && ist_clock_ns() - rest->since_ns > LOST_NS;
    return is_done() && (is_lost || !ist_requests_are_coming(&proxy.requests));
}

static void *serve(void *unused)
{
    struct rest rest = {0};
    (void)unused;
    ist_spin_is_beside = true;
    ist_check_enter(); /* arguments are checked in every mode; the order of kernels' calls is not known here */
    for (;;) {
        if (serve_round() > 0) {
            rest = (struct rest){0};
            continue;
        }
        if (is_over(&rest)) return NULL;
        if (!ist_order_is_simple(proxy.open->ctx)) (void)ist_progress_poll();
        if (!is_tired(&rest)) continue;
        if (is_closer_free())
            nap(&rest);
        else
            sched_yield(); /* the closer's end wakes no thread, and requests may be waiting for it */
    }
}

/* ---- start and end ---- */

static void end_closer(void)
{
    pthread_mutex_lock(&proxy.lock);
    ist_store_release(&proxy.is_served, true); /* pairs with the acquire in close_batches() */
    pthread_cond_signal(&proxy.to_closer);
    pthread_mutex_unlock(&proxy.lock);
    pthread_join(proxy.closer, NULL);
}

static isthmus_status start_threads(void)
{
    int error = ist_quiet_thread_create(&proxy.closer, "isthmus closer", close_batches);
    if (error != 0) return ist_fail(ISTHMUS_ERR_NO_MEMORY, "a thread for kernels' requests: %s", strerror(error));
    error = ist_quiet_thread_create(&proxy.server, "isthmus proxy", serve);
    if (error == 0) {
        proxy.is_running = true;
        return ISTHMUS_OK;
    }
    end_closer();
    return ist_fail(ISTHMUS_ERR_NO_MEMORY, "a thread for kernels' requests: %s", strerror(error));
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
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&proxy.to_server, &monotonic);
    pthread_cond_init(&proxy.to_closer, &monotonic);
    pthread_condattr_destroy(&monotonic);
    proxy.must_end = proxy.is_served = proxy.has_fence = proxy.is_held = proxy.is_woken = false;
    proxy.closing = NULL;
    proxy.open = &proxy.batches[0];
    proxy.always_spins = config->device_proxy == IST_PROXY_SPIN;
    isthmus_status status = ist_requests_init(&proxy.requests, LOG2_SLOTS, memory);
    if (status == ISTHMUS_OK) choose_stop_word(memory);
    if (status == ISTHMUS_OK) status = ist_batch_init(&proxy.batches[0]);
    if (status == ISTHMUS_OK) status = ist_batch_init(&proxy.batches[1]);
    if (status == ISTHMUS_OK) status = ist_batch_init(&proxy.fetches);
    if (status == ISTHMUS_OK) status = start_threads();
    if (status != ISTHMUS_OK) ist_proxy_close();
    return status;
}

static void end_threads(void)
{
    pthread_mutex_lock(&proxy.lock);
    ist_store_release(&proxy.must_end, true);
    pthread_cond_signal(&proxy.to_server);
    pthread_mutex_unlock(&proxy.lock);
    pthread_join(proxy.server, NULL);
    end_closer();
    proxy.is_running = false;
}

static void complete(struct ist_batch *batch)
{
    if (batch->ctx != NULL) ist_quiet(batch->ctx, "finalize");
}

void ist_proxy_end(void)
{
    if (proxy.is_running) end_threads();
    complete(&proxy.batches[0]);
    complete(&proxy.batches[1]);
    complete(&proxy.fetches);
}

void ist_proxy_close(void)
{
    ist_proxy_end();
    ist_batch_fini(&proxy.batches[0]);
    ist_batch_fini(&proxy.batches[1]);
    ist_batch_fini(&proxy.fetches);
    ist_requests_fini(&proxy.requests);
    pthread_cond_destroy(&proxy.to_server);
    pthread_cond_destroy(&proxy.to_closer);
}

void ist_proxy_wake(void)
{
    pthread_mutex_lock(&proxy.lock);
    proxy.is_woken = proxy.is_running;
    if (proxy.is_running) pthread_cond_signal(&proxy.to_server);
    pthread_mutex_unlock(&proxy.lock);
}

const struct isthmus_ring *ist_proxy_ring(void) { return proxy.requests.for_kernels; }

const uint64_t *ist_proxy_stop_word(void) { return proxy.stop_view; }

void ist_proxy_forget(void)
{
    pthread_mutex_init(&proxy.lock, NULL); /* another thread of the parent may have had it */
    proxy.is_running = false;
}

/* core/transport/progress.c: see progress.h.
 * The thread polls the transports' descriptors and one of its own, which wakes it.
 * Callers that wait make progress themselves; each message would wake the thread in addition. So it does not poll the
 * transports while a caller does, but naps and checks again. No call notifies it: a caller's poll is seldom its last
 * one, and a notification costs more than a message. The price is that a message just after the last poll is handled a
 * nap later. */
#include "core/transport/progress.h"

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/transport/registry.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    NAP_LEAST_MS = 2,
    NAP_MOST_MS = 10,
    /* A nap is at most one such part of the time that callers have been polling, and so is the delay of a message that
     * arrives after their last poll. */
    NAP_SHARE = 8,
    EVENTS_AT_ONCE = 64,  /* then callers may take the lock */
    OTHERS_EVERY = 8,     /* polls of a wait between two of the transports that were idle last */
    WATCH_MS = 100,       /* a sleep is no longer while the thread has to watch something else */
    ATTENDED_NS = 100000, /* a polling wait returns to the transports within this time, unless it loses the processor */
    HALT_MS = 100,        /* more than a call of the slots lasts */
    BUSY_ROUNDS = 2       /* after as many rounds with no event and no permission to sleep, a caller must be polling */
};

static struct {
    bool is_running, must_stop;
    pthread_t thread;
    int call_fd;
    uint32_t n_sources;
    struct pollfd fds[IST_MAX_TRANSPORTS + 1]; /* the first one is call_fd */
    struct ist_transport *sources[IST_MAX_TRANSPORTS];
    pthread_mutex_t lock; /* held by the one caller of the progress slots */
    uint32_t busy_source, n_polls;
    bool has_loss; /* `loss` is written once, before this is set */
    char loss[400];
    uint64_t attended_ns; /* the last progress by a wait */
    uint64_t n_events;
    pthread_mutex_t sleep_lock;
    pthread_cond_t handled; /* signals a change of n_events to sleepers */
    uint32_t n_sleepers;    /* callers that rely on the thread */
    bool is_napping;
    pthread_mutex_t watch_lock; /* held during `watch` */
    void (*watch)(void);        /* NULL: nothing */
} progress = {.call_fd = -1,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .sleep_lock = PTHREAD_MUTEX_INITIALIZER,
              .watch_lock = PTHREAD_MUTEX_INITIALIZER};

/* A lost peer ends the job when a PE waits for it; no PE waits for one that leaves in good order. */
static void note_failure(const struct ist_transport *t, isthmus_status status)
{
    if (status == ISTHMUS_ERR_NO_MEMORY) {
        char text[512];
        snprintf(text, sizeof text, "%s (%s)", ist_fail_text(), ist_status_name(status));
        ist_end_job_saying(text);
    } else if (status != ISTHMUS_ERR_PEER_LOST) {
        ist_warn("transport %s: progress failed: %s", t->name, ist_fail_text());
    } else if (!progress.has_loss) {
        ist_info("%s", ist_fail_text());
        snprintf(progress.loss, sizeof progress.loss, "%s", ist_fail_text());
        ist_store_release(&progress.has_loss, true); /* pairs with the acquire in ist_progress_loss() */
    }
}

const char *ist_progress_loss(void) { return ist_load_acquire(&progress.has_loss) ? progress.loss : NULL; }

/* Sequentially consistent, like its pair in ist_progress_sleep(): either the sleeper loads the new number, or this
 * function finds the sleeper. */
static void count_events(uint32_t n)
{
    if (n == 0) return;
    __atomic_fetch_add(&progress.n_events, n, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&progress.n_sleepers, __ATOMIC_SEQ_CST) == 0) return;
    pthread_mutex_lock(&progress.sleep_lock);
    pthread_cond_broadcast(&progress.handled);
    pthread_mutex_unlock(&progress.sleep_lock);
}

static uint32_t progress_one(uint32_t i)
{
    struct ist_transport *t = progress.sources[i];
    int32_t n = t->ops.progress(t->handle);
    if (n < 0) note_failure(t, n);
    if (n <= 0) return 0;
    progress.busy_source = i;
    return (uint32_t)n;
}

static uint32_t progress_locked(void)
{
    uint32_t n_events = 0;
    for (uint32_t i = 0; i < progress.n_sources; i++) n_events += progress_one(i);
    count_events(n_events);
    return n_events;
}

/* For a wait that polls repeatedly: polling a transport is often a system call, which delays other callers. The
 * transport that was busy last is polled each time, the others now and then. */
static uint32_t progress_busy_locked(void)
{
    if (progress.n_polls++ % OTHERS_EVERY == 0) return progress_locked();
    uint32_t n_events = progress_one(progress.busy_source);
    count_events(n_events);
    return n_events;
}

uint32_t ist_progress_poll(void)
{
    if (progress.n_sources == 0) return 0;
    int cancel = ist_cancel_disable();
    uint32_t n_events = 0;
    if (pthread_mutex_trylock(&progress.lock) == 0) {
        n_events = progress_busy_locked();
        pthread_mutex_unlock(&progress.lock);
    }
    ist_cancel_restore(cancel);
    return n_events;
}

void ist_progress_attended(uint64_t now_ns) { ist_store_relaxed(&progress.attended_ns, now_ns); }

uint64_t ist_progress_events(void) { return ist_load_acquire(&progress.n_events); }

/* ---- the thread ---- */

static void call_thread(void)
{
    uint64_t one = 1;
    int cancel = ist_cancel_disable();
    while (write(progress.call_fd, &one, sizeof one) < 0 && errno == EINTR) {}
    ist_cancel_restore(cancel);
}

/* Arms every transport and collects the descriptors to sleep on. Returns false if a transport has work now, or if a
 * caller is doing it. */
static bool arm_all(void)
{
    for (uint32_t i = 0; i < progress.n_sources; i++) {
        struct ist_transport *t = progress.sources[i];
        int32_t fd = -1;
        isthmus_status status = t->ops.arm(t->handle, &fd);
        if (status == ISTHMUS_ERR_AGAIN) return false;
        if (status != ISTHMUS_OK)
            ist_warn("transport %s: cannot sleep while waiting for it, so that waits poll: %s", t->name,
                     ist_fail_text());
        progress.fds[1 + i].fd = fd; /* -1: poll ignores it */
    }
    return true;
}

/* Sleeps on the first n descriptors. Returns false if the thread must end. */
static bool sleep_on(uint32_t n_fds, int timeout_ms)
{
    int ready = poll(progress.fds, n_fds, timeout_ms);
    if (ready < 0 && errno != EINTR) {
        ist_warn("the progress thread ends: poll: %s", strerror(errno));
        return false;
    }
    uint64_t calls;
    if (ready > 0 && progress.fds[0].revents != 0 && read(progress.call_fd, &calls, sizeof calls) < 0)
        return errno == EAGAIN || errno == EINTR;
    return !ist_load_acquire(&progress.must_stop);
}

/* Sequentially consistent: pairs with ist_progress_sleep(). Either this thread finds the sleeper, or the sleeper finds
 * that it has to wake the thread. */
static bool nap(int nap_ms)
{
    __atomic_store_n(&progress.is_napping, true, __ATOMIC_SEQ_CST);
    bool is_needed = __atomic_load_n(&progress.n_sleepers, __ATOMIC_SEQ_CST) > 0;
    bool goes_on = is_needed || sleep_on(1, nap_ms);
    ist_store_relaxed(&progress.is_napping, false);
    return goes_on;
}

/* Each wake-up of the thread stops a caller, so naps get longer the longer callers have been polling. */
static int nap_length_ms(uint64_t *callers_since_ns)
{
    uint64_t now = ist_clock_ns();
    if (*callers_since_ns == 0) *callers_since_ns = now;
    uint64_t ms = (now - *callers_since_ns) / (NAP_SHARE * 1000000u);
    return ms < NAP_LEAST_MS ? NAP_LEAST_MS : ms > NAP_MOST_MS ? NAP_MOST_MS : (int)ms;
}

static bool is_attended(void)
{
    return ist_load_relaxed(&progress.n_sleepers) == 0 &&
           ist_clock_ns() - ist_load_relaxed(&progress.attended_ns) < ATTENDED_NS;
}

/* Returns how long the thread may sleep, in ms; -1: without an end. */
static int watch(void)
{
    pthread_mutex_lock(&progress.watch_lock);
    int most_ms = progress.watch != NULL ? WATCH_MS : -1;
    if (progress.watch != NULL) progress.watch();
    pthread_mutex_unlock(&progress.watch_lock);
    return most_ms;
}

static void *run(void *unused)
{
    uint32_t busy_rounds = 0;
    uint64_t callers_since_ns = 0;
    bool goes_on = true;
    (void)unused;
    while (goes_on) {
        int most_ms = watch();
        if (is_attended()) {
            goes_on = nap(nap_length_ms(&callers_since_ns));
            continue;
        }
        pthread_mutex_lock(&progress.lock);
        uint32_t n_events = 0, n;
        do n_events += n = progress_locked();
        while (n > 0 && n_events < EVENTS_AT_ONCE);
        bool can_sleep = arm_all();
        pthread_mutex_unlock(&progress.lock);
        /* yields to the sleepers that the events have woken */
        if (n_events > 0 && ist_load_relaxed(&progress.n_sleepers) > 0) sched_yield();
        busy_rounds = can_sleep || n_events > 0 ? 0 : busy_rounds + 1;
        if (busy_rounds <= BUSY_ROUNDS) {
            if (busy_rounds == 0) callers_since_ns = 0;
            goes_on = sleep_on(progress.n_sources + 1, can_sleep ? most_ms : 0);
        } else if (ist_load_relaxed(&progress.n_sleepers) > 0) {
            goes_on = sleep_on(1, NAP_LEAST_MS); /* a caller polls, for the sleepers too */
        } else {
            goes_on = nap(nap_length_ms(&callers_since_ns));
        }
    }
    return NULL;
}

void ist_progress_watch(void (*check)(void))
{
    pthread_mutex_lock(&progress.watch_lock);
    progress.watch = check;
    pthread_mutex_unlock(&progress.watch_lock);
    if (check != NULL && progress.is_running) call_thread();
}

/* ---- sleepers ---- */

void ist_progress_sleep(uint64_t n_events, uint64_t most_ns)
{
    if (!progress.is_running) {
        sched_yield();
        return;
    }
    const struct timespec until = ist_clock_until(most_ns);
    pthread_mutex_lock(&progress.sleep_lock);
    __atomic_fetch_add(&progress.n_sleepers, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&progress.is_napping, __ATOMIC_SEQ_CST)) call_thread();
    if (__atomic_load_n(&progress.n_events, __ATOMIC_SEQ_CST) == n_events)
        (void)ist_clock_wait(&progress.handled, &progress.sleep_lock, &until);
    __atomic_fetch_sub(&progress.n_sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&progress.sleep_lock);
}

/* ---- start and stop ---- */

/* Collects the transports that ever have work to do. */
static void collect_sources(void)
{
    progress.n_sources = progress.busy_source = progress.n_polls = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        int32_t fd = -1;
        if (t->state != IST_TRANSPORT_OPEN || (t->ops.arm(t->handle, &fd) == ISTHMUS_OK && fd < 0)) continue;
        progress.sources[progress.n_sources++] = t;
        progress.fds[progress.n_sources] = (struct pollfd){.fd = -1, .events = POLLIN};
    }
}

static void init_sleep(void)
{
    pthread_cond_init(&progress.handled, NULL);
    pthread_mutex_init(&progress.sleep_lock, NULL);
    progress.n_sleepers = 0;
    progress.is_napping = false;
}

isthmus_status ist_progress_start(void)
{
    collect_sources();
    if (progress.n_sources == 0) return ISTHMUS_OK;
    init_sleep();
    progress.must_stop = false;
    progress.call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (progress.call_fd < 0) return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot start the progress thread: eventfd");
    progress.fds[0] = (struct pollfd){.fd = progress.call_fd, .events = POLLIN};
    int error = ist_quiet_thread_create(&progress.thread, "isthmus", run, NULL);
    if (error != 0) {
        close(progress.call_fd);
        progress.call_fd = -1;
        return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                        "cannot start the progress thread: pthread_create: %s; raise 'ulimit -u' or 'ulimit -v'",
                        strerror(error));
    }
    progress.is_running = true;
    return ISTHMUS_OK;
}

void ist_progress_stop(void)
{
    if (progress.is_running) {
        ist_store_release(&progress.must_stop, true); /* pairs with the acquire in sleep_on() */
        call_thread();
        pthread_join(progress.thread, NULL);
        close(progress.call_fd);
    }
    progress.is_running = false;
    progress.call_fd = -1;
    progress.n_sources = 0;
    progress.has_loss = false;
}

void ist_progress_halt(void)
{
    const struct timespec until = ist_clock_until_ms(HALT_MS);
    (void)pthread_mutex_clocklock(&progress.lock, CLOCK_MONOTONIC, &until);
}

void ist_progress_forget(void)
{
    progress.is_running = false;
    progress.n_sources = 0;
    progress.watch = NULL;
    pthread_mutex_init(&progress.lock, NULL);
    pthread_mutex_init(&progress.watch_lock, NULL);
}

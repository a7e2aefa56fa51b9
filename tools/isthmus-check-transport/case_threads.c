/* tools/isthmus-check-transport/case_threads.c: several threads at once, and progress beside them. */
#include "cases.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { N_THREADS = 4, PART_BYTES = 1 << 16, ROUNDS = 400, N_CHANNELS = 100, N_FLUSHES = 50, N_ARMS = 40 };

struct worker {
    struct ct_process *p;
    const struct ct_extent *extent;
    struct ct_channel *channel; /* NULL: one of its own */
    int number;
    pthread_t thread;
    uint8_t buffer[PART_BYTES], back[PART_BYTES];
};

static void open_channel(struct ct_process *p, uint32_t mode, struct ct_channel *out)
{
    pthread_mutex_lock(&p->cold);
    ct_channel_open(p, mode, 0, out);
    pthread_mutex_unlock(&p->cold);
}

static void close_channel(struct ct_process *p, struct ct_channel *channel)
{
    ct_quiet(p, channel);
    pthread_mutex_lock(&p->cold);
    p->t->channel_close(channel->chan);
    pthread_mutex_unlock(&p->cold);
}

/* Each thread has a part of the peer's extent for itself; they share a counter at its end. */
static void *work(void *argument)
{
    struct worker *w = argument;
    struct ct_channel own;
    if (w->channel == NULL) open_channel(w->p, ISTHMUS_THREAD_ONE, &own);
    struct ct_target at = {w->p, w->channel != NULL ? w->channel : &own, w->extent, 1 - w->p->pe};
    struct ct_amo add = {.op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .operand = 1};
    uint64_t state = ct_seed() + (uint64_t)w->number, from = (uint64_t)w->number * PART_BYTES;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t skip = ct_random(&state) % 1000;
        size_t size = 1 + ct_random(&state) % (i % 16 == 0 ? PART_BYTES - 1000 : 300);
        ct_pattern_fill(w->buffer, size, state);
        if (i % 2 == 0)
            ct_put(&at, from + skip, w->buffer, size);
        else
            ct_put_nbi(&at, from + skip, w->buffer, size);
        ct_quiet(w->p, at.channel);
        ct_get(&at, from + skip, w->back, size);
        CT_CHECK(memcmp(w->buffer, w->back, size) == 0, "thread %d, round %d: %zu bytes came back changed", w->number,
                 i, size);
        if (w->p->reach[at.pe].atomics_domain != ISTHMUS_DOMAIN_NONE)
            (void)ct_amo(&at, (uint64_t)N_THREADS * PART_BYTES, &add, NULL);
    }
    ct_quiet(w->p, at.channel);
    if (w->channel == NULL) close_channel(w->p, &own);
    return NULL;
}

static void run_workers(struct ct_process *p, const struct ct_extent *extent, struct ct_channel *shared)
{
    static struct worker workers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        struct worker *w = &workers[i];
        w->p = p;
        w->extent = extent;
        w->channel = shared;
        w->number = i;
        ct_thread_start(&w->thread, work, w);
    }
    for (int i = 0; i < N_THREADS; i++) pthread_join(workers[i].thread, NULL);
}

static void check_counter(struct ct_process *p, struct ct_extent *extent, const struct ct_channel *channel)
{
    ct_meet(p);
    if (!ct_has_amo(channel, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, 0)) return;
    uint64_t count = ct_extent_load(extent, (uint64_t)N_THREADS * PART_BYTES);
    CT_CHECK(count == (uint64_t)N_THREADS * ROUNDS, "%d threads added 1 %d times each: %llu, expected %d", N_THREADS,
             ROUNDS, (unsigned long long)count, N_THREADS * ROUNDS);
}

void ct_case_channels_in_threads(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, (size_t)N_THREADS * PART_BYTES + 64, &channel);
    run_workers(p, &extent, NULL);
    check_counter(p, &extent, &channel);
    ct_end(p, &extent, &channel);
}

void ct_case_shared_channel(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel, shared;
    ct_begin(p, &extent, (size_t)N_THREADS * PART_BYTES + 64, &channel);
    if (p->traits.shared_channels == 0)
        ct_skip("%s does not support shared channels (traits.shared_channels is 0)", p->t->name);
    open_channel(p, ISTHMUS_THREAD_SHARED, &shared);
    run_workers(p, &extent, &shared);
    check_counter(p, &extent, &channel);
    close_channel(p, &shared);
    ct_end(p, &extent, &channel);
}

void ct_case_many_channels(struct ct_process *p)
{
    static struct ct_extent extent;
    static struct ct_channel many[N_CHANNELS];
    struct ct_channel channel;
    ct_begin(p, &extent, 8 * (size_t)N_CHANNELS, &channel);
    for (int i = 0; i < N_CHANNELS; i++)
        ct_channel_open(p, ISTHMUS_THREAD_ONE, i % 2 == 0 ? 0 : ISTHMUS_CHANNEL_NOSTORE, &many[i]);
    for (int i = 0; i < N_CHANNELS; i++) {
        struct ct_target at = {p, &many[i], &extent, 1 - p->pe};
        uint64_t value = 1000 + (uint64_t)i;
        ct_put(&at, 8 * (uint64_t)i, &value, sizeof value);
    }
    for (int i = 0; i < N_CHANNELS; i += 2) ct_channel_close(p, &many[i]);
    for (int i = N_CHANNELS - 1; i > 0; i -= 2) ct_channel_close(p, &many[i]);
    ct_meet(p);
    for (int i = 0; i < N_CHANNELS; i++) {
        uint64_t got = ct_extent_load(&extent, 8 * (uint64_t)i);
        CT_CHECK(got == 1000 + (uint64_t)i, "what channel %d has put is %llu, expected %d", i, (unsigned long long)got,
                 1000 + i);
    }
    ct_end(p, &extent, &channel);
}

struct poller {
    struct ct_process *p;
    int stop;
};

static void *call_progress(void *argument)
{
    struct poller *poller = argument;
    while (!__atomic_load_n(&poller->stop, __ATOMIC_ACQUIRE)) (void)ct_progress(poller->p);
    return NULL;
}

void ct_case_progress_beside_data(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    struct poller poller = {p, 0};
    pthread_t thread;
    ct_begin(p, &extent, (size_t)N_THREADS * PART_BYTES + 64, &channel);
    ct_thread_start(&thread, call_progress, &poller);
    run_workers(p, &extent, NULL);
    __atomic_store_n(&poller.stop, 1, __ATOMIC_RELEASE); /* pairs with the acquire above */
    pthread_join(thread, NULL);
    check_counter(p, &extent, &channel);
    ct_end(p, &extent, &channel);
}

/* Handles what there is to do until the transport can be slept on; returns its descriptor. */
static int handle_all(struct ct_process *p, int *tries)
{
    for (;;) {
        int fd = -1;
        bool is_busy = p->t->arm(p->tr, &fd) == ISTHMUS_ERR_AGAIN;
        if (ct_progress(p) == 0 && !is_busy) return fd;
        CT_CHECK(++*tries < 1000, "there is no work, but in %d tries progress never returned 0 and arm no OK", *tries);
    }
}

/* A late event of start-up may make the descriptor readable: then there is work. */
void ct_case_progress_idle(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, 4096, &channel);
    ct_progress_stop(p);
    ct_meet(p);
    int tries = 0;
    struct pollfd fd = {.fd = handle_all(p, &tries), .events = POLLIN};
    if (fd.fd < 0) ct_skip("%s has no descriptor to sleep on", p->t->name);
    /* A timer's descriptor may stand in for one that the fabric lacks. It polls readable without work, but not at
     * once. */
    int n_idle = 0;
    for (int i = 0; i < N_ARMS; i++) {
        if (poll(&fd, 1, 0) > 0 && ct_progress(p) == 0) n_idle++;
        fd.fd = handle_all(p, &tries);
    }
    CT_CHECK(n_idle <= N_ARMS / 2,
             "there is no work, but right after %d of %d calls of arm the descriptor polls readable", n_idle, N_ARMS);
    ct_end(p, &extent, &channel);
}

/* ---- ISTHMUS_CAP_WAKES ---- */

/* A PE that sleeps until something arrives: it polls the descriptor, then makes progress. */
struct sleeper {
    struct ct_process *p;
    int stop_fd;
    uint32_t n_wakes, n_events; /* the thread's, until it has ended */
    pthread_t thread;
};

static void take_events(struct sleeper *sleeper)
{
    sleeper->n_wakes++;
    if (ct_progress(sleeper->p) > 0) sleeper->n_events++;
}

static void *sleep_and_serve(void *argument)
{
    struct sleeper *sleeper = argument;
    struct ct_process *p = sleeper->p;
    struct pollfd fds[2] = {{.fd = sleeper->stop_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    for (;;) {
        isthmus_status status = p->t->arm(p->tr, &fds[1].fd);
        if (status != ISTHMUS_ERR_AGAIN && poll(fds, 2, -1) < 0) continue; /* a signal */
        if (fds[0].revents != 0) return NULL;
        take_events(sleeper);
    }
}

static void sleeper_start(struct sleeper *sleeper, struct ct_process *p)
{
    *sleeper = (struct sleeper){.p = p, .stop_fd = eventfd(0, EFD_CLOEXEC)};
    CT_NEED(sleeper->stop_fd >= 0, "eventfd: %s", strerror(errno));
    ct_thread_start(&sleeper->thread, sleep_and_serve, sleeper);
}

/* Counts what was left when it stopped, too, for which the descriptor must be ready. */
static void sleeper_stop(struct sleeper *sleeper)
{
    struct ct_process *p = sleeper->p;
    uint64_t one = 1;
    struct pollfd fd = {.fd = -1, .events = POLLIN};
    CT_NEED(write(sleeper->stop_fd, &one, sizeof one) == (ssize_t)sizeof one, "eventfd: %s", strerror(errno));
    pthread_join(sleeper->thread, NULL);
    close(sleeper->stop_fd);
    bool would_wake = p->t->arm(p->tr, &fd.fd) == ISTHMUS_ERR_AGAIN || (fd.fd >= 0 && poll(&fd, 1, 0) > 0);
    if (would_wake) take_events(sleeper);
}

/* Progress comes before each arm(): what made arm() return AGAIN may be events that only progress takes. */
static void drain_progress(struct ct_process *p)
{
    int32_t fd;
    int tries = 0;
    while (ct_progress(p) > 0 || p->t->arm(p->tr, &fd) == ISTHMUS_ERR_AGAIN)
        CT_CHECK(++tries < 100000, "there is no work, but in %d tries progress never returned 0 and arm no OK", tries);
}

/* Returns false if the transport has no such operation. */
static bool wake_by(const struct ct_target *at, int way, uint64_t value)
{
    const struct isthmus_data_ops *ops = &at->channel->ops;
    isthmus_rmem *remote = at->extent->rmem[at->pe];
    const struct ct_amo set = {.op = ISTHMUS_AMO_SET, .bits = ISTHMUS_BITS64, .operand = value};
    if (way == 0) ct_put(at, 0, &value, sizeof value);
    if (way == 1 && !ct_amo(at, 0, &set, NULL)) return false;
    if (way == 2 && ops->notify == NULL) return false;
    if (way == 2) CT_OK_OF("notify", ops->notify(at->channel->chan, at->p->path[at->pe], remote, 0, value));
    CT_OK_OF("remote_commit", ops->remote_commit(at->channel->chan, at->p->path[at->pe]));
    return true;
}

/* Process 0 writes while process 1 sleeps, and reports when its write is there. No time is measured: once the write is
 * there, so is the event that wakes process 1. */
void ct_case_wakes(struct ct_process *p)
{
    static const char *const names[] = {"a put", "an atomic set", "a notify"};
    enum { N_WAYS = 3, ROUNDS_EACH = 10 };
    static struct ct_extent extent;
    struct ct_channel channel;
    struct sleeper sleeper;
    uint64_t value = 0;
    ct_begin(p, &extent, 64, &channel);
    if ((p->reach[1 - p->pe].caps & ISTHMUS_CAP_WAKES) == 0)
        ct_skip("%s does not wake the target, and does not set ISTHMUS_CAP_WAKES", p->t->name);
    if (p->pe == 1) ct_progress_stop(p);
    for (int i = 0; i < N_WAYS * ROUNDS_EACH; i++) {
        const struct ct_target at = {p, &channel, &extent, 1};
        struct ct_blob said[CT_MAX_PROCESSES];
        uint8_t is_written = 0;
        if (p->pe == 1) drain_progress(p);
        if (p->pe == 1) sleeper_start(&sleeper, p);
        ct_meet(p);
        value++;
        if (p->pe == 0) is_written = wake_by(&at, i % N_WAYS, value);
        ct_exchange(p, &is_written, 1, said);
        if (p->pe == 0) continue;
        sleeper_stop(&sleeper);
        if (said[0].bytes[0] == 0) continue;
        CT_CHECK(ct_extent_load(&extent, 0) == value, "%s of %llu is committed, and the word is %llu",
                 names[i % N_WAYS], (unsigned long long)value, (unsigned long long)ct_extent_load(&extent, 0));
        CT_RULE("arm", NULL, sleeper.n_wakes > 0, "%s has arrived, but the descriptor did not poll readable",
                names[i % N_WAYS]);
        CT_CHECK(sleeper.n_events > 0, "%s has arrived, but after %u wake-ups progress returned 0 each time",
                 names[i % N_WAYS], sleeper.n_wakes);
    }
    if (p->pe == 1) ct_progress_start(p);
    ct_end(p, &extent, &channel);
}

/* ---- flush_writes of memory.1 ---- */

struct flusher {
    struct ct_process *p;
    const struct isthmus_memory *memory;
    pthread_t thread;
};

static void *flush(void *argument)
{
    const struct flusher *f = argument;
    for (int i = 0; i < N_FLUSHES; i++) CT_OK(f->memory->flush_writes(f->p->tr));
    return NULL;
}

/* This machine has no writes of adapters; the case tests that waits of all threads can call the slot. */
void ct_case_flush_writes(struct ct_process *p)
{
    struct flusher flushers[N_THREADS];
    ct_open(p);
    const struct isthmus_memory *memory = p->t->extension(p->tr, "memory.1");
    if (memory == NULL || !ISTHMUS_HAS(memory, flush_writes)) ct_skip("%s flushes no writes of adapters", p->t->name);
    for (int i = 0; i < N_THREADS; i++) {
        flushers[i] = (struct flusher){.p = p, .memory = memory};
        ct_thread_start(&flushers[i].thread, flush, &flushers[i]);
    }
    for (int i = 0; i < N_THREADS; i++) pthread_join(flushers[i].thread, NULL);
    ct_close(p);
}

/* core/life/liveness.c: heartbeats between PEs of different hosts, because a cut network reports nothing, and the
 * launcher may not notice either. Not for jobs on one host: there the launcher detects every death, and processes.c
 * every stop. Two neighbours watch each other: a PE that has received nothing for a tick sends a request, and the
 * neighbour replies from a thread of its own, whatever the program does. A neighbour that stays silent for the whole
 * timeout is lost, and the job ends: the finder notifies its neighbours, which notify theirs, and the lowest PE that
 * found a loss reports it.
 * Neighbours are: the first PEs of the hosts in a ring (life.c), each with the other PEs of its host, and PEs that have
 * a path through a network transport. So every PE has a neighbour that watches it, at a cost per PE that does not grow
 * with the job.
 * Time is counted in ticks of this thread, six to the timeout, and not read off a clock: while this process is stopped,
 * or has no processor, it receives nothing from its neighbours and must not count that as their silence. */
#include "core/life/life.h"
#include "core/life/life_priv.h"
#include "core/life/liveness_wire.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/peer.h"
#include "core/transport/progress.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    TICKS_PER_TIMEOUT = 6,
    NEIGHBOURS_PER_TICK = 1000, /* with more neighbours each gets fewer requests */
    BYE_ROUNDS = 6,
    BYE_ROUND_MS = 50,
    /* PEs that find the same loss exchange reports in this time; the reporting PE waits that long. */
    AGREE_MS = 500,
    FOLLOW_MS = 1000,     /* before a PE ends on another PE's report, so that the report is printed */
    START_STEP_MS = 1200, /* between PEs that find that the start timed out */
    START_STEPS_MAX = 3,
};

struct neighbour {
    int32_t pe;
    uint64_t token;
    /* from its card; no addresses: the neighbour found this PE, and its datagrams give its address */
    struct ist_liveness_address address;
    uint64_t n_sent, n_received; /* numbers of the last datagrams */
    struct sockaddr_in6 at;      /* source of its last datagram; family 0: none yet */
    uint32_t silent_ticks, pace; /* ticks since its last datagram; ticks between requests that it can bear */
    bool is_close;               /* it gets a request on every tick */
    uint64_t n_events;           /* of the transports, when this PE began to watch it */
    bool is_unheard;             /* its heartbeats do not pass, though the network does */
    bool has_left, has_seen_bye;
    char host_name[IST_LIVENESS_HOST_BYTES];
};

static struct {
    bool is_open;
    pthread_t thread;
    int stop_fd;
    int32_t pe, n_pes;
    uint64_t timeout_s, start_timeout_s, tick_ns;
    pthread_mutex_t lock; /* protects all fields below */
    pthread_cond_t seen;  /* signals leave(): a bye has been acknowledged */
    struct ist_liveness_socket socket;
    struct neighbour **by_pe, **list;
    uint32_t n, room;
    bool is_joined;
    uint64_t start_ticks; /* until all PEs should have synchronized; UINT64_MAX: no bound */
    bool is_leaving;
    int32_t exited;      /* a neighbour that has exited without finalize; -1: none */
    int32_t reporter;    /* the PE that reports why the job ends; INT32_MAX: it does not end */
    uint64_t settled_ns; /* until then a lower PE may become the reporter */
    uint64_t end_due_ns; /* when this PE ends for it */
    char report[200];    /* this PE's own report; "": none */
} liveness = {.lock = PTHREAD_MUTEX_INITIALIZER, .seen = PTHREAD_COND_INITIALIZER, .socket = {.fd = -1}};

static uint64_t in_ms(uint64_t ms) { return ist_clock_ns() + ms * 1000000u; }

/* ---- neighbours ---- */

static bool make_room(void)
{
    if (liveness.n < liveness.room) return true;
    uint32_t room = 2 * liveness.room + 16;
    struct neighbour **grown = realloc(liveness.list, room * sizeof(*grown));
    if (grown == NULL) return false;
    liveness.list = grown;
    liveness.room = room;
    return true;
}

/* Returns the neighbour of this number, made if there is none; NULL if memory is short or there is no such PE. */
static struct neighbour *neighbour_get(int32_t pe, uint64_t token)
{
    if (pe < 0 || pe >= liveness.n_pes || pe == liveness.pe) return NULL;
    if (liveness.by_pe[pe] != NULL) return liveness.by_pe[pe];
    struct neighbour *n = make_room() ? calloc(1, sizeof *n) : NULL;
    if (n == NULL) return NULL;
    n->pe = pe;
    n->token = token;
    n->pace = 1;
    n->n_events = ist_progress_events();
    liveness.list[liveness.n++] = n;
    liveness.by_pe[pe] = n;
    return n;
}

static uint32_t my_pace(void) { return 1 + liveness.n / NEIGHBOURS_PER_TICK; }

static uint32_t pace_of(const struct neighbour *n)
{
    uint32_t mine = my_pace();
    return n->is_close ? 1 : n->pace > mine ? n->pace : mine;
}

/* ---- authentication ---- */

/* Returns a key known to both ends: the peer's, from its card, or this PE's if only the peer has read a card. */
static const uint8_t *key_with(const struct neighbour *n)
{
    return n->address.n_addresses > 0 ? n->address.key : liveness.socket.address.key;
}

static bool is_of_job(const struct ist_liveness_datagram *d)
{
    bool is_member = d->from_pe >= 0 && d->from_pe < liveness.n_pes;
    const struct neighbour *n = is_member ? liveness.by_pe[d->from_pe] : NULL;
    return ist_liveness_is_signed(d, liveness.socket.address.key) ||
           (n != NULL && ist_liveness_is_signed(d, key_with(n)));
}

/* ---- sending ---- */

/* Sends to its last source address, and to all its addresses if that is unknown or the neighbour has become silent. */
static void send_one(struct neighbour *n, uint32_t kind)
{
    struct ist_liveness_datagram d = {
        .kind = kind,
        .to_token = n->token,
        .from_pe = liveness.pe,
        .reporter = liveness.reporter,
        .pace = my_pace(),
        .is_close = n->is_close,
        .number = ++n->n_sent,
    };
    snprintf(d.from_host, sizeof d.from_host, "%s", ist_host_name());
    ist_liveness_sign(&liveness.socket.address, key_with(n), &d);
    if (n->at.sin6_family != 0) ist_liveness_send(&liveness.socket, &n->at, &d);
    if (n->at.sin6_family != 0 && n->silent_ticks <= pace_of(n) + 1) return;
    for (uint32_t i = 0; i < n->address.n_addresses; i++) {
        const struct sockaddr_in6 to = {
            .sin6_family = AF_INET6,
            .sin6_port = n->address.port,
            .sin6_addr = n->address.addresses[i],
        };
        ist_liveness_send(&liveness.socket, &to, &d);
    }
}

static void send_to_all(uint32_t kind)
{
    for (uint32_t i = 0; i < liveness.n; i++) send_one(liveness.list[i], kind);
}

/* ---- the end of the job ---- */

/* Of the PEs that have a report at the same time the lowest one prints it; after a moment the reporter is settled. */
static bool set_reporter(int32_t pe)
{
    bool is_first = liveness.reporter == INT32_MAX;
    if (pe < 0 || pe >= liveness.reporter || (!is_first && ist_clock_ns() > liveness.settled_ns)) return false;
    if (is_first) liveness.settled_ns = in_ms(AGREE_MS);
    liveness.reporter = pe;
    send_to_all(IST_LIVENESS_END);
    return true;
}

static void follow(int32_t reporter)
{
    if (liveness.is_leaving || !set_reporter(reporter)) return;
    if (liveness.end_due_ns == UINT64_MAX) liveness.end_due_ns = in_ms(FOLLOW_MS);
}

static void report_lost(const struct neighbour *n)
{
    if (liveness.is_leaving || liveness.end_due_ns != UINT64_MAX) return;
    bool was_received = n->at.sin6_family != 0;
    snprintf(liveness.report, sizeof liveness.report,
             "PE %d on %s is lost: no heartbeat for %u s (ISTHMUS_PULSE_TIMEOUT)%s", n->pe, n->host_name,
             (unsigned)liveness.timeout_s, was_received ? "" : ", and none before: does the network carry UDP?");
    (void)set_reporter(liveness.pe);
    liveness.end_due_ns = in_ms(AGREE_MS);
}

static void check_start(void)
{
    if (liveness.is_joined || liveness.start_ticks == UINT64_MAX || liveness.end_due_ns != UINT64_MAX) return;
    if (--liveness.start_ticks > 0) return;
    snprintf(liveness.report, sizeof liveness.report,
             "not all PEs have arrived at the start within %u s (ISTHMUS_START_TIMEOUT)",
             (unsigned)liveness.start_timeout_s);
    (void)set_reporter(liveness.pe);
    liveness.end_due_ns = 0;
}

/* Called without the lock: nothing here may keep this PE from ending. */
static _Noreturn void end_job(void)
{
    bool reports = liveness.report[0] != '\0' && liveness.reporter == liveness.pe;
    ist_end_job_saying(reports ? liveness.report : NULL);
}

/* ---- receiving ---- */

static void receive_bye(struct neighbour *n)
{
    n->has_left = true;
    send_one(n, IST_LIVENESS_BYE_SEEN);
    pthread_cond_signal(&liveness.seen);
}

static void receive(const struct ist_liveness_datagram *d, const struct sockaddr_in6 *from)
{
    struct neighbour *n = is_of_job(d) ? neighbour_get(d->from_pe, d->from_token) : NULL;
    if (n == NULL || n->token != d->from_token || d->number <= n->n_received) return;
    n->n_received = d->number;
    n->at = *from;
    n->silent_ticks = 0;
    n->pace = d->pace;
    n->is_close = n->is_close || d->is_close != 0;
    memcpy(n->host_name, d->from_host, sizeof n->host_name);
    switch (d->kind) {
    case IST_LIVENESS_REQUEST:
        send_one(n, liveness.reporter == INT32_MAX ? IST_LIVENESS_REPLY : IST_LIVENESS_END);
        break;
    case IST_LIVENESS_BYE: receive_bye(n); break;
    case IST_LIVENESS_EXIT:
        liveness.exited = n->pe;
        receive_bye(n);
        break;
    case IST_LIVENESS_END: follow(d->reporter); break;
    case IST_LIVENESS_BYE_SEEN:
        n->has_seen_bye = true;
        pthread_cond_signal(&liveness.seen);
        break;
    default: break;
    }
}

static void receive_all(void)
{
    struct sockaddr_in6 from;
    struct ist_liveness_datagram d;
    while (ist_liveness_receive(&liveness.socket, &from, &d)) receive(&d, &from);
}

/* ---- the thread ---- */

static bool is_silent(const struct neighbour *n) { return n->silent_ticks >= pace_of(n) + TICKS_PER_TIMEOUT; }

bool ist_liveness_has_lost(int pe)
{
    pthread_mutex_lock(&liveness.lock);
    bool is_known = liveness.is_open && pe >= 0 && pe < liveness.n_pes;
    const struct neighbour *n = is_known ? liveness.by_pe[pe] : NULL;
    bool is_lost = n != NULL && (n->has_left || is_silent(n));
    pthread_mutex_unlock(&liveness.lock);
    return is_lost;
}

int ist_liveness_exited(void)
{
    pthread_mutex_lock(&liveness.lock);
    int pe = liveness.is_open ? liveness.exited : -1;
    pthread_mutex_unlock(&liveness.lock);
    return pe;
}

/* A network that has carried the first synchronization, and more since, works: only heartbeats do not pass, and the
 * neighbour is not lost. */
static bool is_unheard(struct neighbour *n)
{
    if (n->at.sin6_family != 0) return false;
    if (n->is_unheard) return true;
    if (!ist_is_initialised() || ist_progress_events() == n->n_events) return false;
    n->is_unheard = true;
    ist_warn("no heartbeat from PE %d on %s in %u s, though the network works: its loss may go unnoticed; let UDP pass "
             "between the hosts, or name an interface in ISTHMUS_INTERFACE",
             n->pe, n->host_name, (unsigned)liveness.timeout_s);
    return true;
}

static void check_neighbour(struct neighbour *n)
{
    if (n->has_left) return;
    n->silent_ticks++;
    if (is_silent(n) && is_unheard(n)) n->silent_ticks = 0;
    if (is_silent(n))
        report_lost(n);
    else if (n->silent_ticks >= pace_of(n))
        send_one(n, IST_LIVENESS_REQUEST);
}

static void tick(void)
{
    check_start();
    for (uint32_t i = 0; i < liveness.n; i++) check_neighbour(liveness.list[i]);
    if (liveness.reporter != INT32_MAX) send_to_all(IST_LIVENESS_END); /* a datagram may have been lost */
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

static int ms_until(uint64_t due_ns)
{
    uint64_t now = ist_clock_ns();
    return due_ns <= now ? 0 : (int)((due_ns - now) / 1000000u) + 1;
}

static void *run(void *unused)
{
    (void)unused;
    struct pollfd fds[] = {{.fd = liveness.socket.fd, .events = POLLIN}, {.fd = liveness.stop_fd, .events = POLLIN}};
    uint64_t tick_due_ns = ist_clock_ns() + liveness.tick_ns, end_due_ns = UINT64_MAX;
    while (fds[1].revents == 0) {
        (void)poll(fds, 2, ms_until(earlier(tick_due_ns, end_due_ns)));
        pthread_mutex_lock(&liveness.lock);
        receive_all(); /* before the tick: queued datagrams count, however late this thread runs */
        uint64_t now = ist_clock_ns();
        if (now >= tick_due_ns) {
            tick();
            tick_due_ns = now + liveness.tick_ns;
        }
        end_due_ns = liveness.is_leaving ? UINT64_MAX : liveness.end_due_ns;
        pthread_mutex_unlock(&liveness.lock);
        if (now >= end_due_ns) end_job();
    }
    return NULL;
}

/* ---- from other threads ---- */

bool ist_liveness_is_open(void)
{
    pthread_mutex_lock(&liveness.lock);
    bool is_open = liveness.is_open;
    pthread_mutex_unlock(&liveness.lock);
    return is_open;
}

void ist_liveness_announce_end(void)
{
    pthread_mutex_lock(&liveness.lock);
    /* As the reporter the calling thread ends this PE, and what another PE's report has scheduled is off. */
    if (liveness.is_open && set_reporter(liveness.pe)) liveness.end_due_ns = UINT64_MAX;
    pthread_mutex_unlock(&liveness.lock);
}

bool ist_liveness_another_reports(void)
{
    pthread_mutex_lock(&liveness.lock);
    bool is_other = liveness.is_open && liveness.reporter != liveness.pe && liveness.reporter != INT32_MAX;
    pthread_mutex_unlock(&liveness.lock);
    return is_other;
}

static void set_open(bool is_open)
{
    pthread_mutex_lock(&liveness.lock);
    liveness.is_open = is_open;
    pthread_mutex_unlock(&liveness.lock);
}

static isthmus_status start_thread(void)
{
    liveness.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (liveness.stop_fd < 0)
        return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "cannot start the thread for heartbeats: eventfd");
    int error = ist_quiet_thread_create(&liveness.thread, "isthmus-pulse", run, NULL);
    if (error == 0) return ISTHMUS_OK;
    close(liveness.stop_fd);
    return ist_fail(ISTHMUS_ERR_NO_MEMORY,
                    "cannot start the thread for heartbeats: pthread_create: %s; raise 'ulimit -u' or 'ulimit -v'",
                    strerror(error));
}

static void free_all(void)
{
    for (uint32_t i = 0; i < liveness.n; i++) free(liveness.list[i]);
    free(liveness.list);
    free(liveness.by_pe);
    ist_liveness_socket_close(&liveness.socket);
    liveness.list = NULL;
    liveness.by_pe = NULL;
    liveness.n = liveness.room = 0;
}

/* PEs that have not synchronized receive no reports of each other: the lowest one reports first, and ends the others if
 * it can. */
static uint64_t start_ms(void)
{
    uint64_t step = (uint64_t)(liveness.pe < START_STEPS_MAX ? liveness.pe : START_STEPS_MAX);
    return liveness.start_timeout_s * 1000 + step * START_STEP_MS;
}

isthmus_status ist_liveness_open(const ist_boot *boot, const struct ist_config *config)
{
    uint64_t timeout_s = config->pulse_timeout_s, start_timeout_s = config->start_timeout_s;
    if (timeout_s == 0) return ISTHMUS_OK;
    liveness.pe = boot->pe;
    liveness.n_pes = boot->n_pes;
    liveness.is_joined = false;
    liveness.timeout_s = timeout_s;
    liveness.start_timeout_s = start_timeout_s;
    liveness.tick_ns = timeout_s * 1000000000u / TICKS_PER_TIMEOUT;
    liveness.start_ticks = start_timeout_s > 0 ? start_ms() * 1000000u / liveness.tick_ns + 1 : UINT64_MAX;
    liveness.is_leaving = false;
    liveness.exited = -1;
    liveness.reporter = INT32_MAX;
    liveness.end_due_ns = UINT64_MAX;
    liveness.report[0] = '\0';
    liveness.by_pe = calloc((size_t)liveness.n_pes, sizeof(*liveness.by_pe));
    isthmus_status status = liveness.by_pe != NULL ? ist_liveness_socket_open(config->interface, &liveness.socket)
                                                   : ist_fail_memory("%d PEs", boot->n_pes);
    if (status == ISTHMUS_OK) status = start_thread();
    if (status != ISTHMUS_OK) {
        free_all();
        return status;
    }
    set_open(true);
    return ISTHMUS_OK;
}

struct ist_blob ist_liveness_card(void)
{
    if (!liveness.is_open) return (struct ist_blob){.bytes = NULL};
    return (struct ist_blob){.bytes = &liveness.socket.address, .length_bytes = sizeof liveness.socket.address};
}

/* ---- neighbours to watch ---- */

static void stay_on_host(struct ist_liveness_address *address)
{
    address->n_addresses = 1;
    address->addresses[0] = (struct in6_addr)IN6ADDR_ANY_INIT;
    address->addresses[0].s6_addr[10] = address->addresses[0].s6_addr[11] = 0xff;
    address->addresses[0].s6_addr[12] = 127;
    address->addresses[0].s6_addr[15] = 1;
}

static void watch(const struct ist_card *peer, bool is_close)
{
    struct ist_liveness_address address;
    if (!liveness.is_open || !ist_liveness_address_read(peer->liveness.bytes, peer->liveness.length_bytes, &address))
        return;
    if (ist_host_id_equal(&peer->host, &ist_registry.host)) stay_on_host(&address);
    pthread_mutex_lock(&liveness.lock);
    struct neighbour *n = neighbour_get(peer->pe, address.token);
    if (n != NULL && n->address.n_addresses == 0) {
        n->address = address;
        snprintf(n->host_name, sizeof n->host_name, "%s", peer->host_name);
    }
    if (n != NULL && !n->has_left) {
        n->is_close = n->is_close || is_close;
        if (n->at.sin6_family == 0) send_one(n, IST_LIVENESS_REQUEST);
    }
    pthread_mutex_unlock(&liveness.lock);
}

void ist_liveness_watch(const struct ist_card *peer) { watch(peer, false); }

void ist_liveness_join(const struct ist_card *first)
{
    if (!liveness.is_open) return;
    if (first != NULL) watch(first, true);
    pthread_mutex_lock(&liveness.lock);
    liveness.is_joined = true;
    pthread_mutex_unlock(&liveness.lock);
}

/* ---- leaving ---- */

/* A neighbour that has left needs no bye; one never heard from would not reply. */
static uint32_t send_bye(uint32_t kind)
{
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < liveness.n; i++) {
        struct neighbour *n = liveness.list[i];
        if (n->has_left || n->has_seen_bye || n->at.sin6_family == 0) continue;
        send_one(n, kind);
        n_open++;
    }
    return n_open;
}

static bool all_have_seen(void)
{
    for (uint32_t i = 0; i < liveness.n; i++) {
        const struct neighbour *n = liveness.list[i];
        if (!n->has_left && !n->has_seen_bye && n->at.sin6_family != 0) return false;
    }
    return true;
}

void ist_liveness_leave(bool has_finalized)
{
    const uint32_t kind = has_finalized ? IST_LIVENESS_BYE : IST_LIVENESS_EXIT;
    if (!liveness.is_open) return;
    pthread_mutex_lock(&liveness.lock);
    liveness.is_leaving = true;
    for (int round = 0; round < BYE_ROUNDS && send_bye(kind) > 0; round++) {
        struct timespec until = ist_clock_until_ms(BYE_ROUND_MS);
        while (!all_have_seen() && ist_clock_wait(&liveness.seen, &liveness.lock, &until) == 0) {}
    }
    pthread_mutex_unlock(&liveness.lock);
}

void ist_liveness_close(void)
{
    if (!liveness.is_open) return;
    uint64_t one = 1;
    set_open(false);
    (void)!write(liveness.stop_fd, &one, sizeof one);
    pthread_join(liveness.thread, NULL);
    close(liveness.stop_fd);
    free_all();
}

/* The socket belongs to the parent; closing the copy here would be harmless, but no card names the child. */
void ist_liveness_forget(void)
{
    liveness.is_open = false;
    pthread_mutex_init(&liveness.lock, NULL);
}

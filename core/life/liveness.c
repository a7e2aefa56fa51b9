/* core/life/liveness.c: see liveness.h.
 * Time is counted in ticks of this thread, six to the timeout, and not read off a clock: while this process is stopped,
 * or has no processor, it receives nothing from its neighbours and must not count that as their silence. */
#include "core/life/liveness.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/life/liveness_wire.h"
#include "core/topo/host_id.h"
#include "core/transport/peer.h"
#include "core/transport/quiet_thread.h"

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
    struct ist_pulse_place place;
    uint64_t n_said, n_heard;    /* numbers of the last datagrams */
    struct sockaddr_in6 at;      /* source of its last datagram; family 0: none yet */
    uint32_t silent_ticks, pace; /* ticks since its last datagram; ticks between requests that it can bear */
    bool is_close;               /* it gets a request on every tick */
    bool has_left, has_seen_bye;
    char host_name[IST_PULSE_HOST_BYTES];
};

static struct {
    bool is_open;
    pthread_t thread;
    int stop_fd;
    int32_t pe, n_pes;
    uint64_t timeout_s, start_timeout_s, tick_ns;
    pthread_mutex_t lock; /* protects all fields below */
    pthread_cond_t seen;  /* signals leave(): a bye has been acknowledged */
    struct ist_pulse_socket socket;
    struct neighbour **by_pe, **list;
    uint32_t n, room;
    bool have_met;
    uint64_t start_ticks; /* until all PEs should have synchronized; UINT64_MAX: no bound */
    bool is_leaving;
    int32_t speaker;         /* the PE that reports why the job ends; INT32_MAX: it does not end */
    uint64_t settled_ns;     /* until then a lower PE may become the speaker */
    uint64_t verdict_due_ns; /* when this PE ends for it */
    char verdict[200];       /* this PE's own report; "": none */
} pulse = {.lock = PTHREAD_MUTEX_INITIALIZER, .seen = PTHREAD_COND_INITIALIZER, .socket = {.fd = -1}};

static uint64_t in_ms(uint64_t ms) { return ist_clock_ns() + ms * 1000000u; }

/* ---- neighbours ---- */

static bool make_room(void)
{
    if (pulse.n < pulse.room) return true;
    uint32_t room = 2 * pulse.room + 16;
    struct neighbour **grown = realloc(pulse.list, room * sizeof(*grown));
    if (grown == NULL) return false;
    pulse.list = grown;
    pulse.room = room;
    return true;
}

/* Returns the neighbour of this number, made if there is none; NULL if memory is short or there is no such PE. */
static struct neighbour *neighbour_get(int32_t pe, uint64_t token)
{
    if (pe < 0 || pe >= pulse.n_pes || pe == pulse.pe) return NULL;
    if (pulse.by_pe[pe] != NULL) return pulse.by_pe[pe];
    struct neighbour *n = make_room() ? calloc(1, sizeof *n) : NULL;
    if (n == NULL) return NULL;
    n->pe = pe;
    n->token = token;
    n->pace = 1;
    pulse.list[pulse.n++] = n;
    pulse.by_pe[pe] = n;
    return n;
}

static uint32_t my_pace(void) { return 1 + pulse.n / NEIGHBOURS_PER_TICK; }

static uint32_t pace_of(const struct neighbour *n)
{
    uint32_t mine = my_pace();
    return n->is_close ? 1 : n->pace > mine ? n->pace : mine;
}

/* ---- authentication ---- */

/* Returns a key known to both ends: the peer's, from its card, or this PE's if only the peer has read a card. */
static const uint8_t *key_with(const struct neighbour *n)
{
    return n->place.n_addresses > 0 ? n->place.key : pulse.socket.place.key;
}

static bool is_of_job(const struct ist_pulse_datagram *d)
{
    bool is_member = d->from_pe >= 0 && d->from_pe < pulse.n_pes;
    const struct neighbour *n = is_member ? pulse.by_pe[d->from_pe] : NULL;
    return ist_pulse_is_signed(d, pulse.socket.place.key) || (n != NULL && ist_pulse_is_signed(d, key_with(n)));
}

/* ---- sending ---- */

/* Sends to its last source address, and to all its addresses if that is unknown or the neighbour has become silent. */
static void say(struct neighbour *n, uint32_t kind)
{
    struct ist_pulse_datagram d = {
        .kind = kind,
        .to_token = n->token,
        .from_pe = pulse.pe,
        .speaker = pulse.speaker,
        .pace = my_pace(),
        .is_close = n->is_close,
        .number = ++n->n_said,
    };
    snprintf(d.from_host, sizeof d.from_host, "%s", ist_host_name());
    ist_pulse_sign(&pulse.socket.place, key_with(n), &d);
    if (n->at.sin6_family != 0) ist_pulse_send(&pulse.socket, &n->at, &d);
    if (n->at.sin6_family != 0 && n->silent_ticks <= pace_of(n) + 1) return;
    for (uint32_t i = 0; i < n->place.n_addresses; i++) {
        const struct sockaddr_in6 to = {
            .sin6_family = AF_INET6,
            .sin6_port = n->place.port,
            .sin6_addr = n->place.addresses[i],
        };
        ist_pulse_send(&pulse.socket, &to, &d);
    }
}

static void say_to_all(uint32_t kind)
{
    for (uint32_t i = 0; i < pulse.n; i++) say(pulse.list[i], kind);
}

/* ---- the end of the job ---- */

/* Of the PEs that have a report at the same time the lowest one prints it; after a moment the speaker is settled. */
static bool set_speaker(int32_t pe)
{
    bool is_first = pulse.speaker == INT32_MAX;
    if (pe < 0 || pe >= pulse.speaker || (!is_first && ist_clock_ns() > pulse.settled_ns)) return false;
    if (is_first) pulse.settled_ns = in_ms(AGREE_MS);
    pulse.speaker = pe;
    say_to_all(IST_PULSE_END);
    return true;
}

static void follow(int32_t speaker)
{
    if (pulse.is_leaving || !set_speaker(speaker)) return;
    if (pulse.verdict_due_ns == UINT64_MAX) pulse.verdict_due_ns = in_ms(FOLLOW_MS);
}

static void judge_lost(const struct neighbour *n)
{
    if (pulse.is_leaving || pulse.verdict_due_ns != UINT64_MAX) return;
    bool was_heard = n->at.sin6_family != 0;
    snprintf(pulse.verdict, sizeof pulse.verdict,
             "PE %d on %s is lost: no sign of life for %u s (ISTHMUS_PULSE_TIMEOUT)%s", n->pe, n->host_name,
             (unsigned)pulse.timeout_s, was_heard ? "" : ", and none before: does the network carry UDP?");
    (void)set_speaker(pulse.pe);
    pulse.verdict_due_ns = in_ms(AGREE_MS);
}

static void judge_start(void)
{
    if (pulse.have_met || pulse.start_ticks == UINT64_MAX || pulse.verdict_due_ns != UINT64_MAX) return;
    if (--pulse.start_ticks > 0) return;
    snprintf(pulse.verdict, sizeof pulse.verdict,
             "not all PEs have met at the start within %u s (ISTHMUS_START_TIMEOUT)", (unsigned)pulse.start_timeout_s);
    (void)set_speaker(pulse.pe);
    pulse.verdict_due_ns = 0;
}

/* Called without the lock: nothing here may keep this PE from ending. */
static _Noreturn void carry_out(void)
{
    bool speaks = pulse.verdict[0] != '\0' && pulse.speaker == pulse.pe;
    ist_end_job_saying(speaks ? pulse.verdict : NULL);
}

/* ---- receiving ---- */

static void take_bye(struct neighbour *n)
{
    n->has_left = true;
    say(n, IST_PULSE_SEEN);
    pthread_cond_signal(&pulse.seen);
}

static void take(const struct ist_pulse_datagram *d, const struct sockaddr_in6 *from)
{
    struct neighbour *n = is_of_job(d) ? neighbour_get(d->from_pe, d->from_token) : NULL;
    if (n == NULL || n->token != d->from_token || d->number <= n->n_heard) return;
    n->n_heard = d->number;
    n->at = *from;
    n->silent_ticks = 0;
    n->pace = d->pace;
    n->is_close = n->is_close || d->is_close != 0;
    memcpy(n->host_name, d->from_host, sizeof n->host_name);
    switch (d->kind) {
    case IST_PULSE_ASK: say(n, pulse.speaker == INT32_MAX ? IST_PULSE_HERE : IST_PULSE_END); break;
    case IST_PULSE_BYE: take_bye(n); break;
    case IST_PULSE_END: follow(d->speaker); break;
    case IST_PULSE_SEEN:
        n->has_seen_bye = true;
        pthread_cond_signal(&pulse.seen);
        break;
    default: break;
    }
}

static void hear_all(void)
{
    struct sockaddr_in6 from;
    struct ist_pulse_datagram d;
    while (ist_pulse_receive(&pulse.socket, &from, &d)) take(&d, &from);
}

/* ---- the thread ---- */

static void look_after(struct neighbour *n)
{
    if (n->has_left) return;
    n->silent_ticks++;
    if (n->silent_ticks >= pace_of(n) + TICKS_PER_TIMEOUT)
        judge_lost(n);
    else if (n->silent_ticks >= pace_of(n))
        say(n, IST_PULSE_ASK);
}

static void tick(void)
{
    judge_start();
    for (uint32_t i = 0; i < pulse.n; i++) look_after(pulse.list[i]);
    if (pulse.speaker != INT32_MAX) say_to_all(IST_PULSE_END); /* a datagram may have been lost */
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
    struct pollfd fds[] = {{.fd = pulse.socket.fd, .events = POLLIN}, {.fd = pulse.stop_fd, .events = POLLIN}};
    uint64_t tick_due_ns = ist_clock_ns() + pulse.tick_ns, verdict_due_ns = UINT64_MAX;
    while (fds[1].revents == 0) {
        (void)poll(fds, 2, ms_until(earlier(tick_due_ns, verdict_due_ns)));
        pthread_mutex_lock(&pulse.lock);
        hear_all(); /* before the tick: queued datagrams count, however late this thread runs */
        uint64_t now = ist_clock_ns();
        if (now >= tick_due_ns) {
            tick();
            tick_due_ns = now + pulse.tick_ns;
        }
        verdict_due_ns = pulse.is_leaving ? UINT64_MAX : pulse.verdict_due_ns;
        pthread_mutex_unlock(&pulse.lock);
        if (now >= verdict_due_ns) carry_out();
    }
    return NULL;
}

/* ---- from other threads ---- */

static void announce_end(void)
{
    pthread_mutex_lock(&pulse.lock);
    if (pulse.is_open) (void)set_speaker(pulse.pe);
    pthread_mutex_unlock(&pulse.lock);
}

static bool another_speaks(void)
{
    pthread_mutex_lock(&pulse.lock);
    bool is_other = pulse.is_open && pulse.speaker != pulse.pe && pulse.speaker != INT32_MAX;
    pthread_mutex_unlock(&pulse.lock);
    return is_other;
}

static isthmus_status start_thread(void)
{
    pulse.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pulse.stop_fd < 0) return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "pulse: eventfd");
    int error = ist_quiet_thread_create(&pulse.thread, "isthmus-pulse", run);
    if (error == 0) return ISTHMUS_OK;
    close(pulse.stop_fd);
    return ist_fail(ISTHMUS_ERR_NO_MEMORY, "pulse: pthread_create: %s", strerror(error));
}

static void free_all(void)
{
    for (uint32_t i = 0; i < pulse.n; i++) free(pulse.list[i]);
    free(pulse.list);
    free(pulse.by_pe);
    ist_pulse_socket_close(&pulse.socket);
    pulse.list = NULL;
    pulse.by_pe = NULL;
    pulse.n = pulse.room = 0;
}

/* PEs that have not synchronized receive no reports of each other: the lowest one reports first, and ends the others if
 * it can. */
static uint64_t start_ms(void)
{
    uint64_t step = (uint64_t)(pulse.pe < START_STEPS_MAX ? pulse.pe : START_STEPS_MAX);
    return pulse.start_timeout_s * 1000 + step * START_STEP_MS;
}

isthmus_status ist_pulse_open(const ist_boot *boot, uint64_t timeout_s, uint64_t start_timeout_s)
{
    if (timeout_s == 0) return ISTHMUS_OK;
    pulse.pe = boot->pe;
    pulse.n_pes = boot->n_pes;
    pulse.have_met = false;
    pulse.timeout_s = timeout_s;
    pulse.start_timeout_s = start_timeout_s;
    pulse.tick_ns = timeout_s * 1000000000u / TICKS_PER_TIMEOUT;
    pulse.start_ticks = start_timeout_s > 0 ? start_ms() * 1000000u / pulse.tick_ns + 1 : UINT64_MAX;
    pulse.is_leaving = false;
    pulse.speaker = INT32_MAX;
    pulse.verdict_due_ns = UINT64_MAX;
    pulse.verdict[0] = '\0';
    pulse.by_pe = calloc((size_t)pulse.n_pes, sizeof(*pulse.by_pe));
    isthmus_status status = pulse.by_pe != NULL
                                ? ist_pulse_socket_open(&pulse.socket)
                                : ist_fail(ISTHMUS_ERR_NO_MEMORY, "pulse: no memory for %d PEs", boot->n_pes);
    if (status == ISTHMUS_OK) status = start_thread();
    if (status != ISTHMUS_OK) {
        free_all();
        return status;
    }
    pulse.is_open = true;
    ist_fatal_with_peers(announce_end, another_speaks);
    return ISTHMUS_OK;
}

struct ist_blob ist_pulse_card(void)
{
    if (!pulse.is_open) return (struct ist_blob){.bytes = NULL};
    return (struct ist_blob){.bytes = &pulse.socket.place, .length_bytes = sizeof pulse.socket.place};
}

/* ---- neighbours to watch ---- */

static void stay_on_host(struct ist_pulse_place *place)
{
    place->n_addresses = 1;
    place->addresses[0] = (struct in6_addr)IN6ADDR_ANY_INIT;
    place->addresses[0].s6_addr[10] = place->addresses[0].s6_addr[11] = 0xff;
    place->addresses[0].s6_addr[12] = 127;
    place->addresses[0].s6_addr[15] = 1;
}

static void watch(const struct ist_card *peer, bool is_close)
{
    struct ist_pulse_place place;
    if (!pulse.is_open || !ist_pulse_place_read(peer->pulse.bytes, peer->pulse.length_bytes, &place)) return;
    if (ist_host_id_equal(&peer->host, &ist_registry.host)) stay_on_host(&place);
    pthread_mutex_lock(&pulse.lock);
    struct neighbour *n = neighbour_get(peer->pe, place.token);
    if (n != NULL && n->place.n_addresses == 0) {
        n->place = place;
        snprintf(n->host_name, sizeof n->host_name, "%s", peer->host_name);
    }
    if (n != NULL && !n->has_left) {
        n->is_close = n->is_close || is_close;
        if (n->at.sin6_family == 0) say(n, IST_PULSE_ASK);
    }
    pthread_mutex_unlock(&pulse.lock);
}

void ist_pulse_watch(const struct ist_card *peer) { watch(peer, false); }

void ist_pulse_join(const struct ist_card *first)
{
    if (!pulse.is_open) return;
    if (first != NULL) watch(first, true);
    pthread_mutex_lock(&pulse.lock);
    pulse.have_met = true;
    pthread_mutex_unlock(&pulse.lock);
}

/* ---- leaving ---- */

/* A neighbour that has left needs no bye; one never heard from would not reply. */
static uint32_t say_bye(void)
{
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < pulse.n; i++) {
        struct neighbour *n = pulse.list[i];
        if (n->has_left || n->has_seen_bye || n->at.sin6_family == 0) continue;
        say(n, IST_PULSE_BYE);
        n_open++;
    }
    return n_open;
}

static bool all_have_seen(void)
{
    for (uint32_t i = 0; i < pulse.n; i++) {
        const struct neighbour *n = pulse.list[i];
        if (!n->has_left && !n->has_seen_bye && n->at.sin6_family != 0) return false;
    }
    return true;
}

void ist_pulse_leave(void)
{
    if (!pulse.is_open) return;
    pthread_mutex_lock(&pulse.lock);
    pulse.is_leaving = true;
    for (int round = 0; round < BYE_ROUNDS && say_bye() > 0; round++) {
        struct timespec until = ist_clock_until_ms(BYE_ROUND_MS);
        while (!all_have_seen() && pthread_cond_timedwait(&pulse.seen, &pulse.lock, &until) == 0) {}
    }
    pthread_mutex_unlock(&pulse.lock);
}

void ist_pulse_close(void)
{
    if (!pulse.is_open) return;
    uint64_t one = 1;
    ist_fatal_with_peers(NULL, NULL);
    (void)!write(pulse.stop_fd, &one, sizeof one);
    pthread_join(pulse.thread, NULL);
    close(pulse.stop_fd);
    pulse.is_open = false;
    free_all();
}

/* The socket belongs to the parent; closing the child's copy would be harmless, but the child has no place on a
 * card. */
void ist_pulse_forget(void)
{
    pulse.is_open = false;
    pthread_mutex_init(&pulse.lock, NULL);
    ist_fatal_with_peers(NULL, NULL);
}

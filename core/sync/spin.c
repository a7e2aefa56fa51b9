/* core/sync/spin.c: see spin.h. */
#include "core/sync/spin.h"

#include "core/base/clock.h"
#include "core/sync/awaited.h"
#include "core/transport/progress.h"

#include <sched.h>

enum {
    ALONE_ROUNDS = 4000,        /* some tens of microseconds */
    OVERSUBSCRIBED_ROUNDS = 24, /* less than a context switch costs */
    REMOTE_ROUNDS = 64,         /* what comes over a network is seen after progress only */
    MIXED_ROUNDS = 400,         /* what a peer on this host stores comes within this, or late */
    NS_PER_ROUND = 12,
    YIELDS_PER_PROGRESS = 32, /* with load and store only, progress is for first uses of peers */
    LOOK_EVERY_NS = 250000000,
    AWAKE_NS = 50000,       /* a few round trips over TCP; after it the processor is worth more to others */
    SHORT_YIELD_NS = 1000,  /* nobody else has run */
    ALONE_LOOKS = 32,       /* then, before the next yield */
    LONG_YIELD_NS = 200000, /* others want the processor: who sleeps gets it back sooner than who yields */
    CROWDED_NS = 20000000,  /* for so long this is believed */
    NAP_LEAST_NS = 50000,   /* a timer is not finer */
    NAP_MOST_NS = 10000000, /* and a PE that waits for ever wakes 100 times a second */
    NAP_SHARE = 8           /* what a store ends is noticed late by this part of the time waited */
};

uint32_t ist_spin_rounds = ALONE_ROUNDS;
static bool oversubscribed;
static enum ist_spin_peers who_ends_waits;
static uint64_t crowded_until_ns; /* as the last long yield said */
static void (*look_around)(void);

static uint32_t usual_rounds(enum ist_spin_peers peers)
{
    if (oversubscribed) return OVERSUBSCRIBED_ROUNDS;
    return peers == IST_SPIN_LOCAL ? ALONE_ROUNDS : peers == IST_SPIN_REMOTE ? REMOTE_ROUNDS : MIXED_ROUNDS;
}

void ist_spin_init(uint64_t spin_ns, int n_local, int n_cpus, enum ist_spin_peers peers)
{
    who_ends_waits = peers;
    oversubscribed = n_local > n_cpus;
    ist_spin_rounds = usual_rounds(peers);
    if (spin_ns != UINT64_MAX) {
        uint64_t rounds = spin_ns / NS_PER_ROUND;
        ist_spin_rounds = rounds < UINT32_MAX ? (uint32_t)rounds : UINT32_MAX;
    }
}

void ist_spin_expect(enum ist_spin_peers peers) { who_ends_waits = peers; }

bool ist_spin_is_oversubscribed(void) { return oversubscribed; }

void ist_spin_on_long_wait(void (*look)(void)) { look_around = look; }

static void look_now_and_then(struct ist_spin *spin, uint64_t now_ns)
{
    if (spin->deadline_ns == 0) spin->deadline_ns = now_ns + LOOK_EVERY_NS;
    if (now_ns < spin->deadline_ns) return;
    ist_awaited_note(spin->awaited, spin->is_noted ? 0 : spin->deadline_ns - LOOK_EVERY_NS, now_ns);
    spin->is_noted = true;
    spin->deadline_ns = now_ns + LOOK_EVERY_NS;
    if (look_around != NULL) look_around();
}

/* ---- waits that a network may end ---- */

/* How long a sleep may last although nothing arrives. */
static uint64_t nap_ns(const struct ist_spin *spin, uint64_t now_ns)
{
    if (who_ends_waits == IST_SPIN_REMOTE) return LOOK_EVERY_NS;
    uint64_t nap = (now_ns - spin->start_ns) / NAP_SHARE;
    return nap < NAP_LEAST_NS ? NAP_LEAST_NS : nap > NAP_MOST_NS ? NAP_MOST_NS : nap;
}

/* A yield that took no time gave the processor to nobody, and the next ones would not either. */
static void yield_and_watch(uint64_t now_ns)
{
    static _Thread_local uint32_t looks_left __attribute__((tls_model("initial-exec")));
    if (looks_left > 0) {
        looks_left--;
        return;
    }
    sched_yield();
    uint64_t after_ns = ist_clock_ns();
    if (after_ns - now_ns < SHORT_YIELD_NS) looks_left = ALONE_LOOKS;
    if (after_ns - now_ns >= LONG_YIELD_NS) ist_store_relaxed(&crowded_until_ns, after_ns + CROWDED_NS);
}

static bool is_to_stay_awake(const struct ist_spin *spin, uint64_t now_ns)
{
    return now_ns - spin->busy_ns < AWAKE_NS && now_ns >= ist_load_relaxed(&crowded_until_ns);
}

/* Serve; stay awake while there is something to serve. What another thread has served since the last look counts too: it
 * may be what this wait is for. */
static void yield_on_network(struct ist_spin *spin)
{
    uint64_t now = ist_clock_ns();
    ist_progress_attend(now);
    uint64_t n_events = ist_progress_events();
    if (spin->start_ns == 0) spin->start_ns = spin->busy_ns = now;
    if (spin->n_events != n_events) {
        spin->n_events = n_events;
        spin->busy_ns = now;
    } else if (is_to_stay_awake(spin, now)) {
        yield_and_watch(now);
    } else {
        ist_progress_sleep(n_events, nap_ns(spin, now));
    }
    look_now_and_then(spin, now);
}

void ist_spin_yield(struct ist_spin *spin)
{
    spin->rounds = ist_spin_rounds;
    if (who_ends_waits != IST_SPIN_LOCAL) {
        yield_on_network(spin);
        return;
    }
    sched_yield();
    if (++spin->yields % YIELDS_PER_PROGRESS != 0) return;
    ist_progress_poll();
    look_now_and_then(spin, ist_clock_ns());
}

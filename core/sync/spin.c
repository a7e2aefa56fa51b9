/* core/sync/spin.c: see spin.h. */
#include "core/sync/spin.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/ops/region.h"
#include "core/transport/progress.h"

#include <sched.h>

enum {
    ALONE_ROUNDS = 4000,        /* some tens of microseconds */
    OVERSUBSCRIBED_ROUNDS = 24, /* less than a context switch costs */
    REMOTE_ROUNDS = 64,         /* data from a network is seen after progress only */
    MIXED_ROUNDS = 400,         /* a store of a peer on this host arrives within this time, or late */
    NS_PER_ROUND = 12,
    YIELDS_PER_PROGRESS = 32, /* with load and store only, progress is for first uses of peers */
    LOOK_EVERY_NS = 250000000,
    SHARED_YIELD_NS = 5000, /* another thread had the processor during the yield: no spin takes as long */
    ALONE_YIELD_NS = 1000,  /* no other thread wanted it */
    ALONE_YIELDS = 8,       /* so many in a row show it: in one the scheduler may pass over a peer on this processor */
    STREAM_LOOKS = 8,       /* all with something to do: large messages that arrive before the awaited one */
    PATIENT_NS = 1000000,   /* where a network stores silently, before the first nap: a barrier's skew */
    NAP_LEAST_NS = 50000,   /* a timer is not finer */
    NAP_USUAL_NS =
        1000000,  /* a scheduler's tick: a store that ends a wait is noticed late by no more, and a PE that waits
                   * for ever wakes 1000 times a second, which takes 1 to 3 % of a processor */
    NAP_SHARE = 8 /* until then the delay is at most this fraction of the time waited */
};

uint32_t ist_spin_rounds = ALONE_ROUNDS;
_Thread_local bool ist_spin_is_beside __attribute__((tls_model("initial-exec")));
static uint32_t alone_rounds; /* ist_spin_rounds while no other thread wants the processor; 0: the user has set them */
static bool oversubscribed;
static uint64_t nap_most_ns = NAP_USUAL_NS;
static enum ist_spin_peers who_ends_waits;
static _Thread_local struct isthmus_idle_habit habit __attribute__((tls_model("initial-exec")));

static uint32_t usual_rounds(enum ist_spin_peers peers)
{
    if (oversubscribed) return OVERSUBSCRIBED_ROUNDS;
    return peers == IST_SPIN_LOCAL ? ALONE_ROUNDS : peers == IST_SPIN_REMOTE ? REMOTE_ROUNDS : MIXED_ROUNDS;
}

enum ist_spin_peers ist_spin_peers_of(bool has_network, bool wakes, bool has_stores)
{
    if (!has_network) return IST_SPIN_LOCAL;
    if (!wakes) return IST_SPIN_SILENT;
    return has_stores ? IST_SPIN_MIXED : IST_SPIN_REMOTE;
}

const char *ist_spin_describe(void)
{
    static const char *const texts[IST_SPIN_N] = {
        [IST_SPIN_LOCAL] = "yield, or nap between looks while other threads compute",
        [IST_SPIN_REMOTE] = "sleep until something arrives",
        [IST_SPIN_MIXED] = "nap between looks, as stores wake no PE",
        [IST_SPIN_SILENT] = "yield, then nap between looks, as what arrives wakes no PE",
    };
    return texts[who_ends_waits];
}

void ist_spin_init(uint64_t spin_ns, uint64_t nap_ns, int n_local, int n_cpus, enum ist_spin_peers peers)
{
    who_ends_waits = peers;
    nap_most_ns = nap_ns != UINT64_MAX ? nap_ns : NAP_USUAL_NS;
    oversubscribed = n_local > n_cpus;
    ist_spin_rounds = alone_rounds = usual_rounds(peers);
    if (spin_ns != UINT64_MAX) {
        uint64_t rounds = spin_ns / NS_PER_ROUND;
        ist_spin_rounds = rounds < UINT32_MAX ? (uint32_t)rounds : UINT32_MAX;
        alone_rounds = 0;
    }
}

void ist_spin_expect(enum ist_spin_peers peers) { who_ends_waits = peers; }

void ist_spin_expect_stores(void)
{
    if (who_ends_waits == IST_SPIN_REMOTE) who_ends_waits = IST_SPIN_MIXED;
}

bool ist_spin_is_oversubscribed(void) { return oversubscribed; }

static void look_now_and_then(struct ist_spin *spin, uint64_t now_ns)
{
    if (spin->deadline_ns == 0) spin->deadline_ns = now_ns + LOOK_EVERY_NS;
    if (now_ns < spin->deadline_ns) return;
    ist_awaited_note(spin->awaited, spin->is_noted ? 0 : spin->deadline_ns - LOOK_EVERY_NS, now_ns);
    spin->is_noted = true;
    spin->deadline_ns = now_ns + LOOK_EVERY_NS;
    ist_life_report_wait(IST_LIFE_WAIT_IN_CALL);
}

/* ---- waits that a network may end ---- */

/* How long a sleep may last although nothing arrives. */
static uint64_t nap_ns(const struct ist_spin *spin, uint64_t now_ns)
{
    if (who_ends_waits == IST_SPIN_REMOTE) return LOOK_EVERY_NS;
    uint64_t nap = (now_ns - spin->start_ns) / NAP_SHARE;
    if (nap < NAP_LEAST_NS) nap = NAP_LEAST_NS;
    return nap < nap_most_ns ? nap : nap_most_ns;
}

/* Returns true if it is too early for a nap. If other threads want the processor (a yield took long), a nap yields it
 * to them sooner. */
static bool goes_on_looking(const struct ist_spin *spin, uint64_t now_ns)
{
    if (who_ends_waits == IST_SPIN_REMOTE) return false;
    if (nap_most_ns == 0) return true;
    bool is_crowded = oversubscribed || now_ns < habit.crowded_until_ns;
    return who_ends_waits == IST_SPIN_SILENT && !is_crowded && now_ns - spin->start_ns < PATIENT_NS;
}

/* A processor that another process shares, one that ist_spin_init() does not count: the spins of the next waits would
 * only delay it, and it may be the awaited peer. Beside a thread that computes, a wait that stores end spins for as
 * long as it would alone: the peer stores from another processor meanwhile, or else the yield takes a time slice.
 * Threads that disagree cost each other one spin. */
static void adapt_spin(uint64_t yield_ns, bool is_crowded)
{
    static _Thread_local uint32_t n_alone __attribute__((tls_model("initial-exec"))); /* short yields in a row */
    uint32_t before = ist_load_relaxed(&ist_spin_rounds), rounds = before;
    if (alone_rounds == 0) return;
    n_alone = yield_ns < ALONE_YIELD_NS ? n_alone + 1 : 0;
    if (n_alone >= ALONE_YIELDS || (is_crowded && who_ends_waits == IST_SPIN_LOCAL))
        rounds = alone_rounds;
    else if (yield_ns >= SHARED_YIELD_NS && rounds > OVERSUBSCRIBED_ROUNDS)
        rounds = OVERSUBSCRIBED_ROUNDS;
    if (rounds != before) ist_store_relaxed(&ist_spin_rounds, rounds);
}

static void yield_and_learn(uint64_t now_ns)
{
    sched_yield();
    uint64_t after_ns = ist_clock_ns();
    isthmus_idle_yielded(&habit, now_ns, after_ns);
    adapt_spin(after_ns - now_ns, after_ns < habit.crowded_until_ns);
}

/* Makes progress and stays awake while there is something to do. Work of another thread since the last poll counts too:
 * it may be what this wait is for. */
static void yield_on_network(struct ist_spin *spin)
{
    ist_progress_poll();
    uint64_t n_events = ist_progress_events();
    if (spin->n_events != n_events) {
        spin->idle = (struct isthmus_idle){0};
        spin->start_ns = 0; /* a peer that sends one request after the other finds this PE awake */
        if (++spin->n_busy >= STREAM_LOOKS)
            for (int i = 0; i < STREAM_LOOKS && ist_progress_poll() > 0; i++) {}
        spin->n_events = ist_progress_events();
        ist_progress_attended(ist_clock_ns());
        return;
    }
    spin->n_busy = 0;
    if (isthmus_idle_look_again(&spin->idle, &habit)) return;
    uint64_t now = ist_clock_ns();
    ist_progress_attended(now);
    if (spin->start_ns == 0) spin->start_ns = now;
    enum isthmus_idle_way way = isthmus_idle_next(&spin->idle, &habit, now);
    if (way == ISTHMUS_IDLE_SLEEP && goes_on_looking(spin, now)) way = ISTHMUS_IDLE_YIELD;
    switch (way) {
    case ISTHMUS_IDLE_LOOK: break;
    case ISTHMUS_IDLE_SLEEP: ist_progress_sleep(n_events, nap_ns(spin, now)); break;
    case ISTHMUS_IDLE_YIELD: yield_and_learn(now); break;
    }
    look_now_and_then(spin, now);
}

/* ---- waits that a load ends ---- */

static void nap(struct ist_spin *spin, uint64_t now_ns)
{
    if (spin->start_ns == 0) spin->start_ns = now_ns;
    if (nap_most_ns > 0) ist_progress_sleep(ist_progress_events(), nap_ns(spin, now_ns));
}

/* A yield that lasts has given the processor to a thread that computes, for its time slice, and the store that ends the
 * wait does not take it back; the end of a nap does. With more PEs than processors that thread may be the awaited PE,
 * which naps would interrupt, and the yields are not timed. Returns whether it has napped. */
static bool yield_or_nap(struct ist_spin *spin)
{
    if (oversubscribed) {
        sched_yield();
        return false;
    }
    uint64_t now_ns = ist_clock_ns();
    if (spin->start_ns == 0) spin->start_ns = now_ns;
    bool naps = now_ns < habit.crowded_until_ns && nap_most_ns > 0;
    if (naps)
        nap(spin, now_ns);
    else
        yield_and_learn(now_ns);
    return naps;
}

static void yield_to_stores(struct ist_spin *spin)
{
    bool has_napped = yield_or_nap(spin);
    if (++spin->yields % YIELDS_PER_PROGRESS != 0 && !has_napped) return;
    ist_progress_poll();
    uint64_t now_ns = ist_clock_ns();
    look_now_and_then(spin, now_ns);
    if (ist_spin_is_beside && !has_napped) nap(spin, now_ns);
}

void ist_spin_yield(struct ist_spin *spin)
{
    ist_region_post(); /* the peer may wait for one of these puts */
    if (who_ends_waits == IST_SPIN_LOCAL)
        yield_to_stores(spin);
    else
        yield_on_network(spin);
    spin->rounds = ist_load_relaxed(&ist_spin_rounds); /* this wait has spun */
}

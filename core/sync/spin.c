/* core/sync/spin.c: see spin.h. */
#include "core/sync/spin.h"

#include "core/transport/progress.h"

#include <sched.h>
#include <time.h>

enum {
    ALONE_ROUNDS = 4000,        /* some tens of microseconds */
    OVERSUBSCRIBED_ROUNDS = 24, /* less than a context switch costs */
    NS_PER_ROUND = 12,
    YIELDS_PER_PROGRESS = 32, /* with load and store only, progress is for first uses of peers */
    LOOK_EVERY_NS = 250000000
};

uint32_t ist_spin_rounds = ALONE_ROUNDS;
static bool oversubscribed;
static uint32_t yields_per_progress = YIELDS_PER_PROGRESS;
static void (*look_around)(void);

void ist_spin_init(uint64_t spin_ns, int n_local, int n_cpus, bool on_network)
{
    yields_per_progress = on_network ? 1 : YIELDS_PER_PROGRESS;
    oversubscribed = n_local > n_cpus;
    ist_spin_rounds = oversubscribed ? OVERSUBSCRIBED_ROUNDS : ALONE_ROUNDS;
    if (spin_ns != UINT64_MAX) {
        uint64_t rounds = spin_ns / NS_PER_ROUND;
        ist_spin_rounds = rounds < UINT32_MAX ? (uint32_t)rounds : UINT32_MAX;
    }
}

bool ist_spin_is_oversubscribed(void) { return oversubscribed; }

void ist_spin_on_long_wait(void (*look)(void)) { look_around = look; }

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void ist_spin_yield(struct ist_spin *spin)
{
    spin->rounds = ist_spin_rounds;
    sched_yield();
    if (++spin->yields % yields_per_progress != 0) return;
    ist_progress_poll();
    if (look_around == NULL) return;
    uint64_t now = now_ns();
    if (spin->deadline_ns == 0) spin->deadline_ns = now + LOOK_EVERY_NS;
    if (now < spin->deadline_ns) return;
    spin->deadline_ns = now + LOOK_EVERY_NS;
    look_around();
}

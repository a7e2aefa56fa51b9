/* isthmus/idle.h: how a wait that a network ends passes its time: it polls, now and then it yields the processor, and
 * in the end it sleeps. For the core's waits and for those inside a transport's slots, which supply the poll and the
 * sleep.
 *
 * A poll must be cheap, because half of its cost is added to every message: most polls read no clock. Other threads may
 * need the processor, the awaited peer among them. A yield that took no time found no other thread to run, and the next
 * ones would not either. After a long yield the wait sleeps instead, because a sleep gets the processor back sooner.
 * The more yields are long, the longer the wait keeps to sleeping, since asleep each message takes many times as long.
 *
 *     struct isthmus_idle idle = {0};
 *     while (!done) {
 *         if (progress() > 0) { idle = (struct isthmus_idle){0}; continue; }
 *         if (isthmus_idle_look_again(&idle, habit)) continue;
 *         uint64_t now = now_ns();
 *         switch (isthmus_idle_next(&idle, habit, now)) {
 *         case ISTHMUS_IDLE_LOOK: break;
 *         case ISTHMUS_IDLE_YIELD: sched_yield(); isthmus_idle_yielded(habit, now, now_ns()); break;
 *         case ISTHMUS_IDLE_SLEEP: sleep_until_something_arrives(); break;
 *         }
 *     }
 */
#ifndef ISTHMUS_IDLE_H
#define ISTHMUS_IDLE_H

#include <stdint.h>

/* What earlier waits have measured. Used by one thread, or under a lock. Begins as zeros, except for awake_ns. */
struct isthmus_idle_habit {
    uint32_t looks_left; /* before the clock is read again */
    uint64_t awake_ns;   /* how long a wait polls and yields before it sleeps; 0: 50 us, some round trips over TCP */
    uint64_t crowded_until_ns,
        crowded_ns; /* other threads want the processor; the latter: how long that was assumed last time */
};

/* One wait, since it last had something to do. Begins as zeros. */
struct isthmus_idle {
    uint32_t n_looks; /* since decided_ns */
    uint64_t since_ns, decided_ns;
};

enum isthmus_idle_way { ISTHMUS_IDLE_LOOK, ISTHMUS_IDLE_YIELD, ISTHMUS_IDLE_SLEEP };

static inline int isthmus_idle_look_again(struct isthmus_idle *idle, struct isthmus_idle_habit *habit)
{
    if (habit->looks_left == 0) return 0;
    habit->looks_left--;
    idle->n_looks++;
    return 1;
}

static inline enum isthmus_idle_way isthmus_idle_next(struct isthmus_idle *idle, struct isthmus_idle_habit *habit,
                                                      uint64_t now_ns)
{
    enum {
        LOOKS = 32,
        CHEAP_LOOK_NS = 100, /* a poll that takes no system call */
        EAGER_NS = 2000,     /* where polls are cheap, the first yield comes after this time: a round trip over RDMA */
        AWAKE_NS = 50000     /* after it the processor is worth more to others */
    };
    uint64_t awake_ns = habit->awake_ns;
    if (awake_ns == 0) awake_ns = AWAKE_NS;
    if (idle->since_ns == 0) idle->since_ns = idle->decided_ns = now_ns;
    uint64_t looked_ns = now_ns - idle->decided_ns, n_looks = idle->n_looks;
    idle->decided_ns = now_ns;
    idle->n_looks = 0;
    if (now_ns - idle->since_ns >= awake_ns || now_ns < habit->crowded_until_ns) return ISTHMUS_IDLE_SLEEP;
    if (looked_ns >= n_looks * CHEAP_LOOK_NS || now_ns - idle->since_ns >= EAGER_NS) return ISTHMUS_IDLE_YIELD;
    habit->looks_left = LOOKS;
    return ISTHMUS_IDLE_LOOK;
}

static inline void isthmus_idle_yielded(struct isthmus_idle_habit *habit, uint64_t before_ns, uint64_t after_ns)
{
    enum {
        LOOKS = 32,             /* no other thread has run: so many polls before the next yield */
        SHORT_YIELD_NS = 1000,  /* no other thread has run */
        LONG_YIELD_NS = 200000, /* other threads want the processor, or only one of them has run in between */
        CROWDED_LEAST_NS = 500000,
        CROWDED_MOST_NS = 20000000
    };
    if (after_ns - before_ns < SHORT_YIELD_NS) habit->looks_left = LOOKS;
    if (after_ns - before_ns < LONG_YIELD_NS) return;
    int is_again = before_ns - habit->crowded_until_ns < 2 * habit->crowded_ns;
    if (!is_again) habit->crowded_ns = CROWDED_LEAST_NS / 2;
    habit->crowded_ns *= 2;
    if (habit->crowded_ns > CROWDED_MOST_NS) habit->crowded_ns = CROWDED_MOST_NS;
    habit->crowded_until_ns = after_ns + habit->crowded_ns;
}

#endif

/* core/sync/lock.c: a queue lock after Mellor-Crummey and Scott, in one long of each PE.
 * The two halves of a PE's copy are words of their own. `tail`, used in the copy of the lock's home PE alone, names the
 * last PE of the queue; 0: the lock is free. `node` is the PE's own place in the queue: its successor, the thread that
 * has claimed the place, and whether the lock has been handed over. PEs are named by number + 1. Each word has its
 * writers: a successor writes the low bits of the node, the predecessor its top bit, so that both can be atomic ORs. A
 * PE waits on its own node only.
 * A PE has one place in the queue. Where several threads call, the one that turns the node from 0 into its own name has
 * it, until the reset after the queue has been left; the others wait for that, in the order of their arrival. */
#include "core/sync/wait.h"

#include "core/base/fatal.h"
#include "core/base/recorder.h"
#include "core/ops/amo.h"
#include "core/ops/order.h"
#include "core/ops/region.h"
#include "core/ops/target.h"

#include <pthread.h>

struct lock {
    uint32_t tail, node;
};
_Static_assert(sizeof(struct lock) == sizeof(long), "a lock lies in one long");

#define HANDED_OVER (UINT32_C(1) << 31)
enum { PE_BITS = IST_TEAM_ROUNDS + 1, THREAD_BITS = 31 - PE_BITS };
#define PE_MASK ((UINT32_C(1) << PE_BITS) - 1)
#define THREAD_MASK (HANDED_OVER - 1 - PE_MASK)

/* Threads that wait for this PE's place in the queue of a lock, in the order of their arrival. */
struct waiter {
    const struct lock *lock;
    struct waiter *next;
    bool is_first; /* of that lock */
};

static struct {
    pthread_mutex_t mutex;
    struct waiter *first;
} waiting = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint32_t update(uint32_t op, uint32_t *word, uint32_t value, uint32_t compare, int pe, const char *routine)
{
    struct ist_amo amo = {.op = op, .size = sizeof *word, .operand = value, .compare = compare};
    return (uint32_t)ist_amo(&ist_ctx_default, word, amo, ISTHMUS_AMO_FETCHING, pe, routine);
}

static struct lock *checked(long *lock, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    ist_require_symmetric(routine, "lock", lock, sizeof *lock, sizeof *lock);
    return (struct lock *)(void *)lock;
}

/* Locks are spread over the PEs by where they lie in their segment, which is the same on all of them. */
static int home_of(const struct lock *lock)
{
    int id = ist_segment_of(lock, sizeof *lock);
    uintptr_t offset = (uintptr_t)lock - (uintptr_t)ist_segments.list[id].mem.addr;
    return (int)(offset / sizeof *lock % (uintptr_t)ist_team_world.n_pes);
}

static uint32_t my_name(void) { return (uint32_t)ist_team_world.my_pe + 1; }

static int pe_named(uint32_t name) { return (int)name - 1; }

/* ---- which thread has this PE's place in the queue ---- */

static bool have_threads(void) { return ist_ctx_default.thread_mode == ISTHMUS_THREAD_SHARED; }

/* The bits of the node. Names are not used again; after so many threads the others share the last one. */
static uint32_t thread_name(void)
{
    enum { LAST = (1 << THREAD_BITS) - 1 };
    static uint32_t n_names;
    static _Thread_local uint32_t mine __attribute__((tls_model("initial-exec")));
    if (mine == 0) {
        uint32_t n = __atomic_add_fetch(&n_names, ist_load_relaxed(&n_names) < LAST, __ATOMIC_RELAXED);
        mine = (n < LAST ? n : LAST) << PE_BITS;
    }
    return mine;
}

static bool is_own_name(uint32_t thread) { return thread == thread_name() && thread != THREAD_MASK; }

/* Returns the thread that has the place already; 0: now this one has it. */
static uint32_t claim(struct lock *lock, const char *routine)
{
    return update(ISTHMUS_AMO_COMPARE_SWAP, &lock->node, thread_name(), 0, ist_team_world.my_pe, routine) & THREAD_MASK;
}

static void line_up(struct waiter *me)
{
    pthread_mutex_lock(&waiting.mutex);
    struct waiter **end = &waiting.first;
    me->is_first = true;
    for (; *end != NULL; end = &(*end)->next)
        if ((*end)->lock == me->lock) me->is_first = false;
    ist_store_relaxed(end, me);
    pthread_mutex_unlock(&waiting.mutex);
}

static void leave_line(struct waiter *me)
{
    pthread_mutex_lock(&waiting.mutex);
    struct waiter **link = &waiting.first, *next = me->next;
    while (*link != me) link = &(*link)->next;
    ist_store_relaxed(link, next);
    while (next != NULL && next->lock != me->lock) next = next->next;
    if (next != NULL) ist_store_release(&next->is_first, true); /* pairs with the acquire in claim_in_turn() */
    pthread_mutex_unlock(&waiting.mutex);
}

static void claim_in_turn(struct lock *lock, const char *routine)
{
    struct waiter me = {.lock = lock};
    struct ist_awaited awaited = {routine, &lock->node,          0,    sizeof lock->node, IST_CMP_EQ,
                                  false,   ist_team_world.my_pe, NULL, IST_ALL_OF};
    struct ist_spin spin = {.awaited = &awaited};
    line_up(&me);
    while (!ist_load_acquire(&me.is_first) || ist_wait_read(&lock->node, sizeof lock->node) != 0 ||
           claim(lock, routine) != 0)
        ist_spin_once(&spin);
    ist_spin_end(&spin);
    leave_line(&me);
}

_Noreturn static void report_second_set(const char *routine)
{
    ist_misuse(routine, "this PE holds or awaits the lock already; valid: one set_lock, then one clear_lock");
}

/* Until reset(). A thread that lines up goes before one that comes later. */
static void claim_or_wait(struct lock *lock, const char *routine)
{
    if (!have_threads()) return;
    bool is_in_turn = ist_load_relaxed(&waiting.first) == NULL;
    uint32_t holder = is_in_turn ? claim(lock, routine)
                                 : (uint32_t)ist_wait_read(&lock->node, sizeof lock->node) & THREAD_MASK;
    if (is_own_name(holder)) report_second_set(routine);
    if (!is_in_turn || holder != 0) claim_in_turn(lock, routine);
}

/* ---- the queue ---- */

/* Done with this lock: frees the place in the queue. */
static void reset(struct lock *lock, const char *routine)
{
    (void)update(ISTHMUS_AMO_SET, &lock->node, 0, 0, ist_team_world.my_pe, routine);
}

void ist_lock_set(long *word, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    struct lock *lock = checked(word, routine);
    claim_or_wait(lock, routine);
    uint32_t last = update(ISTHMUS_AMO_SWAP, &lock->tail, my_name(), 0, home_of(lock), routine);
    if (last == 0) {
        ist_flush_writes(); /* data that earlier holders have put here */
        return;
    }
    if (last == my_name()) report_second_set(routine);
    (void)update(ISTHMUS_AMO_OR, &lock->node, my_name(), 0, pe_named(last), routine);
    (void)ist_wait_behind_anywhere(&lock->node, IST_CMP_GE, HANDED_OVER, sizeof lock->node, false, pe_named(last),
                                   routine);
    if (ist_check_applies()) ist_check_synchronised();
}

int ist_lock_test(long *word, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct lock *lock = checked(word, routine);
    if (!have_threads() || claim(lock, routine) == 0) {
        if (update(ISTHMUS_AMO_COMPARE_SWAP, &lock->tail, my_name(), 0, home_of(lock), routine) == 0) {
            ist_flush_writes();
            return 0;
        }
        if (have_threads()) reset(lock, routine); /* no PE writes the node of one that is not in the queue */
    }
    ist_region_post(); /* a loop of tests is a wait */
    return 1;
}

_Noreturn static void report_not_held(const char *routine)
{
    ist_misuse(routine, "this PE does not hold the lock; valid: after set_lock, or a test_lock that returned 0");
}

/* Returns this PE's successor in the queue, or 0 if there is none and the lock is free now. */
static uint32_t leave_queue(struct lock *lock, const char *routine)
{
    uint32_t node = (uint32_t)ist_wait_read(&lock->node, sizeof lock->node);
    if (have_threads() && (node & THREAD_MASK) == 0) report_not_held(routine);
    if ((node & PE_MASK) == 0) {
        uint32_t last = update(ISTHMUS_AMO_COMPARE_SWAP, &lock->tail, 0, my_name(), home_of(lock), routine);
        if (last == my_name()) return 0;
        if (last == 0) report_not_held(routine);
        /* A successor has joined and is about to write its number. */
        node = (uint32_t)ist_wait_behind_anywhere(&lock->node, IST_CMP_NE, node, sizeof lock->node, false,
                                                  pe_named(last), routine);
    }
    return node & PE_MASK;
}

void ist_lock_clear(long *word, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct lock *lock = checked(word, routine);
    ist_quiet(&ist_ctx_default, routine); /* the next holder sees the updates made under the lock */
    uint32_t next = leave_queue(lock, routine);
    reset(lock, routine); /* before handing over: from here on this PE may be in the queue again */
    if (next != 0) (void)update(ISTHMUS_AMO_OR, &lock->node, HANDED_OVER, 0, pe_named(next), routine);
}

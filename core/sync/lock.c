/* core/sync/lock.c: a queue lock after Mellor-Crummey and Scott, in one long of each PE.
 * The two halves of a PE's copy are words of their own. `tail`, used in the copy of the lock's home PE alone, names the
 * last PE of the queue; 0: the lock is free. `node` is the PE's own place in the queue: its successor, and whether the
 * lock has been handed over. PEs are named by number + 1. Each word has its writers: a successor writes the low bits of
 * the node, the predecessor its top bit, so that both can be atomic ORs. A PE waits on its own node only. */
#include "core/sync/wait.h"

#include "core/base/fatal.h"
#include "core/base/recorder.h"
#include "core/ops/amo.h"
#include "core/ops/order.h"
#include "core/ops/region.h"
#include "core/ops/target.h"

struct lock {
    uint32_t tail, node;
};
_Static_assert(sizeof(struct lock) == sizeof(long), "a lock lies in one long");

#define HANDED_OVER (UINT32_C(1) << 31)

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

/* Done with this lock: frees the place in the queue. */
static void reset(struct lock *lock, const char *routine)
{
    (void)update(ISTHMUS_AMO_SET, &lock->node, 0, 0, ist_team_world.my_pe, routine);
}

void ist_lock_set(long *word, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    struct lock *lock = checked(word, routine);
    uint32_t last = update(ISTHMUS_AMO_SWAP, &lock->tail, my_name(), 0, home_of(lock), routine);
    if (last == 0) {
        ist_flush_writes(); /* data that earlier holders have put here */
        return;
    }
    if (last == my_name())
        ist_misuse(routine, "this PE holds or awaits the lock already; valid: one set_lock, then one clear_lock");
    (void)update(ISTHMUS_AMO_OR, &lock->node, my_name(), 0, pe_named(last), routine);
    (void)ist_wait_behind_anywhere(&lock->node, IST_CMP_GE, HANDED_OVER, sizeof lock->node, false, pe_named(last),
                                   routine);
    if (ist_check_applies()) ist_check_synchronised();
}

int ist_lock_test(long *word, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct lock *lock = checked(word, routine);
    if (update(ISTHMUS_AMO_COMPARE_SWAP, &lock->tail, my_name(), 0, home_of(lock), routine) != 0) {
        ist_region_post(); /* a loop of tests is a wait */
        return 1;
    }
    ist_flush_writes();
    return 0;
}

/* Returns this PE's successor in the queue, or 0 if there is none and the lock is free now. */
static uint32_t leave_queue(struct lock *lock, const char *routine)
{
    uint32_t node = (uint32_t)ist_wait_read(&lock->node, sizeof lock->node);
    if ((node & ~HANDED_OVER) == 0) {
        uint32_t last = update(ISTHMUS_AMO_COMPARE_SWAP, &lock->tail, 0, my_name(), home_of(lock), routine);
        if (last == my_name()) return 0;
        if (last == 0)
            ist_misuse(routine,
                       "this PE does not hold the lock; valid: after set_lock, or a test_lock that returned 0");
        /* A successor has joined and is about to write its number. */
        node = (uint32_t)ist_wait_behind_anywhere(&lock->node, IST_CMP_NE, node, sizeof lock->node, false,
                                                  pe_named(last), routine);
    }
    return node & ~HANDED_OVER;
}

void ist_lock_clear(long *word, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    struct lock *lock = checked(word, routine);
    ist_quiet(&ist_ctx_default, routine); /* the next holder sees the updates made under the lock */
    uint32_t next = leave_queue(lock, routine);
    reset(lock, routine); /* before handing over: from then on this PE may be in the queue again */
    if (next != 0) (void)update(ISTHMUS_AMO_OR, &lock->node, HANDED_OVER, 0, pe_named(next), routine);
}

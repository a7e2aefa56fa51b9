/* core/sync/wait.h: comparisons of a symmetric variable of this PE with a value, and waiting until one holds, for one
 * variable or for several; and locks.
 * Not how the time passes (spin.h). Loads are acquire: data that the writer ordered before its update (fence, quiet,
 * put_signal) is visible to plain loads after the wait (R101); each pairs with the writer's store or locked
 * instruction. */
#ifndef IST_SYNC_WAIT_H
#define IST_SYNC_WAIT_H

#include "core/base/recorder.h"
#include "core/ops/target.h"
#include "core/sync/spin.h"
#include "core/transport/memory.h"

#include <stdbool.h>
#include <stddef.h>

enum { IST_CMP_EQ, IST_CMP_NE, IST_CMP_GT, IST_CMP_GE, IST_CMP_LT, IST_CMP_LE, IST_CMP_COUNT };
_Static_assert((int)IST_CMP_COUNT == IST_FLUSH_COMPARISONS, "all comparisons pass where no wait flushes");

/* An element's bits, in the low end. `size` (2, 4, 8) is constant at every call. */
static inline uint64_t ist_wait_load(const void *ivar, size_t size)
{
    switch (size) {
    case 2: return ist_load_acquire((const uint16_t *)ivar);
    case 4: return ist_load_acquire((const uint32_t *)ivar);
    default: return ist_load_acquire((const uint64_t *)ivar);
    }
}

/* The same of a variable that may lie in memory of a device: it is copied then. Data that the writer ordered before its
 * update is visible, because the transport that copies also orders that memory. */
uint64_t ist_wait_read_slow(const void *ivar, size_t size) IST_COLD;
static inline uint64_t ist_wait_read(const void *ivar, size_t size)
{
    return IST_LIKELY(!ist_has_device_memory()) ? ist_wait_load(ivar, size) : ist_wait_read_slow(ivar, size);
}

/* Bring a value of `size` bytes to 64 bits so that one comparison serves all types. */
static inline int64_t ist_sign_extend(uint64_t bits, size_t size)
{
    return size == 2 ? (int16_t)bits : size == 4 ? (int32_t)bits : (int64_t)bits;
}

static inline bool ist_compare(int cmp, uint64_t a, uint64_t b, size_t size, bool is_signed)
{
    bool is_less = is_signed ? ist_sign_extend(a, size) < ist_sign_extend(b, size) : a < b;
    switch (cmp) {
    case IST_CMP_EQ: return a == b;
    case IST_CMP_NE: return a != b;
    case IST_CMP_GT: return a != b && !is_less;
    case IST_CMP_GE: return !is_less;
    case IST_CMP_LT: return is_less;
    default: return is_less || a == b;
    }
}

/* The rest of a wait that spinning has not ended, or all of it: for a variable in memory of a device. */
uint64_t ist_wait_on(const struct ist_awaited *awaited) IST_COLD;
void ist_wait_on_flag(const uint64_t *flag, uint64_t value) IST_COLD;
void ist_wait_on_flag_profiled(const uint64_t *flag, uint64_t value) IST_COLD; /* from the first look on */

/* Before the first yield. Returns true if the comparison holds for the value in *seen. */
static inline bool ist_wait_briefly(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed,
                                    uint64_t *seen)
{
    uint32_t rounds = 0;
    do {
        *seen = ist_wait_load(ivar, size);
        if (ist_compare(cmp, *seen, value, size, is_signed)) return true;
    } while (ist_spin_briefly(&rounds));
    return false;
}

/* Wait until the comparison holds; returns the value that satisfied it. For a variable in host memory, in a PE whose
 * waits flush nothing (core/transport/memory.h). */
static inline uint64_t ist_wait_for(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed,
                                    const char *routine)
{
    uint64_t seen;
    if (ist_wait_briefly(ivar, cmp, value, size, is_signed, &seen)) return seen;
    return ist_wait_on(&(struct ist_awaited){routine, ivar, value, size, cmp, is_signed, -1, NULL, IST_ALL_OF});
}

/* The same in any PE, of a variable that may lie in memory of a device. `behind`: for a lock, the PE that will make it
 * hold; -1: any PE. */
static inline uint64_t ist_wait_behind_anywhere(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed,
                                                int behind, const char *routine)
{
    uint64_t seen;
    bool holds = IST_LIKELY(!ist_is_on_device(ivar)) && ist_wait_briefly(ivar, cmp, value, size, is_signed, &seen);
    if (holds) return ist_flush_writes_before(seen);
    return ist_wait_on(&(struct ist_awaited){routine, ivar, value, size, cmp, is_signed, behind, NULL, IST_ALL_OF});
}

/* For our own flags, which only grow. Device memory written along with them is not flushed here: see
 * ist_wait_for_data(). */
static inline void ist_wait_at_least(const uint64_t *flag, uint64_t value)
{
    uint32_t rounds = 0;
    if (ist_load_acquire(flag) >= value) return;
    if (IST_UNLIKELY(ist_load_relaxed(&ist_profile_on))) {
        ist_wait_on_flag_profiled(flag, value);
        return;
    }
    while (ist_load_acquire(flag) < value)
        if (!ist_spin_briefly(&rounds)) {
            ist_wait_on_flag(flag, value);
            return;
        }
}

/* The same for a flag that follows data, which is used from here on. */
static inline void ist_wait_for_data(const uint64_t *flag, uint64_t value)
{
    ist_wait_at_least(flag, value);
    ist_flush_writes();
}

/* ---- all, any or some of an array of variables ----
 * Entries whose status is not 0 are ignored; without entries there is nothing to wait for. */

struct ist_wait_set {
    const void *ivars;
    size_t nelems;
    const int *status; /* NULL: no entry is ignored */
    int cmp;
    const void *values; /* one, or one for each entry */
    bool is_vector;
    size_t size; /* bytes of an entry: 4 or 8 */
    bool is_signed;
    const char *routine;
};

bool ist_set_test_all(const struct ist_wait_set *set);
size_t ist_set_test_any(const struct ist_wait_set *set);                   /* an index, or SIZE_MAX */
size_t ist_set_test_some(const struct ist_wait_set *set, size_t *indices); /* how many indices were written */
size_t ist_set_count(const struct ist_wait_set *set);                      /* entries that hold now */
void ist_set_wait_all(const struct ist_wait_set *set);
size_t ist_set_wait_any(const struct ist_wait_set *set);                   /* SIZE_MAX: no entry is left */
size_t ist_set_wait_some(const struct ist_wait_set *set, size_t *indices); /* 0: no entry is left */

/* ---- locks that a symmetric long holds (lock.c) ----
 * Fair, in the order of arrival, and waiting on the waiting PE's own memory. Of the threads of a PE one at a time is in
 * the queue; they take turns. Any thread of the PE may clear a lock. `lock` is 0 on all PEs at first and belongs to the
 * library while it is in use. Not reentrant. */

void ist_lock_set(long *lock, const char *routine);
/* Returns 0 if the caller holds the lock now, 1 if another PE or thread does. Never waits. */
int ist_lock_test(long *lock, const char *routine);
void ist_lock_clear(long *lock, const char *routine);

#endif

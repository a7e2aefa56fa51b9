/* core/sync/wait.h: comparisons of a symmetric variable of this PE with a value, and waiting until one holds.
 * Not how the time passes (spin.h). Loads are acquire: what the writer ordered before its update (fence, quiet,
 * put_signal) is visible to plain loads after the wait (R101); each pairs with the writer's store or locked instruction. */
#ifndef IST_SYNC_WAIT_H
#define IST_SYNC_WAIT_H

#include "core/sync/spin.h"

#include <stddef.h>

enum { IST_CMP_EQ, IST_CMP_NE, IST_CMP_GT, IST_CMP_GE, IST_CMP_LT, IST_CMP_LE, IST_CMP_COUNT };

/* An element's bits, in the low end. `size` (2, 4, 8) is constant at every call. */
static inline uint64_t ist_wait_load(const void *ivar, size_t size)
{
    switch (size) {
    case 2: return ist_load_acquire((const uint16_t *)ivar);
    case 4: return ist_load_acquire((const uint32_t *)ivar);
    default: return ist_load_acquire((const uint64_t *)ivar);
    }
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

/* Wait until the comparison holds; returns the value that satisfied it. */
static inline uint64_t ist_wait_for(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed)
{
    struct ist_spin spin = {0};
    for (;;) {
        uint64_t seen = ist_wait_load(ivar, size);
        if (ist_compare(cmp, seen, value, size, is_signed)) return seen;
        ist_spin_once(&spin);
    }
}

/* For our own flags, which only grow. */
static inline void ist_wait_at_least(const uint64_t *flag, uint64_t value)
{
    struct ist_spin spin = {0};
    while (ist_load_acquire(flag) < value) ist_spin_once(&spin);
}

#endif

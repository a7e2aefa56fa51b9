/* isthmus/device_wait.h: waits for, and tests of, this PE's own symmetric memory from kernels. See device.h.
 * What a wait has seen is an acquire: data that was put before its flag may be read then, once what adapters have
 * written is visible (isthmus_dev_flush_writes()). */
#ifndef ISTHMUS_DEVICE_WAIT_H
#define ISTHMUS_DEVICE_WAIT_H

#include <isthmus/device_waiting.h>

/* ---- comparisons: a set of the three relations for which they hold ---- */

enum { ISTHMUS_DEV_LESS = 1, ISTHMUS_DEV_EQUAL = 2, ISTHMUS_DEV_GREATER = 4 };

/* Four bits for each value of the constants. */
ISTHMUS_DEVICE unsigned isthmus_dev_relations(int cmp, uint32_t table)
{
    if ((unsigned)cmp > 5) isthmus_dev_misuse(ISTHMUS_CALL_WAIT, ISTHMUS_MISTAKE_COMPARISON, NULL, cmp);
    return table >> (4 * cmp) & 7;
}

/* NVSHMEM_CMP_EQ NE GT LE LT GE. */
ISTHMUS_DEVICE unsigned isthmus_dev_relations_of_nvshmem(int cmp) { return isthmus_dev_relations(cmp, 0x613452); }

/* The values are in the low size bytes. */
ISTHMUS_DEVICE int isthmus_dev_holds(uint64_t value, unsigned relations, uint64_t other, size_t size, int is_signed)
{
    unsigned unused_bits = 64 - 8 * (unsigned)size;
    value <<= unused_bits, other <<= unused_bits;
    if (is_signed) value ^= (uint64_t)1 << 63, other ^= (uint64_t)1 << 63;
    unsigned relation = value < other ? ISTHMUS_DEV_LESS : value == other ? ISTHMUS_DEV_EQUAL : ISTHMUS_DEV_GREATER;
    return (relations & relation) != 0;
}

/* ---- one variable ---- */

/* Without the flush. */
ISTHMUS_DEVICE int isthmus_dev_is_met(const void *ivar, unsigned relations, uint64_t value, size_t size, int is_signed)
{
    return isthmus_dev_holds(isthmus_dev_load_acquire(ivar, size), relations, value, size, is_signed);
}

ISTHMUS_DEVICE int isthmus_dev_test(const void *ivar, unsigned relations, uint64_t value, size_t size, int is_signed)
{
    int holds = isthmus_dev_is_met(ivar, relations, value, size, is_signed);
    if (holds) isthmus_dev_flush_writes();
    return holds;
}

/* ISTHMUS_WAIT_WHAT, of a wait in this routine (ISTHMUS_WAIT_) for n variables. */
ISTHMUS_DEVICE uint64_t isthmus_dev_wait_what(int routine, unsigned relations, size_t size, int is_signed, size_t n)
{
    return (uint64_t)(uint32_t)n << 32 | (uint32_t)(is_signed != 0) << 24 | (uint32_t)size << 16 | relations << 8 |
           (uint32_t)routine;
}

/* A flag of a collective counts, and may begin again with 0. */
ISTHMUS_DEVICE int isthmus_dev_is_wait_over(uint64_t what, uint64_t seen, uint64_t value)
{
    if ((what & 0xff) == ISTHMUS_WAIT_MEMBER) return (int32_t)((uint32_t)seen - (uint32_t)value) >= 0;
    return isthmus_dev_holds(seen, (unsigned)(what >> 8) & 7, value, (size_t)(what >> 16 & 15), (int)(what >> 24 & 1));
}

/* The rest of a wait that has lasted, with a note of it. Out of line, so that the beginning of a wait has no room for
 * it. what, pe: ISTHMUS_WAIT_WHAT, ISTHMUS_WAIT_PE. Returns the value that ended the wait. */
ISTHMUS_DEVICE_COLD uint64_t isthmus_dev_wait_long(uint64_t what, const void *ivar, uint64_t value, int pe)
{
    struct isthmus_dev_waiter waiter = {ISTHMUS_DEV_LASTS, 0};
    size_t size = (size_t)(what >> 16 & 15);
    isthmus_dev_check_state(ISTHMUS_CALL_WAIT);
    uint64_t seen = isthmus_dev_load_acquire(ivar, size);
    int is_due = 1;
    while (!isthmus_dev_is_wait_over(what, seen, value)) {
        if (is_due) waiter.place = isthmus_dev_note_wait(waiter, what, ivar, value, seen, pe);
        is_due = isthmus_dev_wait_turn(&waiter);
        seen = isthmus_dev_load_acquire(ivar, size);
    }
    isthmus_dev_wait_over(&waiter);
    return seen;
}

/* Returns the value that ended the wait, without the flush. Without a state no wait ends, so that it reaches
 * isthmus_dev_wait_long, which reports that: a report here would take registers of every kernel that waits. */
ISTHMUS_DEVICE uint64_t isthmus_dev_await(int routine, const void *ivar, unsigned relations, uint64_t value,
                                          size_t size, int is_signed)
{
    struct isthmus_dev_waiter waiter = {0, 0};
    uint64_t seen;
    while (!isthmus_dev_holds(seen = isthmus_dev_load_acquire(ivar, size), relations, value, size, is_signed) ||
           !isthmus_dev_has_state())
        if (isthmus_dev_wait_turn(&waiter))
            return isthmus_dev_wait_long(isthmus_dev_wait_what(routine, relations, size, is_signed, 1), ivar, value,
                                         -1);
    return seen;
}

ISTHMUS_DEVICE uint64_t isthmus_dev_wait(int routine, const void *ivar, unsigned relations, uint64_t value, size_t size,
                                         int is_signed)
{
    uint64_t seen = isthmus_dev_await(routine, ivar, relations, value, size, is_signed);
    isthmus_dev_flush_writes();
    return seen;
}

/* ---- sets of variables ---- */

struct isthmus_dev_set {
    const void *ivars;
    size_t nelems;
    const int *status; /* entries that are not 0 are left out; NULL: none is */
    const void *values;
    size_t value_step; /* from the value of one entry to that of the next: 0, or size */
    size_t size;
    unsigned relations;
    int is_signed;
};

ISTHMUS_DEVICE int isthmus_dev_is_in(const struct isthmus_dev_set *set, size_t i)
{
    return set->status == NULL || set->status[i] == 0;
}

/* The values are the caller's own memory. */
ISTHMUS_DEVICE uint64_t isthmus_dev_value(const struct isthmus_dev_set *set, size_t i)
{
    const char *at = (const char *)set->values + i * set->value_step;
    switch (set->size) {
    case 2: return *(const isthmus_u16 *)(const void *)at;
    case 4: return *(const isthmus_u32 *)(const void *)at;
    default: return *(const isthmus_u64 *)(const void *)at;
    }
}

ISTHMUS_DEVICE int isthmus_dev_test_entry(const struct isthmus_dev_set *set, size_t i)
{
    const char *ivar = (const char *)set->ivars + i * set->size;
    return isthmus_dev_is_met(ivar, set->relations, isthmus_dev_value(set, i), set->size, set->is_signed);
}

ISTHMUS_DEVICE int isthmus_dev_is_empty(const struct isthmus_dev_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (isthmus_dev_is_in(set, i)) return 0;
    return 1;
}

ISTHMUS_DEVICE int isthmus_dev_test_all(const struct isthmus_dev_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (isthmus_dev_is_in(set, i) && !isthmus_dev_test_entry(set, i)) return 0;
    isthmus_dev_flush_writes();
    return 1;
}

ISTHMUS_DEVICE void isthmus_dev_wait_all(const struct isthmus_dev_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (isthmus_dev_is_in(set, i))
            (void)isthmus_dev_await(ISTHMUS_WAIT_ALL, (const char *)set->ivars + i * set->size, set->relations,
                                    isthmus_dev_value(set, i), set->size, set->is_signed);
    isthmus_dev_flush_writes();
}

/* A turn of a wait for any or some entries. Of values that differ none is noted. */
ISTHMUS_DEVICE void isthmus_dev_set_turn(struct isthmus_dev_waiter *waiter, int routine,
                                         const struct isthmus_dev_set *set)
{
    if (!isthmus_dev_wait_turn(waiter)) return;
    unsigned relations = set->value_step == 0 ? set->relations : 0;
    uint64_t what = isthmus_dev_wait_what(routine, relations, set->size, set->is_signed, set->nelems);
    waiter->place = isthmus_dev_note_wait(*waiter, what, set->ivars, isthmus_dev_value(set, 0), 0, -1);
}

/* Returns an entry that satisfies, or SIZE_MAX. The first one to be tested differs from call to call, so that none is
 * passed over for ever. */
ISTHMUS_DEVICE size_t isthmus_dev_test_any(const struct isthmus_dev_set *set)
{
    size_t first = set->nelems > 0 ? isthmus_dev_vary() % set->nelems : 0;
    for (size_t k = 0; k < set->nelems; k++) {
        size_t i = first + k < set->nelems ? first + k : first + k - set->nelems;
        if (!isthmus_dev_is_in(set, i) || !isthmus_dev_test_entry(set, i)) continue;
        isthmus_dev_flush_writes();
        return i;
    }
    return (size_t)-1;
}

ISTHMUS_DEVICE size_t isthmus_dev_wait_any(const struct isthmus_dev_set *set)
{
    struct isthmus_dev_waiter waiter = {0, 0};
    size_t found;
    if (isthmus_dev_is_empty(set)) return (size_t)-1;
    while ((found = isthmus_dev_test_any(set)) == (size_t)-1) isthmus_dev_set_turn(&waiter, ISTHMUS_WAIT_ANY, set);
    isthmus_dev_wait_over(&waiter);
    return found;
}

/* Returns how many satisfy, with their indices. */
ISTHMUS_DEVICE size_t isthmus_dev_test_some(const struct isthmus_dev_set *set, size_t *indices)
{
    size_t n = 0;
    for (size_t i = 0; i < set->nelems; i++)
        if (isthmus_dev_is_in(set, i) && isthmus_dev_test_entry(set, i)) indices[n++] = i;
    if (n > 0) isthmus_dev_flush_writes();
    return n;
}

ISTHMUS_DEVICE size_t isthmus_dev_wait_some(const struct isthmus_dev_set *set, size_t *indices)
{
    struct isthmus_dev_waiter waiter = {0, 0};
    size_t n;
    if (isthmus_dev_is_empty(set)) return 0;
    while ((n = isthmus_dev_test_some(set, indices)) == 0) isthmus_dev_set_turn(&waiter, ISTHMUS_WAIT_SOME, set);
    isthmus_dev_wait_over(&waiter);
    return n;
}

#endif

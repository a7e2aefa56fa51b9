/* isthmus/device_wait.h: waits for, and tests of, this PE's own symmetric memory from kernels. See device.h.
 * What a wait has seen is an acquire: data that was put before its flag may be read then. */
#ifndef ISTHMUS_DEVICE_WAIT_H
#define ISTHMUS_DEVICE_WAIT_H

#include <isthmus/device_ring.h>

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

ISTHMUS_DEVICE int isthmus_dev_test(const void *ivar, unsigned relations, uint64_t value, size_t size, int is_signed)
{
    return isthmus_dev_holds(isthmus_dev_load_acquire(ivar, size), relations, value, size, is_signed);
}

/* Returns the value that ended the wait. */
ISTHMUS_DEVICE uint64_t isthmus_dev_wait(const void *ivar, unsigned relations, uint64_t value, size_t size,
                                         int is_signed)
{
    uint32_t spins = 0;
    uint64_t seen;
    while (!isthmus_dev_holds(seen = isthmus_dev_load_acquire(ivar, size), relations, value, size, is_signed))
        isthmus_dev_spin_for_data(&spins);
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
    return isthmus_dev_test(ivar, set->relations, isthmus_dev_value(set, i), set->size, set->is_signed);
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
    return 1;
}

ISTHMUS_DEVICE void isthmus_dev_wait_all(const struct isthmus_dev_set *set)
{
    uint32_t spins = 0;
    for (size_t i = 0; i < set->nelems; i++)
        while (isthmus_dev_is_in(set, i) && !isthmus_dev_test_entry(set, i)) isthmus_dev_spin_for_data(&spins);
}

/* Returns an entry that satisfies, or SIZE_MAX. The first one to be tested differs from call to call, so that none is
 * passed over for ever. */
ISTHMUS_DEVICE size_t isthmus_dev_test_any(const struct isthmus_dev_set *set)
{
    size_t first = set->nelems > 0 ? isthmus_dev_vary() % set->nelems : 0;
    for (size_t k = 0; k < set->nelems; k++) {
        size_t i = first + k < set->nelems ? first + k : first + k - set->nelems;
        if (isthmus_dev_is_in(set, i) && isthmus_dev_test_entry(set, i)) return i;
    }
    return (size_t)-1;
}

ISTHMUS_DEVICE size_t isthmus_dev_wait_any(const struct isthmus_dev_set *set)
{
    uint32_t spins = 0;
    size_t found;
    if (isthmus_dev_is_empty(set)) return (size_t)-1;
    while ((found = isthmus_dev_test_any(set)) == (size_t)-1) isthmus_dev_spin_for_data(&spins);
    return found;
}

/* Returns how many satisfy, with their indices. */
ISTHMUS_DEVICE size_t isthmus_dev_test_some(const struct isthmus_dev_set *set, size_t *indices)
{
    size_t n = 0;
    for (size_t i = 0; i < set->nelems; i++)
        if (isthmus_dev_is_in(set, i) && isthmus_dev_test_entry(set, i)) indices[n++] = i;
    return n;
}

ISTHMUS_DEVICE size_t isthmus_dev_wait_some(const struct isthmus_dev_set *set, size_t *indices)
{
    uint32_t spins = 0;
    size_t n;
    if (isthmus_dev_is_empty(set)) return 0;
    while ((n = isthmus_dev_test_some(set, indices)) == 0) isthmus_dev_spin_for_data(&spins);
    return n;
}

#endif

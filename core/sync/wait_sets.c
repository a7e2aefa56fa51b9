/* core/sync/wait_sets.c: see wait_sets.h.
 * "Any" starts its search where the last one ended, so that an entry that always holds cannot hide the others. */
#include "core/sync/wait_sets.h"

#include "core/sync/wait.h"

static bool takes_part(const struct ist_wait_set *set, size_t i) { return set->status == NULL || set->status[i] == 0; }

static bool holds(const struct ist_wait_set *set, size_t i)
{
    const char *ivar = (const char *)set->ivars + i * set->size;
    const char *value = (const char *)set->values + (set->is_vector ? i * set->size : 0);
    uint64_t wanted = ist_wait_load(value, set->size);
    return ist_compare(set->cmp, ist_wait_load(ivar, set->size), wanted, set->size, set->is_signed);
}

static bool is_empty(const struct ist_wait_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (takes_part(set, i)) return false;
    return true;
}

bool ist_set_test_all(const struct ist_wait_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (takes_part(set, i) && !holds(set, i)) return false;
    return true;
}

size_t ist_set_test_any(const struct ist_wait_set *set)
{
    static _Thread_local size_t next;
    for (size_t tried = 0; tried < set->nelems; tried++) {
        size_t i = next % set->nelems;
        next = i + 1;
        if (takes_part(set, i) && holds(set, i)) return i;
    }
    return SIZE_MAX;
}

size_t ist_set_test_some(const struct ist_wait_set *set, size_t *indices)
{
    size_t n = 0;
    for (size_t i = 0; i < set->nelems; i++)
        if (takes_part(set, i) && holds(set, i)) indices[n++] = i;
    return n;
}

void ist_set_wait_all(const struct ist_wait_set *set)
{
    struct ist_spin spin = {0};
    while (!ist_set_test_all(set)) ist_spin_once(&spin);
}

size_t ist_set_wait_any(const struct ist_wait_set *set)
{
    struct ist_spin spin = {0};
    if (is_empty(set)) return SIZE_MAX;
    for (;;) {
        size_t i = ist_set_test_any(set);
        if (i != SIZE_MAX) return i;
        ist_spin_once(&spin);
    }
}

size_t ist_set_wait_some(const struct ist_wait_set *set, size_t *indices)
{
    struct ist_spin spin = {0};
    if (is_empty(set)) return 0;
    for (;;) {
        size_t n = ist_set_test_some(set, indices);
        if (n > 0) return n;
        ist_spin_once(&spin);
    }
}

/* core/sync/wait.c: long waits, those for memory of a device, and those for several variables. See wait.h. */
#include "core/sync/wait.h"

#include "core/base/recorder.h"
#include "core/ops/checker.h"
#include "core/ops/region.h"

uint64_t ist_wait_read_slow(const void *ivar, size_t size)
{
    uint64_t bits = 0;
    if (!ist_is_on_device(ivar)) return ist_wait_load(ivar, size);
    ist_copy_here(&bits, ivar, size, "a wait");
    return bits;
}

static uint64_t load(const struct ist_awaited *awaited) { return ist_wait_read(awaited->ivar, awaited->size); }

uint64_t ist_wait_on(const struct ist_awaited *awaited)
{
    struct ist_spin spin = {.awaited = awaited};
    uint64_t seen;
    while (!ist_compare(awaited->cmp, seen = load(awaited), awaited->value, awaited->size, awaited->is_signed))
        ist_spin_yield(&spin);
    ist_spin_end(&spin);
    return ist_flush_writes_before(seen);
}

void ist_wait_on_flag(const uint64_t *flag, uint64_t value)
{
    struct ist_spin spin = {0};
    do ist_spin_yield(&spin);
    while (ist_load_acquire(flag) < value);
    ist_spin_end(&spin);
}

void ist_wait_on_flag_profiled(const uint64_t *flag, uint64_t value)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(NULL);
    uint32_t rounds = 0;
    while (ist_load_acquire(flag) < value)
        if (!ist_spin_briefly(&rounds)) {
            ist_wait_on_flag(flag, value);
            return;
        }
}

/* ---- several variables: "any" starts its search where the last one ended, so that an entry that always holds cannot
 * hide the others ---- */

static bool takes_part(const struct ist_wait_set *set, size_t i) { return set->status == NULL || set->status[i] == 0; }

static bool holds(const struct ist_wait_set *set, size_t i)
{
    const char *ivar = (const char *)set->ivars + i * set->size;
    const char *value = (const char *)set->values + (set->is_vector ? i * set->size : 0);
    uint64_t wanted = ist_wait_load(value, set->size);
    return ist_compare(set->cmp, ist_wait_read(ivar, set->size), wanted, set->size, set->is_signed);
}

/* With ISTHMUS_CHECK, for an entry that counts for the result. */
static void look(const struct ist_wait_set *set, size_t i)
{
    if (IST_UNLIKELY(ist_check_on)) ist_check_seen((const char *)set->ivars + i * set->size, set->size, set->routine);
}

static bool is_empty(const struct ist_wait_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (takes_part(set, i)) return false;
    return true;
}

bool ist_set_test_all(const struct ist_wait_set *set)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(set->routine);
    ist_region_post(); /* a loop of tests is a wait */
    for (size_t i = 0; i < set->nelems; i++)
        if (takes_part(set, i) && !holds(set, i)) return false;
    for (size_t i = 0; ist_check_on && i < set->nelems; i++)
        if (takes_part(set, i)) look(set, i);
    ist_flush_writes();
    return true;
}

size_t ist_set_test_any(const struct ist_wait_set *set)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(set->routine);
    ist_region_post(); /* a loop of tests is a wait */
    static _Thread_local size_t next;
    for (size_t tried = 0; tried < set->nelems; tried++) {
        size_t i = next % set->nelems;
        next = i + 1;
        if (!takes_part(set, i) || !holds(set, i)) continue;
        look(set, i);
        ist_flush_writes();
        return i;
    }
    return SIZE_MAX;
}

size_t ist_set_test_some(const struct ist_wait_set *set, size_t *indices)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(set->routine);
    ist_region_post(); /* a loop of tests is a wait */
    size_t n = 0;
    for (size_t i = 0; i < set->nelems; i++) {
        if (!takes_part(set, i) || !holds(set, i)) continue;
        look(set, i);
        indices[n++] = i;
    }
    if (n > 0) ist_flush_writes();
    return n;
}

size_t ist_set_count(const struct ist_wait_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < set->nelems; i++) n += takes_part(set, i) && holds(set, i);
    return n;
}

static struct ist_awaited awaited(const struct ist_wait_set *set, enum ist_quantity quantity)
{
    return (struct ist_awaited){
        .routine = set->routine, .ivar = set->ivars, .behind = -1, .set = set, .quantity = quantity};
}

void ist_set_wait_all(const struct ist_wait_set *set)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(set->routine);
    struct ist_awaited all = awaited(set, IST_ALL_OF);
    struct ist_spin spin = {.awaited = &all};
    while (!ist_set_test_all(set)) ist_spin_once(&spin);
    ist_spin_end(&spin);
}

size_t ist_set_wait_any(const struct ist_wait_set *set)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(set->routine);
    struct ist_awaited any = awaited(set, IST_ANY_OF);
    struct ist_spin spin = {.awaited = &any};
    size_t i;
    if (is_empty(set)) return SIZE_MAX;
    while ((i = ist_set_test_any(set)) == SIZE_MAX) ist_spin_once(&spin);
    ist_spin_end(&spin);
    return i;
}

size_t ist_set_wait_some(const struct ist_wait_set *set, size_t *indices)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(set->routine);
    struct ist_awaited some = awaited(set, IST_SOME_OF);
    struct ist_spin spin = {.awaited = &some};
    size_t n;
    if (is_empty(set)) return 0;
    while ((n = ist_set_test_some(set, indices)) == 0) ist_spin_once(&spin);
    ist_spin_end(&spin);
    return n;
}

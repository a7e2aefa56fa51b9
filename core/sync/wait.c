/* core/sync/wait.c: waits that last. See wait.h. */
#include "core/sync/wait.h"

static uint64_t load(const struct ist_awaited *awaited) { return ist_wait_load(awaited->ivar, awaited->size); }

uint64_t ist_wait_on(const struct ist_awaited *awaited)
{
    struct ist_spin spin = {.awaited = awaited};
    uint64_t seen;
    do ist_spin_yield(&spin);
    while (!ist_compare(awaited->cmp, seen = load(awaited), awaited->value, awaited->size, awaited->is_signed));
    ist_spin_end(&spin);
    return seen;
}

void ist_wait_on_flag(const uint64_t *flag, uint64_t value)
{
    struct ist_spin spin = {0};
    do ist_spin_yield(&spin);
    while (ist_load_acquire(flag) < value);
    ist_spin_end(&spin);
}

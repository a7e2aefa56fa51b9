/* core/sync/wait.c: long waits, and those for memory of a device. See wait.h. */
#include "core/sync/wait.h"

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

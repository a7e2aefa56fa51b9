/* Which PE uses which slot of which PE's memory in this epoch. */
#include "differential.h"

enum use { FREE, READ, ADD, WRITTEN, SETTLED }; /* SETTLED: written, and where it belongs */

static struct {
    enum use use;
    int actor; /* of WRITTEN and SETTLED */
} claims[PES_MAX][SLOTS];

void claims_clear(void) { memset(claims, 0, sizeof claims); }

size_t any_offset(size_t length, size_t align) { return pick(MEMORY_BYTES - length + 1) / align * align; }

static bool may(int of_pe, size_t slot, enum use wanted, int actor)
{
    enum use use = claims[of_pe][slot].use;
    if (use == FREE) return true;
    bool is_own = use == SETTLED && claims[of_pe][slot].actor == actor;
    return (wanted != WRITTEN && use == wanted) || (wanted != ADD && is_own);
}

/* All slots or none. */
static bool claim(int of_pe, size_t offset, size_t length, enum use wanted, int actor)
{
    if (length == 0) return true;
    size_t first = offset / SLOT_BYTES, last = (offset + length - 1) / SLOT_BYTES;
    for (size_t slot = first; slot <= last; slot++)
        if (!may(of_pe, slot, wanted, actor)) return false;
    for (size_t slot = first; slot <= last; slot++) {
        /* After reading its own write an actor may not write it again: the read may be incomplete. */
        claims[of_pe][slot].use = wanted == READ && claims[of_pe][slot].use == SETTLED ? WRITTEN : wanted;
        claims[of_pe][slot].actor = actor;
    }
    return true;
}

bool claim_read(int of_pe, size_t offset, size_t length, int actor)
{
    return claim(of_pe, offset, length, READ, actor);
}

bool claim_write(int of_pe, size_t offset, size_t length, int actor)
{
    return claim(of_pe, offset, length, WRITTEN, actor);
}

bool claim_fresh(int of_pe, size_t offset, size_t length, int actor)
{
    for (size_t slot = offset / SLOT_BYTES; length > 0 && slot <= (offset + length - 1) / SLOT_BYTES; slot++)
        if (claims[of_pe][slot].use != FREE) return false;
    return claim_write(of_pe, offset, length, actor);
}

bool claim_add(int of_pe, size_t offset) { return claim(of_pe, offset, sizeof(uint64_t), ADD, -1); }

void claims_settle(int actor)
{
    for (int of_pe = 0; of_pe < n_pes; of_pe++)
        for (size_t slot = 0; slot < SLOTS; slot++)
            if (claims[of_pe][slot].use == WRITTEN && claims[of_pe][slot].actor == actor)
                claims[of_pe][slot].use = SETTLED;
}

void claims_hand_over(int of_pe, size_t offset, size_t length, int to)
{
    for (size_t slot = offset / SLOT_BYTES; length > 0 && slot <= (offset + length - 1) / SLOT_BYTES; slot++) {
        claims[of_pe][slot].use = SETTLED;
        claims[of_pe][slot].actor = to;
    }
}

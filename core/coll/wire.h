/* core/coll/wire.h: building blocks of the algorithms: blocks and flags from one member to another.
 * Everything goes through the default context; collectives may order more than they have to. Flags only grow, and each
 * has one writer, so that a PE that is ahead disturbs no other. */
#ifndef IST_COLL_WIRE_H
#define IST_COLL_WIRE_H

#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"
#include "core/sync/wait.h"
#include "core/team/team.h"

/* The member `distance` (less than n_pes) further on: every PE starts with another target. */
IST_INLINE int ist_wire_further(const struct ist_team *team, int distance)
{
    int pe = team->my_pe + distance;
    return pe < team->n_pes ? pe : pe - team->n_pes;
}

/* What is done with memory at its alias, for ISTHMUS_PROFILE. */
enum ist_wire_use { IST_WIRE_READ, IST_WIRE_WRITE, IST_WIRE_FLAG };

void *ist_wire_alias_slow(const struct ist_transfer *t, enum ist_wire_use use) IST_COLD;

/* Returns where this PE loads and stores symmetric memory of another PE. For aliased teams only. */
IST_INLINE void *ist_wire_alias(const struct ist_team *team, const void *addr, size_t length_bytes, int pe,
                                enum ist_wire_use use, const char *routine)
{
    int world_pe = ist_team_to_world(team, pe);
    void *alias = isthmus_element_(&ist_rows[world_pe], addr, 1);
    if (IST_LIKELY(alias != NULL)) return alias;
    const struct ist_transfer t = ist_transfer_get(&ist_ctx_default, NULL, addr, length_bytes, world_pe, routine);
    return ist_wire_alias_slow(&t, use);
}

void ist_wire_flag_slow(uint64_t *flag, uint64_t value, int world_pe, const char *routine) IST_COLD;

/* After all earlier puts to that PE, on any path. The receiver waits for it before it leaves the collective: so quiet
 * need not, and a transport that can skips it. */
IST_INLINE void ist_wire_flag(const struct ist_team *team, uint64_t *flag, uint64_t value, int to, const char *routine)
{
    int pe = ist_team_to_world(team, to);
    uint64_t *alias = isthmus_element_(ist_ctx_row(&ist_ctx_default, pe), flag, sizeof *flag);
    if (IST_UNLIKELY(alias == NULL)) {
        ist_wire_flag_slow(flag, value, pe, routine);
        return;
    }
    ist_fence_to(&ist_ctx_default, pe, routine);
    ist_store_relaxed(alias, value);
}

IST_INLINE void ist_wire_put(const struct ist_team *team, void *dest, const void *source, size_t length_bytes, int to,
                             const char *routine)
{
    if (length_bytes > 0)
        ist_put_nbi(&ist_ctx_default, dest, source, length_bytes, ist_team_to_world(team, to), routine);
}

IST_INLINE void ist_wire_get(const struct ist_team *team, void *dest, const void *source, size_t length_bytes, int from,
                             const char *routine)
{
    if (length_bytes > 0) ist_get(&ist_ctx_default, dest, source, length_bytes, ist_team_to_world(team, from), routine);
}

/* A little data and its flag in one line. */
IST_INLINE void ist_wire_slot(const struct ist_team *team, struct ist_slot *slot, const void *data, size_t length_bytes,
                              uint64_t sequence, int to, const char *routine)
{
    if (length_bytes > IST_SLOT_BYTES) __builtin_unreachable();
    ist_put(&ist_ctx_default, slot->data, data, length_bytes, ist_team_to_world(team, to), routine);
    ist_wire_flag(team, &slot->sequence, sequence, to, routine);
}

/* Returns true if all puts between the members go by load and store, whatever their operands. */
IST_INLINE bool ist_wire_is_direct(const struct ist_team *team) { return team->is_aliased && !ist_has_device_memory(); }

/* All earlier puts have arrived; without transports in use nothing is left to do. */
IST_INLINE void ist_wire_drain(const struct ist_team *team, const char *routine)
{
    if (!ist_wire_is_direct(team)) ist_quiet(&ist_ctx_default, routine);
}

/* The sources of all earlier puts may be overwritten. Enough if each target also gets a flag and waits for it. */
IST_INLINE void ist_wire_reuse(const struct ist_team *team, const char *routine)
{
    if (!ist_wire_is_direct(team)) ist_local_complete(&ist_ctx_default, routine);
}

#endif

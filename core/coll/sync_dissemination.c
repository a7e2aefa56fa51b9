/* core/coll/sync_dissemination.c: in round r signal the PE 2^r further on, and wait for the signal of the PE 2^r
 * before. ceil(log2 n) rounds; no PE is special. Flags only grow, so that a PE that is one synchronisation ahead
 * disturbs no other. */
#include "core/coll/sync.h"
#include "core/coll/wire.h"

void ist_sync_dissemination(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence,
                            const char *routine)
{
    int round = 0;
    for (int distance = 1; distance < team->n_pes; distance *= 2, round++) {
        uint64_t *flag = &area->round[round].value;
        /* Release: pairs with the acquire in ist_wait_at_least of the signalled PE. Its fence also keeps the flag of
         * the next synchronisation behind this one's on a transport that delivers in any order. */
        ist_wire_flag(team, flag, sequence, ist_wire_further(team, distance), routine);
        ist_wait_at_least(flag, sequence);
    }
}

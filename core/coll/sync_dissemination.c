/* core/coll/sync_dissemination.c: in round r tell the PE 2^r further on, and wait to be told by the one 2^r before.
 * ceil(log2 n) rounds; no PE is special. Flags only grow, so that a PE that is one meeting ahead disturbs nobody. */
#include "core/coll/sync.h"
#include "core/ops/order.h"
#include "core/ops/rma.h"
#include "core/sync/wait.h"

void ist_sync_dissemination(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence,
                            const char *routine)
{
    int round = 0;
    for (int distance = 1; distance < team->n_pes; distance *= 2, round++) {
        int to = (team->my_pe + distance) % team->n_pes;
        uint64_t *flag = &area->round[round].value;
        /* Release: pairs with the acquire in ist_wait_at_least of the PE told. A fence, because the flag of the next meeting
         * must not overtake this one's on a transport that delivers in any order. */
        ist_fence(&ist_ctx_default, routine);
        ist_p(&ist_ctx_default, flag, sequence, sizeof *flag, ist_team_to_world(team, to), routine);
        ist_wait_at_least(flag, sequence);
    }
}

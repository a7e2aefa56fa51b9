/* core/coll/sync_central.c: count arrivals at the team's first PE; the last one to arrive releases all.
 * For PEs that share processors: each is scheduled in once to arrive and once to leave, where rounds of messages would need
 * a context switch per round. All members load the release flag from the first PE's memory, so they must have its alias. */
#include "core/coll/sync.h"
#include "core/ops/amo.h"
#include "core/ops/target.h"
#include "core/sync/wait.h"

void ist_sync_central(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    int root = ist_team_to_world(team, 0);
    struct ist_amo arrive = {.op = ISTHMUS_AMO_ADD, .size = 8, .operand = 1};
    uint64_t before = ist_amo(&ist_ctx_default, &area->arrived.value, arrive, ISTHMUS_AMO_FETCHING, root, routine);
    intptr_t delta = ist_ctx_delta(&ist_ctx_default, 1, root); /* resolved by the line above; column 1: the heap */
    uint64_t *release = (uint64_t *)(void *)((char *)&area->release.value + delta);
    if (before + 1 == sequence * (uint64_t)team->n_pes)
        ist_store_release(release, sequence); /* pairs with the acquire below */
    else
        ist_wait_at_least(release, sequence);
}

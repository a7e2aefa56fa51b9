/* core/coll/sync_central.c: count arrivals at the team's first PE; the last one to arrive releases all.
 * For PEs that share processors: each is scheduled in once to arrive and once to leave, where rounds of messages would
 * need a context switch per round. Loads and stores only: for aliased teams. */
#include "core/coll/sync.h"
#include "core/coll/wire.h"
#include "core/ops/amo.h"

bool ist_central_arrive(const struct ist_team *team, struct ist_meeting_point *point, uint64_t sequence,
                        struct ist_central *central, const char *routine)
{
    uint64_t *arrived = ist_wire_alias(team, &point->arrived.value, sizeof(uint64_t), 0, routine);
    central->release = ist_wire_alias(team, &point->release.value, sizeof(uint64_t), 0, routine);
    central->sequence = sequence;
    uint64_t earlier = isthmus_amo_cpu(ISTHMUS_AMO_ADD, arrived, 1, 0, sizeof *arrived);
    return earlier + 1 == sequence * (uint64_t)team->n_pes;
}

void ist_central_leave(const struct ist_central *central, bool is_last)
{
    if (is_last)
        ist_store_release(central->release, central->sequence); /* pairs with the acquire below */
    else
        ist_wait_at_least(central->release, central->sequence);
}

void ist_sync_central(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    struct ist_central central;
    bool is_last = ist_central_arrive(team, &area->central, sequence, &central, routine);
    ist_central_leave(&central, is_last);
}

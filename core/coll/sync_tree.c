/* core/coll/sync_tree.c: each PE waits for its two children, tells its parent, and tells the children in turn what that says.
 * Twice the depth of a tree in messages one after another, but three peers for each PE, however many there are: for a
 * meeting that may be the first thing that PEs say to one another, and so makes its connections. */
#include "core/coll/sync.h"
#include "core/coll/wire.h"

/* Each tells its parent at once, and waits for its children alone. */
void ist_sync_tree_up(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    int me = team->my_pe, first_child = 2 * me + 1;
    if (me > 0) ist_wire_flag(team, &area->round[(me - 1) % 2].value, sequence, ist_sync_tree_parent(me), routine);
    for (int child = 0; child < 2 && first_child + child < team->n_pes; child++)
        ist_wait_at_least(&area->round[child].value, sequence);
}

void ist_sync_tree(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    enum { FROM_PARENT = 2 }; /* rounds 0 and 1: from the children */
    int me = team->my_pe, first_child = 2 * me + 1;
    for (int child = 0; child < 2 && first_child + child < team->n_pes; child++)
        ist_wait_at_least(&area->round[child].value, sequence);
    if (me > 0) {
        ist_wire_flag(team, &area->round[(me - 1) % 2].value, sequence, ist_sync_tree_parent(me), routine);
        ist_wait_at_least(&area->round[FROM_PARENT].value, sequence);
    }
    for (int child = 0; child < 2 && first_child + child < team->n_pes; child++)
        ist_wire_flag(team, &area->round[FROM_PARENT].value, sequence, first_child + child, routine);
}

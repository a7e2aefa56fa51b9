/* core/coll/sync_tree.c: each PE waits for its two children, signals its parent, and passes the parent's signal to the
 * children. Twice the depth of a tree in messages one after another, but three peers for each PE, however many there
 * are: for a synchronisation that may be the first communication of the PEs, and so makes its connections. */
#include "core/coll/sync.h"
#include "core/coll/wire.h"

#include <stddef.h>
#include <string.h>

/* Each PE signals its parent at once, and waits for its children alone. */
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

/* The data that a collective has sent to this PE has arrived, because its receivers wait for all of it. Each PE clears
 * before it signals its parent; so all have cleared when the first one leaves, and its next messages stay. The words of
 * this tree are those of central synchronisation, which only aliased teams have; each is cleared before its writer can
 * write again. */
void ist_sync_and_clear(const struct ist_team *team, const char *routine)
{
    struct ist_team_area *area = team->area;
    uint64_t *from_child[2] = {&area->sync.central.arrived.value, &area->sync.central.release.value};
    uint64_t *from_parent = &area->central.release.value;
    int me = team->my_pe, first_child = 2 * me + 1;
    memset(area->sync.round, 0, sizeof area->sync.round);
    memset(area->pairwise, 0, offsetof(struct ist_team_area, check) - offsetof(struct ist_team_area, pairwise));
    for (int child = 0; child < 2 && first_child + child < team->n_pes; child++) {
        ist_wait_at_least(from_child[child], 1);
        ist_store_relaxed(from_child[child], 0); /* ist_wire_flag keeps it before the flags below */
    }
    if (me > 0) {
        ist_wire_flag(team, from_child[(me - 1) % 2], 1, ist_sync_tree_parent(me), routine);
        ist_wait_at_least(from_parent, 1);
        ist_store_relaxed(from_parent, 0);
    }
    memset(area->check, 0, sizeof area->check); /* which only this PE writes; now all have read it */
    for (int child = 0; child < 2 && first_child + child < team->n_pes; child++)
        ist_wire_flag(team, from_parent, 1, first_child + child, routine);
}

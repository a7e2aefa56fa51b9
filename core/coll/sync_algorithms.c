/* core/coll/sync_algorithms.c: the algorithms of sync.h, which sync.c chooses from: dissemination, central, through the
 * leaders of hosts, and a tree. */
#include "core/coll/sync.h"
#include "core/coll/wire.h"
#include "core/ops/amo.h"

#include <stddef.h>
#include <string.h>

/* ---- dissemination ----
 * In round r each PE signals the PE 2^r further on, and waits for the signal of the PE 2^r before. ceil(log2 n) rounds;
 * no PE is special. Flags only grow, so that a PE that is one synchronisation ahead disturbs no other. */

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

/* ---- central ----
 * Counts arrivals at the team's first PE; the last one to arrive releases all. For PEs that share processors: each is
 * scheduled in once to arrive and once to leave, where rounds of messages would need a context switch per round. Loads
 * and stores only: for aliased teams. */

bool ist_central_arrive(const struct ist_team *team, struct ist_meeting_point *point, uint64_t sequence,
                        struct ist_central *central, const char *routine)
{
    uint64_t *arrived = ist_wire_alias(team, &point->arrived.value, sizeof(uint64_t), 0, IST_WIRE_FLAG, routine);
    central->release = ist_wire_alias(team, &point->release.value, sizeof(uint64_t), 0, IST_WIRE_FLAG, routine);
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

/* ---- hosts ----
 * On each host all signal its leader, the leaders synchronise, and each signals its host. Only the leaders' messages go
 * between hosts; inside a host every PE sends and receives one signal. */

void ist_sync_hosts(struct ist_team *team, const struct ist_hosts *hosts, const struct ist_rare_meeting *rare,
                    const char *routine)
{
    struct ist_team_memory *memory = team->memory;
    struct ist_team *inner = hosts->inner;
    uint64_t sequence = ++team->hosts_sequence, n_others = (uint64_t)inner->n_pes - 1;
    if (!ist_hosts_leads(hosts)) {
        struct ist_amo arrive = {.op = ISTHMUS_AMO_ADD, .size = sizeof memory->arrived.value, .operand = 1};
        /* Release, as all atomics are: pairs with the leader's acquire. */
        (void)ist_amo(&ist_ctx_default, &memory->arrived.value, arrive, 0, ist_team_to_world(inner, 0), routine);
        ist_wait_at_least(&memory->release.value, sequence);
        return;
    }
    ist_wait_at_least(&memory->arrived.value, sequence * n_others);
    if (rare != NULL)
        ist_sync_tree(hosts->outer, rare->area, rare->sequence, routine);
    else
        ist_sync(hosts->outer, routine);
    for (uint64_t i = 1; i <= n_others; i++) ist_wire_flag(inner, &memory->release.value, sequence, (int)i, routine);
}

/* ---- tree ----
 * Each PE waits for its two children, signals its parent, and passes the parent's signal to the children. Twice the
 * depth of a tree in messages one after another, but three peers for each PE, however many there are: for a
 * synchronisation that may be the first communication of the PEs, and so makes its connections. */

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

/* core/coll/sync_hosts.c: on each host all signal its leader, the leaders synchronise, and each signals its host. Only
 * the leaders' messages go between hosts; inside a host every PE sends and receives one signal. */
#include "core/coll/sync.h"
#include "core/coll/wire.h"
#include "core/ops/amo.h"

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

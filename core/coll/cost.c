/* core/coll/cost.c: see cost.h. */
#include "core/coll/cost.h"

#include "core/base/fatal.h"

static bool host_is_crowded;

void ist_cost_init(bool is_crowded) { host_is_crowded = is_crowded; }

bool ist_is_crowded(const struct ist_team *team) { return team->is_on_one_host && host_is_crowded; }

const struct ist_hosts *ist_hosts_that_matter_slow(struct ist_team *team, const char *routine)
{
    const struct ist_hosts *hosts = NULL;
    isthmus_status status = ist_hosts_of_team(team, &hosts);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    return hosts->n_hosts > 1 && hosts->n_hosts < team->n_pes ? hosts : NULL;
}

int ist_choose_algorithm(const struct ist_algorithm *list, int n, int forced, const struct ist_transfer *t)
{
    struct ist_shape shape = {
        .team = t->team,
        .length_bytes = t->length_bytes,
        .is_aliased = t->team->is_aliased && !ist_is_work_on_device(t),
        .rounds = ist_rounds_of(t->team->n_pes),
        .is_crowded = ist_is_crowded(t->team),
        .hosts = ist_hosts_that_matter(t->team, t->routine),
    };
    if (forced > 0 && list[forced - 1].cost_ns(&shape) != IST_NEVER) return forced - 1;
    int best = 0;
    uint64_t least_ns = IST_NEVER;
    for (int i = 0; i < n; i++) {
        uint64_t cost_ns = list[i].cost_ns(&shape);
        if (cost_ns >= least_ns) continue;
        least_ns = cost_ns;
        best = i;
    }
    return best;
}

/* core/coll/choose.c: see choose.h. */
#include "core/coll/choose.h"

#include "core/sync/spin.h"

int ist_choose_algorithm(const struct ist_algorithm *list, int n, int forced, const struct ist_team *team,
                         size_t length_bytes)
{
    struct ist_shape shape = {.team = team, .length_bytes = length_bytes, .is_crowded = ist_spin_is_oversubscribed()};
    while ((1 << shape.rounds) < team->n_pes) shape.rounds++;
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

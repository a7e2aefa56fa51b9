/* core/coll/choose.h: which algorithm a collective takes: the cheapest of those that apply, by a rough model of time.
 * Every member must come to the same choice, so only what all of them know counts: the team and the sizes. A variable
 * ISTHMUS_COLL_<NAME> overrides, where the algorithm named applies. */
#ifndef IST_COLL_CHOOSE_H
#define IST_COLL_CHOOSE_H

#include "core/base/config.h"
#include "core/team/team.h"

/* What an algorithm is judged by. */
struct ist_shape {
    const struct ist_team *team;
    size_t length_bytes; /* of one PE's part */
    int rounds;          /* log2 of the members, rounded up */
    bool is_crowded;     /* more PEs than processors on this host, whatever the team */
};

#define IST_NEVER UINT64_MAX

struct ist_algorithm {
    const char *name;
    uint64_t (*cost_ns)(const struct ist_shape *shape); /* IST_NEVER: does not apply */
};

/* The figures of the model: a flag to another PE, seen there; a context switch; nanoseconds per KiB copied. Measured on
 * common servers (memory) and on 100 Gbit/s networks; only their proportions matter. */
enum {
    IST_COST_FLAG_NS = 60,
    IST_COST_MESSAGE_NS = 1500,
    IST_COST_SWITCH_NS = 1500,
    IST_COST_KIB_NS = 40,
    IST_COST_NETWORK_KIB_NS = 90
};

static inline uint64_t ist_cost_others(const struct ist_shape *shape) { return (uint64_t)shape->team->n_pes - 1; }

static inline uint64_t ist_cost_flag(const struct ist_shape *shape)
{
    return shape->is_crowded ? IST_COST_SWITCH_NS : shape->team->is_aliased ? IST_COST_FLAG_NS : IST_COST_MESSAGE_NS;
}

static inline uint64_t ist_cost_copy(const struct ist_shape *shape, uint64_t bytes)
{
    return bytes * (shape->team->is_aliased ? IST_COST_KIB_NS : IST_COST_NETWORK_KIB_NS) / 1024;
}

/* Index into list, which has n entries. forced: 0 the cheapest, else 1 + an index. */
int ist_choose_algorithm(const struct ist_algorithm *list, int n, int forced, const struct ist_team *team,
                         size_t length_bytes);

#endif

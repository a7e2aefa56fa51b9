/* core/coll/cost.h: which algorithm a collective takes: the cheapest of those that apply, by a rough model of time.
 * Every member must make the same choice, so it depends only on values that all of them know: the team and the sizes. A
 * variable ISTHMUS_COLL_<NAME> overrides, where the algorithm named applies. */
#ifndef IST_COLL_COST_H
#define IST_COLL_COST_H

#include "core/base/config.h"
#include "core/ops/target.h"
#include "core/ops/transfer.h"
#include "core/team/team.h"

/* Returns true if this host has more PEs than processors. The same on all PEs of the host, whatever each of them sees
 * of it. */
void ist_cost_init(bool is_crowded);

/* Returns true if the team is on one host and that host is crowded. */
bool ist_is_crowded(const struct ist_team *team);

/* The input of the choice. */
struct ist_shape {
    const struct ist_team *team;
    size_t length_bytes;           /* of one PE's part */
    bool is_aliased;               /* the data is loaded and stored: by the team, and by its kind of memory */
    int rounds;                    /* log2 of the members, rounded up */
    bool is_crowded;               /* the team is on one host that has more PEs than processors, whatever the team */
    const struct ist_hosts *hosts; /* NULL: they do not matter */
};

/* The hosts of a team, where an algorithm can use them: NULL when all members are on one, or each has its own. The
 * first call for a team finds them; it ends the job if that fails. */
const struct ist_hosts *ist_hosts_that_matter_slow(struct ist_team *team, const char *routine) IST_COLD;
static inline const struct ist_hosts *ist_hosts_that_matter(struct ist_team *team, const char *routine)
{
    bool is_simple = team->is_on_one_host || team->memory == NULL;
    return IST_LIKELY(is_simple) ? NULL : ist_hosts_that_matter_slow(team, routine);
}

#define IST_NEVER UINT64_MAX

struct ist_algorithm {
    const char *name;
    uint64_t (*cost_ns)(const struct ist_shape *shape); /* IST_NEVER: does not apply */
};

/* The figures of the model: a flag to another PE, seen there; a context switch; a
 * flag to a PE that sleeps half of the times; nanoseconds per KiB copied. Measured on
 * common servers (memory) and on 100 Gbit/s networks; only their proportions matter. */
enum {
    IST_COST_FLAG_NS = 60,
    IST_COST_MESSAGE_NS = 1500,
    IST_COST_SWITCH_NS = 1500,
    IST_COST_HANDOVER_NS = 750,
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
    return bytes * (shape->is_aliased ? IST_COST_KIB_NS : IST_COST_NETWORK_KIB_NS) / 1024;
}

/* Of algorithms that go through the leaders of hosts: going in or out once, and copying inside. A host's members may
 * sleep where they wait for a network, and a store wakes no thread. Counted as if they shared memory on every host, so
 * that all members compute the same cost. */
static inline uint64_t ist_cost_inside(uint64_t bytes)
{
    return 2 * IST_COST_HANDOVER_NS + bytes * IST_COST_KIB_NS / 1024;
}

/* log2 of a number, rounded up. */
static inline int ist_rounds_of(int n)
{
    int rounds = 0;
    while ((1 << rounds) < n) rounds++;
    return rounds;
}

/* Operands are symmetric, so that all members know their kind of memory. */
static inline bool ist_is_work_on_device(const struct ist_transfer *t)
{
    if (t->length_bytes == 0) return false; /* then each member may give any address */
    return ist_is_on_device(t->dest) || ist_is_on_device(t->source);
}

/* Index into list, which has n entries. forced: 0 the cheapest, else 1 + an index. The transfer's length: of one PE's
 * part; 0 if the members do not know it of each other. */
int ist_choose_algorithm(const struct ist_algorithm *list, int n, int forced, const struct ist_transfer *t);

#endif

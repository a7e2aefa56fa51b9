/* core/coll/gather.c: every PE's data to all: fcollect and collect.
 * direct: each PE writes its blocks to their places, then all synchronise: no copy in between, and no entry flag,
 * because the destinations are ready by the rules. dissemination and ring spare a large team on a network the n * n
 * messages. hosts: every block crosses to each host once, to its leader, from which that host reads. */
#include "core/coll/algorithms.h"
#include "core/coll/cost.h"
#include "core/coll/sync.h"
#include "core/coll/wire.h"

static int before(const struct ist_team *team, int distance)
{
    int pe = team->my_pe - distance;
    return pe >= 0 ? pe : pe + team->n_pes;
}

static void keep_own(const struct ist_transfer *t, char *dest)
{
    if (dest != t->source && t->length_bytes > 0) ist_copy_here(dest, t->source, t->length_bytes, t->routine);
}

/* My block to the same place on all PEs. */
static void to_all(const struct ist_transfer *t, size_t offset_bytes)
{
    for (int i = 1; i < t->team->n_pes; i++)
        ist_wire_put(t->team, t->dest + offset_bytes, t->source, t->length_bytes, ist_wire_further(t->team, i),
                     t->routine);
    keep_own(t, t->dest + offset_bytes);
    ist_wire_drain(t->team, t->routine);
    ist_sync(t->team, t->routine);
}

static void direct(const struct ist_transfer *t) { to_all(t, (size_t)t->team->my_pe * t->length_bytes); }

/* The n_blocks blocks up to my own, going down round the end, to the same places on another PE. */
static void put_blocks(const struct ist_transfer *t, int n_blocks, int to)
{
    int first = before(t->team, n_blocks - 1), mine = t->team->my_pe;
    int low = first <= mine ? first : 0; /* a run that wraps round is two pieces */
    size_t length = t->length_bytes;
    ist_wire_put(t->team, t->dest + (size_t)low * length, t->dest + (size_t)low * length,
                 (size_t)(mine - low + 1) * length, to, t->routine);
    if (first <= mine) return;
    ist_wire_put(t->team, t->dest + (size_t)first * length, t->dest + (size_t)first * length,
                 (size_t)(t->team->n_pes - first) * length, to, t->routine);
}

/* In round k a PE passes on all that it has to the PE 2^k further on. */
static void dissemination(const struct ist_transfer *t)
{
    struct ist_team *team = t->team;
    uint64_t sequence = ++team->broadcast_sequence;
    keep_own(t, t->dest + (size_t)team->my_pe * t->length_bytes);
    for (int have = 1, k = 0; have < team->n_pes; have *= 2, k++) {
        int n_blocks = have < team->n_pes - have ? have : team->n_pes - have;
        int to = ist_wire_further(team, have);
        put_blocks(t, n_blocks, to);
        ist_wire_flag(team, &team->area->broadcast[k].value, sequence, to, t->routine);
        ist_wait_for_data(&team->area->broadcast[k].value, sequence);
    }
    ist_wire_reuse(team, t->routine);
}

/* Each PE passes its last arrival on to its neighbour. */
static void ring(const struct ist_transfer *t)
{
    struct ist_team *team = t->team;
    uint64_t first = team->broadcast_sequence + 1;
    team->broadcast_sequence += (uint64_t)team->n_pes;
    keep_own(t, t->dest + (size_t)team->my_pe * t->length_bytes);
    for (int step = 0; step < team->n_pes - 1; step++) {
        size_t at = (size_t)before(team, step) * t->length_bytes;
        if (step > 0) ist_wait_for_data(&team->area->broadcast[0].value, first + (uint64_t)step - 1);
        ist_wire_put(team, t->dest + at, t->dest + at, t->length_bytes, ist_wire_further(team, 1), t->routine);
        ist_wire_flag(team, &team->area->broadcast[0].value, first + (uint64_t)step, ist_wire_further(team, 1),
                      t->routine);
    }
    ist_wait_for_data(&team->area->broadcast[0].value, first + (uint64_t)team->n_pes - 2);
    ist_wire_reuse(team, t->routine);
}

/* What the first member of a team has collected, to the same place on the others. */
static void hand_out(const struct ist_transfer *t, struct ist_team *team, size_t length_bytes)
{
    const struct ist_transfer all = {
        .routine = t->routine, .team = team, .dest = t->dest, .source = t->dest, .length_bytes = length_bytes};
    ist_run_broadcast(&all, IST_BROADCAST_TO_ALL, 0);
}

/* ---- hosts ---- */

/* Where a PE's block goes, and how much there is: of all PEs, and of those on this host. */
struct extent {
    size_t offset_bytes, total_bytes, host_bytes;
};

/* The blocks of a host lie side by side: its leader collects them, and sends them on as one. */
static void exchange_blocks(const struct ist_transfer *t, const struct ist_hosts *hosts, const struct extent *extent)
{
    char *mine = t->dest + extent->offset_bytes;
    if (!ist_hosts_leads(hosts)) {
        ist_wire_put(hosts->inner, mine, t->source, t->length_bytes, 0, t->routine);
        ist_wire_drain(hosts->inner, t->routine);
        ist_sync(hosts->inner, t->routine);
        return;
    }
    keep_own(t, mine);
    ist_sync(hosts->inner, t->routine);
    for (int i = 1; i < hosts->n_hosts; i++)
        ist_wire_put(hosts->outer, mine, mine, extent->host_bytes, ist_wire_further(hosts->outer, i), t->routine);
    ist_wire_drain(hosts->outer, t->routine);
    ist_sync(hosts->outer, t->routine);
}

/* They do not: each PE sends its own to every leader. */
static void send_to_leaders(const struct ist_transfer *t, const struct ist_hosts *hosts, const struct extent *extent)
{
    char *mine = t->dest + extent->offset_bytes;
    for (int i = 0; i < hosts->n_hosts; i++) {
        int leader = hosts->members[hosts->first[(hosts->my_host + i) % hosts->n_hosts]];
        if (leader == t->team->my_pe)
            keep_own(t, mine);
        else
            ist_wire_put(t->team, mine, t->source, t->length_bytes, leader, t->routine);
    }
    ist_wire_drain(t->team, t->routine);
    ist_sync(t->team, t->routine);
}

static void through_leaders(const struct ist_transfer *t, const struct ist_hosts *hosts, const struct extent *extent)
{
    if (hosts->are_blocks)
        exchange_blocks(t, hosts, extent);
    else
        send_to_leaders(t, hosts, extent);
    hand_out(t, hosts->inner, extent->total_bytes);
}

static void fcollect_hosts(const struct ist_transfer *t, const struct ist_hosts *hosts)
{
    const struct extent extent = {
        .offset_bytes = (size_t)t->team->my_pe * t->length_bytes,
        .total_bytes = (size_t)t->team->n_pes * t->length_bytes,
        .host_bytes = (size_t)hosts->inner->n_pes * t->length_bytes,
    };
    through_leaders(t, hosts, &extent);
}

/* The leaders compute the bytes before each host's blocks and the total among themselves, and pass both to their
 * hosts. */
static struct extent measure_blocks(const struct ist_transfer *t, const struct ist_hosts *hosts)
{
    struct extent extent = {
        .offset_bytes = ist_doubling_sum_before(hosts->inner, t->length_bytes, t->routine),
        .host_bytes = ist_doubling_sum(hosts->inner, t->length_bytes, t->routine),
    };
    uint64_t before = 0, total = 0;
    if (ist_hosts_leads(hosts)) {
        before = ist_doubling_sum_before(hosts->outer, extent.host_bytes, t->routine);
        total = ist_doubling_sum(hosts->outer, extent.host_bytes, t->routine);
    }
    extent.offset_bytes += ist_doubling_sum(hosts->inner, before, t->routine);
    extent.total_bytes = ist_doubling_sum(hosts->inner, total, t->routine);
    return extent;
}

static struct extent measure_any(const struct ist_transfer *t)
{
    return (struct extent){
        .offset_bytes = ist_doubling_sum_before(t->team, t->length_bytes, t->routine),
        .total_bytes = ist_doubling_sum(t->team, t->length_bytes, t->routine),
    };
}

static void collect_hosts(const struct ist_transfer *t, const struct ist_hosts *hosts)
{
    const struct extent extent = hosts->are_blocks ? measure_blocks(t, hosts) : measure_any(t);
    through_leaders(t, hosts, &extent);
}

/* ---- fcollect ---- */

/* Puts to many PEs are under way together: a tenth of a message's time for each, and a synchronisation. */
static uint64_t cost_direct(const struct ist_shape *shape)
{
    return ((uint64_t)shape->rounds + ist_cost_others(shape) / 10) * ist_cost_flag(shape) +
           ist_cost_others(shape) * ist_cost_copy(shape, shape->length_bytes);
}

static uint64_t cost_dissemination(const struct ist_shape *shape)
{
    return (uint64_t)shape->rounds * ist_cost_flag(shape) +
           ist_cost_others(shape) * ist_cost_copy(shape, shape->length_bytes) * 5 / 4;
}

/* Slow to start, but every cable carries each block once. */
static uint64_t cost_ring(const struct ist_shape *shape)
{
    return ist_cost_others(shape) * (ist_cost_flag(shape) + ist_cost_copy(shape, shape->length_bytes) * 9 / 10);
}

/* A leader sends its host's blocks to all others, and then to its host. */
static uint64_t cost_hosts(const struct ist_shape *shape)
{
    if (shape->hosts == NULL) return IST_NEVER;
    uint64_t others = (uint64_t)shape->hosts->n_hosts - 1, rounds = (uint64_t)ist_rounds_of(shape->hosts->n_hosts);
    uint64_t n_messages = shape->hosts->are_blocks ? others : ist_cost_others(shape);
    return (rounds + 1) * IST_COST_MESSAGE_NS + n_messages * IST_COST_MESSAGE_NS / 10 +
           ist_cost_others(shape) * ist_cost_copy(shape, shape->length_bytes) +
           2 * ist_cost_inside(ist_cost_others(shape) * shape->length_bytes);
}

static const struct ist_algorithm algorithms[] = {
    {"direct", cost_direct}, {"dissemination", cost_dissemination}, {"ring", cost_ring}, {"hosts", cost_hosts}};
enum { DIRECT, DISSEMINATION, RING, HOSTS, N_ALGORITHMS };

void ist_run_fcollect(const struct ist_transfer *t, int forced)
{
    switch (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, t)) {
    case DISSEMINATION: dissemination(t); break;
    case RING: ring(t); break;
    case HOSTS: fcollect_hosts(t, t->team->hosts); break;
    default: direct(t);
    }
}

/* ---- collect: the lengths differ, so that only the team counts in the choice ---- */

/* All blocks to the first PE, and from there down the tree: where n * n puts would be too many. */
static void through_first(const struct ist_transfer *t)
{
    struct ist_team *team = t->team;
    size_t offset_bytes = ist_doubling_sum_before(team, t->length_bytes, t->routine);
    size_t total_bytes = ist_doubling_sum(team, t->length_bytes, t->routine);
    if (team->my_pe == 0)
        keep_own(t, t->dest);
    else
        ist_wire_put(team, t->dest + offset_bytes, t->source, t->length_bytes, 0, t->routine);
    ist_wire_drain(team, t->routine);
    ist_sync(team, t->routine);
    hand_out(t, team, total_bytes);
}

static uint64_t cost_collect_tree(const struct ist_shape *shape)
{
    return 4 * (uint64_t)shape->rounds * ist_cost_flag(shape);
}

static const struct ist_algorithm collects[] = {
    {"direct", cost_direct}, {"tree", cost_collect_tree}, {"hosts", cost_hosts}};
enum { COLLECT_DIRECT, COLLECT_TREE, COLLECT_HOSTS, N_COLLECTS };

void ist_run_collect(const struct ist_transfer *t, int forced)
{
    const struct ist_transfer any = {.routine = t->routine, .team = t->team};
    switch (ist_choose_algorithm(collects, N_COLLECTS, forced, &any)) {
    case COLLECT_TREE: through_first(t); break;
    case COLLECT_HOSTS: collect_hosts(t, t->team->hosts); break;
    default: to_all(t, ist_doubling_sum_before(t->team, t->length_bytes, t->routine));
    }
}

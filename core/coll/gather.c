/* core/coll/gather.c: every PE's data to all: fcollect, collect, and the alltoalls.
 * direct: each PE writes its blocks where they belong and then all meet: no copy in between, and no entry flag, because the
 * destinations are ready by the rules. dissemination and ring spare a large team on a network the n * n messages. */
#include "core/coll/algorithms.h"
#include "core/coll/choose.h"
#include "core/coll/doubling.h"
#include "core/coll/sync.h"
#include "core/coll/wire.h"
#include "core/ops/strided.h"

struct gather {
    struct ist_team *team;
    char *dest;
    const char *source;
    size_t length_bytes;
    const char *routine;
};

/* The PE `distance` further on: every PE starts with another target. */
static int further(const struct ist_team *team, int distance)
{
    int pe = team->my_pe + distance;
    return pe < team->n_pes ? pe : pe - team->n_pes;
}

static int before(const struct ist_team *team, int distance)
{
    int pe = team->my_pe - distance;
    return pe >= 0 ? pe : pe + team->n_pes;
}

static void keep_own(char *dest, const char *source, size_t length_bytes)
{
    if (dest != source && length_bytes > 0) memcpy(dest, source, length_bytes);
}

/* My block to the same place on all PEs. */
static void to_all(const struct gather *g, size_t offset_bytes)
{
    for (int i = 1; i < g->team->n_pes; i++)
        ist_wire_put(g->team, g->dest + offset_bytes, g->source, g->length_bytes, further(g->team, i), g->routine);
    keep_own(g->dest + offset_bytes, g->source, g->length_bytes);
    ist_wire_drain(g->team, g->routine);
    ist_sync(g->team, g->routine);
}

static void direct(const struct gather *g) { to_all(g, (size_t)g->team->my_pe * g->length_bytes); }

/* The n_blocks blocks up to my own, going down round the end, to the same places on another PE. */
static void put_blocks(const struct gather *g, int n_blocks, int to)
{
    int first = before(g->team, n_blocks - 1), mine = g->team->my_pe;
    int low = first <= mine ? first : 0; /* a run that wraps round is two pieces */
    size_t length = g->length_bytes;
    ist_wire_put(g->team, g->dest + (size_t)low * length, g->dest + (size_t)low * length,
                 (size_t)(mine - low + 1) * length, to, g->routine);
    if (first <= mine) return;
    ist_wire_put(g->team, g->dest + (size_t)first * length, g->dest + (size_t)first * length,
                 (size_t)(g->team->n_pes - first) * length, to, g->routine);
}

/* In round k a PE passes on all that it has to the PE 2^k further on. */
static void dissemination(const struct gather *g)
{
    struct ist_team *team = g->team;
    uint64_t sequence = ++team->broadcast_sequence;
    keep_own(g->dest + (size_t)team->my_pe * g->length_bytes, g->source, g->length_bytes);
    for (int have = 1, k = 0; have < team->n_pes; have *= 2, k++) {
        int n_blocks = have < team->n_pes - have ? have : team->n_pes - have;
        int to = further(team, have);
        put_blocks(g, n_blocks, to);
        ist_wire_flag(team, &team->area->broadcast[k].value, sequence, to, g->routine);
        ist_wait_at_least(&team->area->broadcast[k].value, sequence);
    }
    ist_wire_drain(team, g->routine);
}

/* Each PE passes on what came last to its neighbour. */
static void ring(const struct gather *g)
{
    struct ist_team *team = g->team;
    uint64_t first = team->broadcast_sequence + 1;
    team->broadcast_sequence += (uint64_t)team->n_pes;
    keep_own(g->dest + (size_t)team->my_pe * g->length_bytes, g->source, g->length_bytes);
    for (int step = 0; step < team->n_pes - 1; step++) {
        size_t at = (size_t)before(team, step) * g->length_bytes;
        if (step > 0) ist_wait_at_least(&team->area->broadcast[0].value, first + (uint64_t)step - 1);
        ist_wire_put(team, g->dest + at, g->dest + at, g->length_bytes, further(team, 1), g->routine);
        ist_wire_flag(team, &team->area->broadcast[0].value, first + (uint64_t)step, further(team, 1), g->routine);
    }
    ist_wait_at_least(&team->area->broadcast[0].value, first + (uint64_t)team->n_pes - 2);
    ist_wire_drain(team, g->routine);
}

static uint64_t n_others(const struct ist_shape *shape) { return (uint64_t)shape->team->n_pes - 1; }

/* Puts to many PEs are under way together: a tenth of a message's time for each, and a meeting. */
static uint64_t cost_direct(const struct ist_shape *shape)
{
    return ((uint64_t)shape->rounds + n_others(shape) / 10) * ist_cost_flag(shape) +
           n_others(shape) * ist_cost_copy(shape, shape->length_bytes);
}

static uint64_t cost_dissemination(const struct ist_shape *shape)
{
    return (uint64_t)shape->rounds * ist_cost_flag(shape) +
           n_others(shape) * ist_cost_copy(shape, shape->length_bytes) * 5 / 4;
}

/* Slow to start, but every cable carries each block once. */
static uint64_t cost_ring(const struct ist_shape *shape)
{
    return n_others(shape) * (ist_cost_flag(shape) + ist_cost_copy(shape, shape->length_bytes) * 9 / 10);
}

static const struct ist_algorithm algorithms[] = {
    {"direct", cost_direct}, {"dissemination", cost_dissemination}, {"ring", cost_ring}};
enum { DIRECT, DISSEMINATION, RING, N_ALGORITHMS };

void ist_run_fcollect(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int forced,
                      const char *routine)
{
    struct gather g = {team, dest, source, length_bytes, routine};
    switch (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, team, length_bytes)) {
    case DISSEMINATION: dissemination(&g); break;
    case RING: ring(&g); break;
    default: direct(&g);
    }
}

void ist_run_collect(struct ist_team *team, void *dest, const void *source, size_t length_bytes, const char *routine)
{
    struct gather g = {team, dest, source, length_bytes, routine};
    to_all(&g, ist_doubling_sum_before(team, length_bytes, routine));
}

void ist_run_alltoall(struct ist_team *team, void *dest, const void *source, size_t length_bytes, const char *routine)
{
    char *to = (char *)dest + (size_t)team->my_pe * length_bytes;
    const char *from = source;
    for (int i = 1; i < team->n_pes; i++) {
        int pe = further(team, i);
        ist_wire_put(team, to, from + (size_t)pe * length_bytes, length_bytes, pe, routine);
    }
    keep_own(to, from + (size_t)team->my_pe * length_bytes, length_bytes);
    ist_wire_drain(team, routine);
    ist_sync(team, routine);
}

void ist_run_alltoalls(struct ist_team *team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                       size_t size_bytes, size_t nelems, const char *routine)
{
    const struct ist_stride stride = {dst, sst, 1, nelems, size_bytes};
    char *to = (char *)dest + (size_t)team->my_pe * nelems * (size_t)dst * size_bytes;
    size_t block_bytes = nelems * (size_t)sst * size_bytes;
    for (int i = 0; i < team->n_pes && nelems > 0; i++) {
        int pe = further(team, i);
        ist_strided_put(&ist_ctx_default, to, (const char *)source + (size_t)pe * block_bytes, &stride,
                        ist_team_to_world(team, pe), routine);
    }
    ist_wire_drain(team, routine);
    ist_sync(team, routine);
}

/* core/coll/alltoall.c: a block from every PE to every PE: alltoall, and alltoalls, whose elements lie apart.
 * direct: each PE writes each block to its place, then all synchronise: no copy in between, and no entry flag, because
 * the destinations are ready by the rules. pairwise: a PE goes on to the next only when blocks have arrived from about
 * as many as it has sent to, so that a large team does not flood one PE; arrivals are counted, and no synchronisation
 * follows. */
#include "core/coll/algorithms.h"
#include "core/coll/cost.h"
#include "core/coll/sync.h"
#include "core/coll/wire.h"
#include "core/ops/amo.h"
#include "core/ops/rma.h"

enum { WINDOW = 8 /* blocks that a PE is ahead with at most */ };

/* `t`: its dest is my block, the same place on every PE; its length goes from one block of source to the next. `stride`
 * NULL: elements lie side by side. */
static void send_block(const struct ist_transfer *t, const struct ist_stride *stride, int to)
{
    const char *block = t->source + (size_t)to * t->length_bytes;
    if (stride == NULL)
        ist_wire_put(t->team, t->dest, block, t->length_bytes, to, t->routine);
    else if (stride->n_blocks > 0)
        ist_strided_put(&ist_ctx_default, t->dest, block, stride, ist_team_to_world(t->team, to), t->routine);
}

static void direct(const struct ist_transfer *t, const struct ist_stride *stride)
{
    for (int i = 0; i < t->team->n_pes; i++) send_block(t, stride, ist_wire_further(t->team, i));
    ist_wire_drain(t->team, t->routine);
    ist_sync(t->team, t->routine);
}

/* Two counters in turn: a PE that is in the next call already, while I am still in this one, uses the other counter. */
static void pairwise(const struct ist_transfer *t, const struct ist_stride *stride)
{
    struct ist_team *team = t->team;
    uint64_t others = (uint64_t)team->n_pes - 1, call = team->pairwise_sequence++;
    uint64_t *arrivals = &team->area->pairwise[call % 2].value, before = call / 2 * others;
    struct ist_amo count = {.op = ISTHMUS_AMO_ADD, .size = sizeof *arrivals, .operand = 1};
    send_block(t, stride, team->my_pe);
    for (uint64_t i = 1; i <= others; i++) {
        int to = ist_wire_further(team, (int)i);
        send_block(t, stride, to);
        ist_fence(&ist_ctx_default, t->routine);
        (void)ist_amo(&ist_ctx_default, arrivals, count, 0, ist_team_to_world(team, to), t->routine);
        if (i > WINDOW) ist_wait_at_least(arrivals, before + i - WINDOW);
    }
    ist_wait_for_data(arrivals, before + others);
    ist_wire_reuse(team, t->routine);
}

/* Puts to many PEs are under way together: a tenth of a message's time for each. On a network large blocks for one PE
 * from many others get into each other's way. */
static uint64_t cost_direct(const struct ist_shape *shape)
{
    uint64_t copy = ist_cost_others(shape) * ist_cost_copy(shape, shape->length_bytes);
    return ((uint64_t)shape->rounds + ist_cost_others(shape) / 10) * ist_cost_flag(shape) +
           (shape->is_aliased ? copy : copy * 5 / 4);
}

static uint64_t cost_pairwise(const struct ist_shape *shape)
{
    return ist_cost_others(shape) * (ist_cost_flag(shape) / 2 + ist_cost_copy(shape, shape->length_bytes));
}

static const struct ist_algorithm algorithms[] = {{"direct", cost_direct}, {"pairwise", cost_pairwise}};
enum { DIRECT, PAIRWISE, N_ALGORITHMS };

static void run(const struct ist_transfer *t, const struct ist_stride *stride, int forced)
{
    if (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, t) == PAIRWISE)
        pairwise(t, stride);
    else
        direct(t, stride);
}

void ist_run_alltoall(const struct ist_transfer *t, int forced)
{
    struct ist_transfer blocks = *t;
    blocks.dest += (size_t)t->team->my_pe * t->length_bytes;
    run(&blocks, NULL, forced);
}

void ist_run_alltoalls(const struct ist_transfer *t, const struct ist_stride *stride, int forced)
{
    struct ist_transfer blocks = *t;
    blocks.dest += (size_t)t->team->my_pe * t->length_bytes * (size_t)stride->dest;
    blocks.length_bytes = t->length_bytes * (size_t)stride->source;
    run(&blocks, stride, forced);
}

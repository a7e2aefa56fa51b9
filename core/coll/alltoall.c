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
#include "core/ops/strided.h"

enum { WINDOW = 8 /* blocks that a PE is ahead with at most */ };

struct exchange {
    struct ist_team *team;
    char *dest; /* my block of it: the same place on every PE */
    const char *source;
    size_t length_bytes;             /* from one block of source to the next */
    const struct ist_stride *stride; /* NULL: elements lie side by side */
    const char *routine;
};

static void send_block(const struct exchange *x, int to)
{
    const char *block = x->source + (size_t)to * x->length_bytes;
    if (x->stride == NULL)
        ist_wire_put(x->team, x->dest, block, x->length_bytes, to, x->routine);
    else if (x->stride->n_blocks > 0)
        ist_strided_put(&ist_ctx_default, x->dest, block, x->stride, ist_team_to_world(x->team, to), x->routine);
}

static void direct(const struct exchange *x)
{
    for (int i = 0; i < x->team->n_pes; i++) send_block(x, ist_wire_further(x->team, i));
    ist_wire_drain(x->team, x->routine);
    ist_sync(x->team, x->routine);
}

/* Two counters in turn: a PE that is in the next call already, while I am still in this one, uses the other counter. */
static void pairwise(const struct exchange *x)
{
    struct ist_team *team = x->team;
    uint64_t others = (uint64_t)team->n_pes - 1, call = team->pairwise_sequence++;
    uint64_t *arrivals = &team->area->pairwise[call % 2].value, before = call / 2 * others;
    struct ist_amo count = {.op = ISTHMUS_AMO_ADD, .size = sizeof *arrivals, .operand = 1};
    send_block(x, team->my_pe);
    for (uint64_t i = 1; i <= others; i++) {
        int to = ist_wire_further(team, (int)i);
        send_block(x, to);
        ist_fence(&ist_ctx_default, x->routine);
        (void)ist_amo(&ist_ctx_default, arrivals, count, 0, ist_team_to_world(team, to), x->routine);
        if (i > WINDOW) ist_wait_at_least(arrivals, before + i - WINDOW);
    }
    ist_wait_for_data(arrivals, before + others);
    ist_wire_reuse(team, x->routine);
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

static void run(const struct exchange *x, int forced)
{
    const struct ist_work work = {x->dest, x->source, x->length_bytes};
    if (ist_choose_algorithm(algorithms, N_ALGORITHMS, forced, x->team, &work, x->routine) == PAIRWISE)
        pairwise(x);
    else
        direct(x);
}

void ist_run_alltoall(struct ist_team *team, void *dest, const void *source, size_t length_bytes, int forced,
                      const char *routine)
{
    char *my_block = (char *)dest + (size_t)team->my_pe * length_bytes;
    run(&(struct exchange){team, my_block, source, length_bytes, NULL, routine}, forced);
}

void ist_run_alltoalls(struct ist_team *team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                       size_t size_bytes, size_t nelems, int forced, const char *routine)
{
    const struct ist_stride stride = {dst, sst, 1, nelems, size_bytes};
    char *my_block = (char *)dest + (size_t)team->my_pe * nelems * (size_t)dst * size_bytes;
    run(&(struct exchange){team, my_block, source, nelems * (size_t)sst * size_bytes, &stride, routine}, forced);
}

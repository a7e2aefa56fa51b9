/* core/api/stream_coll.c: see stream_entry.h: collectives on data. */
#include "core/api/coll_entry.h"
#include "core/api/stream_entry.h"
#include "core/stream/stream.h"

static int run_broadcast(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    return ist_broadcast(t->team, t->dest, t->source, t->length_bytes, t->pe, IST_BROADCAST_TO_ALL, t->routine);
}

static int run_fcollect(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    return ist_fcollect(t->team, t->dest, t->source, t->length_bytes, t->routine);
}

static int run_alltoall(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    return ist_alltoall(t->team, t->dest, t->source, t->length_bytes, t->routine);
}

static int run_reduce(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    return ist_reduce(t->team, t->dest, t->source, c->nelems, c->op, c->type, t->routine);
}

static int run_reducescatter(const struct ist_stream_call *c)
{
    const struct ist_transfer *t = &c->transfer;
    return ist_reducescatter(t->team, t->dest, t->source, c->nelems, c->op, c->type, t->routine);
}

int ist_entry_broadcast_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                  int root, size_t size, const char *routine)
{
    const struct ist_transfer t = {.routine = routine,
                                   .team = team,
                                   .pe = root,
                                   .dest = dest,
                                   .source = source,
                                   .length_bytes = ist_bytes_of(nelems, size, routine)};
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = t,
                                                                   .run = run_broadcast,
                                                                   .enqueue = ist_collective_enqueue,
                                                                   .collective = ISTHMUS_COLLECTIVE_BROADCAST});
}

int ist_entry_fcollect_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 size_t size, const char *routine)
{
    const struct ist_transfer t = {.routine = routine,
                                   .team = team,
                                   .dest = dest,
                                   .source = source,
                                   .length_bytes = ist_bytes_of(nelems, size, routine)};
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = t,
                                                                   .run = run_fcollect,
                                                                   .enqueue = ist_collective_enqueue,
                                                                   .collective = ISTHMUS_COLLECTIVE_FCOLLECT});
}

int ist_entry_alltoall_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 size_t size, const char *routine)
{
    const struct ist_transfer t = {.routine = routine,
                                   .team = team,
                                   .dest = dest,
                                   .source = source,
                                   .length_bytes = ist_bytes_of(nelems, size, routine)};
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = t,
                                                                   .run = run_alltoall,
                                                                   .enqueue = ist_collective_enqueue,
                                                                   .collective = ISTHMUS_COLLECTIVE_ALLTOALL});
}

int ist_entry_reduce_on_stream(void *stream, enum ist_combine_op op, struct ist_team *team, void *dest,
                               const void *source, size_t nelems, enum ist_combine_type type, const char *routine)
{
    const struct ist_transfer t = {.routine = routine, .team = team, .dest = dest, .source = source};
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = t,
                                                                   .run = run_reduce,
                                                                   .enqueue = ist_collective_enqueue,
                                                                   .collective = ISTHMUS_COLLECTIVE_REDUCE,
                                                                   .nelems = nelems,
                                                                   .op = op,
                                                                   .type = type});
}

int ist_entry_reducescatter_on_stream(void *stream, enum ist_combine_op op, struct ist_team *team, void *dest,
                                      const void *source, size_t nelems, enum ist_combine_type type,
                                      const char *routine)
{
    const struct ist_transfer t = {.routine = routine, .team = team, .dest = dest, .source = source};
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.transfer = t,
                                                                   .run = run_reducescatter,
                                                                   .enqueue = ist_collective_enqueue,
                                                                   .collective = ISTHMUS_COLLECTIVE_REDUCESCATTER,
                                                                   .nelems = nelems,
                                                                   .op = op,
                                                                   .type = type});
}

/* core/api/stream_coll.c: see stream_entry.h: collectives on data. */
#include "core/api/coll_entry.h"
#include "core/api/stream_entry.h"
#include "core/stream/stream.h"

static int run_broadcast(const struct ist_stream_call *c)
{
    return ist_broadcast(c->team, c->dest, c->source, c->length_bytes, c->pe, IST_BROADCAST_TO_ALL, c->routine);
}

static int run_fcollect(const struct ist_stream_call *c)
{
    return ist_fcollect(c->team, c->dest, c->source, c->length_bytes, c->routine);
}

static int run_alltoall(const struct ist_stream_call *c)
{
    return ist_alltoall(c->team, c->dest, c->source, c->length_bytes, c->routine);
}

static int run_reduce(const struct ist_stream_call *c)
{
    return ist_reduce(c->team, c->dest, c->source, c->nelems, c->op, c->type, c->routine);
}

static int run_reducescatter(const struct ist_stream_call *c)
{
    return ist_reducescatter(c->team, c->dest, c->source, c->nelems, c->op, c->type, c->routine);
}

/* The collectives that move blocks of one size; some use `root`. */
static int move(void *stream, const char *routine, int (*run)(const struct ist_stream_call *), struct ist_team *team,
                void *dest, const void *source, size_t length_bytes, int root)
{
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.routine = routine,
                                                                   .run = run,
                                                                   .team = team,
                                                                   .dest = dest,
                                                                   .source = source,
                                                                   .length_bytes = length_bytes,
                                                                   .pe = root});
}

int ist_entry_broadcast_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                  int root, size_t size, const char *routine)
{
    return move(stream, routine, run_broadcast, team, dest, source, ist_bytes_of(nelems, size, routine), root);
}

int ist_entry_fcollect_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 size_t size, const char *routine)
{
    return move(stream, routine, run_fcollect, team, dest, source, ist_bytes_of(nelems, size, routine), 0);
}

int ist_entry_alltoall_on_stream(void *stream, struct ist_team *team, void *dest, const void *source, size_t nelems,
                                 size_t size, const char *routine)
{
    return move(stream, routine, run_alltoall, team, dest, source, ist_bytes_of(nelems, size, routine), 0);
}

int ist_entry_reduce_on_stream(void *stream, enum ist_combine_op op, struct ist_team *team, void *dest,
                               const void *source, size_t nelems, enum ist_combine_type type, const char *routine)
{
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.routine = routine,
                                                                   .run = run_reduce,
                                                                   .team = team,
                                                                   .dest = dest,
                                                                   .source = source,
                                                                   .nelems = nelems,
                                                                   .op = op,
                                                                   .type = type});
}

int ist_entry_reducescatter_on_stream(void *stream, enum ist_combine_op op, struct ist_team *team, void *dest,
                                      const void *source, size_t nelems, enum ist_combine_type type,
                                      const char *routine)
{
    return ist_stream_do_on_team(stream, &(struct ist_stream_call){.routine = routine,
                                                                   .run = run_reducescatter,
                                                                   .team = team,
                                                                   .dest = dest,
                                                                   .source = source,
                                                                   .nelems = nelems,
                                                                   .op = op,
                                                                   .type = type});
}

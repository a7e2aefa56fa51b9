/* tools/isthmus-perf/operations.c: see operations.h. The bare operations are in bare.c. */
#include "tools/isthmus-perf/operations.h"
#include "tools/isthmus-perf/bare.h"

#include <shmem.h>

#include <string.h>

/* ---- from one PE to another ---- */

static void call_put(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_putmem(place->dest, place->source, place->size_bytes, place->to);
        shmem_quiet();
    }
}

static void call_get(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) shmem_getmem(place->source, place->dest, place->size_bytes, place->to);
}

static void call_put_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) shmem_putmem_nbi(place->dest, place->source, place->size_bytes, place->to);
    shmem_quiet();
}

static void call_get_nbi(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) shmem_getmem_nbi(place->source, place->dest, place->size_bytes, place->to);
    shmem_quiet();
}

static void call_put_signal(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_putmem_signal(place->dest, place->source, place->size_bytes, &place->flags[FLAG_SIGNAL], (uint64_t)i,
                            SHMEM_SIGNAL_SET, place->to);
        shmem_quiet();
    }
}

static void call_p(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        shmem_long_p((long *)(void *)place->dest, i, place->to);
        bare_keep_loop();
    }
}

static void call_g(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) {
        bare_use(shmem_long_g((const long *)(const void *)place->dest, place->to));
        bare_keep_loop();
    }
}

static void call_fetch_add(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) bare_use(shmem_long_atomic_fetch_add((long *)(void *)place->dest, 1, place->to));
}

/* A quiet at the end of the batch only: the figure is the rate. */
static void call_add(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++) shmem_long_atomic_add((long *)(void *)place->dest, 1, place->to);
    shmem_quiet();
}

static void call_compare_swap(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        bare_use(shmem_long_atomic_compare_swap((long *)(void *)place->dest, i, i + 1, place->to));
}

/* ---- of all PEs ---- */

static void call_barrier(const struct place *place, long reps)
{
    (void)place;
    for (long i = 0; i < reps; i++) shmem_barrier_all();
}

static void call_sync(const struct place *place, long reps)
{
    (void)place;
    for (long i = 0; i < reps; i++) shmem_sync_all();
}

static void call_broadcast(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_broadcastmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes, 0);
}

static void call_collect(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_collectmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes);
}

static void call_fcollect(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_fcollectmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes);
}

static void call_alltoall(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_alltoallmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes);
}

static void call_sum_reduce(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, (long *)(void *)place->dest,
                              (const long *)(const void *)place->whole_source, place->size_bytes / sizeof(long));
}

const struct operation operations[] = {
    {.name = "put",
     .summary = "putmem and quiet: until the data is there",
     .is_sized = true,
     .call = call_put,
     .bare_name = "memcpy",
     .bare = bare_put,
     .transfer = TRANSFER_PUT},
    {.name = "get",
     .summary = "getmem",
     .is_sized = true,
     .call = call_get,
     .bare_name = "memcpy",
     .bare = bare_get,
     .transfer = TRANSFER_GET},
    {.name = "put_nbi",
     .summary = "putmem_nbi, many before one quiet",
     .is_sized = true,
     .call = call_put_nbi,
     .bare_name = "memcpy",
     .bare = bare_put_many,
     .transfer = TRANSFER_PUT_NBI},
    {.name = "get_nbi",
     .summary = "getmem_nbi, many before one quiet",
     .is_sized = true,
     .call = call_get_nbi,
     .bare_name = "memcpy",
     .bare = bare_get,
     .transfer = TRANSFER_GET_NBI},
    {.name = "put_signal",
     .summary = "putmem_signal and quiet",
     .is_sized = true,
     .call = call_put_signal,
     .bare_name = "memcpy",
     .bare = bare_put_signal,
     .transfer = TRANSFER_NONE},
    {.name = "p",
     .summary = "long_p, many",
     .call = call_p,
     .transfer = TRANSFER_PUT_NBI,
     .bare_name = "a store",
     .bare = bare_store},
    {.name = "g",
     .summary = "long_g",
     .call = call_g,
     .transfer = TRANSFER_GET,
     .bare_name = "a load",
     .bare = bare_load},
    {.name = "fetch_add",
     .summary = "long_atomic_fetch_add",
     .call = call_fetch_add,
     .bare_name = "a locked add",
     .bare = bare_fetch_add,
     .transfer = TRANSFER_FETCH_ADD},
    {.name = "add",
     .summary = "long_atomic_add, many before one quiet",
     .call = call_add,
     .bare_name = "a locked add",
     .bare = bare_fetch_add},
    {.name = "compare_swap",
     .summary = "long_atomic_compare_swap",
     .call = call_compare_swap,
     .bare_name = "a locked swap",
     .bare = bare_compare_swap},
    {.name = "put_on_stream",
     .summary = "putmem_on_stream, many before the stream is synchronized",
     .is_sized = true,
     .is_on_stream = true,
     .call = call_put_on_stream,
     .transfer = TRANSFER_PUT_NBI,
     .more = "the call"},
    {.name = "get_on_stream",
     .summary = "getmem_on_stream, the same",
     .is_sized = true,
     .is_on_stream = true,
     .call = call_get_on_stream,
     .transfer = TRANSFER_GET_NBI,
     .more = "the call"},
    {.name = "barrier",
     .summary = "barrier_all",
     .is_together = true,
     .call = call_barrier,
     .bare_name = "flags",
     .bare = bare_flags,
     .needs_alias = true},
    {.name = "sync",
     .summary = "sync_all",
     .is_together = true,
     .call = call_sync,
     .bare_name = "flags",
     .bare = bare_flags,
     .needs_alias = true},
    {.name = "broadcast",
     .summary = "broadcastmem from PE 0",
     .is_together = true,
     .is_sized = true,
     .call = call_broadcast,
     .bare_name = "memcpy",
     .bare = bare_copy_one,
     .needs_alias = true,
     .more = "flags between the PEs"},
    {.name = "collect",
     .summary = "collectmem, a block of the size from each PE",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .call = call_collect,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .needs_alias = true},
    {.name = "fcollect",
     .summary = "fcollectmem, a block of the size from each PE",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .call = call_fcollect,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .needs_alias = true},
    {.name = "alltoall",
     .summary = "alltoallmem, a block of the size for each PE",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .call = call_alltoall,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .needs_alias = true},
    {.name = "sum_reduce",
     .summary = "long_sum_reduce",
     .is_together = true,
     .is_sized = true,
     .call = call_sum_reduce,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_one,
     .needs_alias = true},
};
const int n_operations = sizeof operations / sizeof *operations;

int operation_find(const char *name, size_t length)
{
    for (int i = 0; i < n_operations; i++)
        if (strlen(operations[i].name) == length && strncmp(operations[i].name, name, length) == 0) return i;
    return -1;
}

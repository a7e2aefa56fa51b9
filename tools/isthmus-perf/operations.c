/* tools/isthmus-perf/operations.c: the table of operations, and those from one PE to another. See operations.h; the
 * bare operations are in bare.c. */
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
     .transfer = TRANSFER_PUT_SIGNAL,
     .more = {[LIMIT_DEVICE] = "the signal", [LIMIT_NETWORK] = "the signal"}},
    {.name = "p",
     .summary = "long_p, many",
     .call = call_p,
     .bare_name = "a store",
     .bare = bare_store,
     .transfer = TRANSFER_PUT_NBI},
    {.name = "g",
     .summary = "long_g",
     .call = call_g,
     .bare_name = "a load",
     .bare = bare_load,
     .transfer = TRANSFER_GET},
    {.name = "fetch_add",
     .summary = "long_atomic_fetch_add",
     .call = call_fetch_add,
     .bare_name = "a locked add",
     .bare = bare_fetch_add,
     .transfer = TRANSFER_FETCH_ADD,
     .more = {[LIMIT_DEVICE] = "an atomic, which no copy is"},
     .is_no_copy = true},
    {.name = "add",
     .summary = "long_atomic_add, many before one quiet",
     .call = call_add,
     .bare_name = "a locked add",
     .bare = bare_fetch_add,
     .transfer = TRANSFER_ADD,
     .more = {[LIMIT_DEVICE] = "an atomic, which no copy is"},
     .is_no_copy = true},
    {.name = "compare_swap",
     .summary = "long_atomic_compare_swap",
     .call = call_compare_swap,
     .bare_name = "a locked swap",
     .bare = bare_compare_swap,
     .transfer = TRANSFER_COMPARE_SWAP,
     .more = {[LIMIT_DEVICE] = "an atomic, which no copy is"},
     .is_no_copy = true},
    {.name = "put_on_stream",
     .summary = "putmem_on_stream, many before the stream is synchronized",
     .is_sized = true,
     .is_on_stream = true,
     .call = call_put_on_stream,
     .transfer = TRANSFER_PUT_NBI,
     .more = {[LIMIT_DEVICE] = "the call"}},
    {.name = "get_on_stream",
     .summary = "getmem_on_stream, the same",
     .is_sized = true,
     .is_on_stream = true,
     .call = call_get_on_stream,
     .transfer = TRANSFER_GET_NBI,
     .more = {[LIMIT_DEVICE] = "the call"}},
    {.name = "put_signal_on_stream",
     .summary = "putmem_signal_on_stream, the same",
     .is_sized = true,
     .is_on_stream = true,
     .call = call_put_signal_on_stream,
     .transfer = TRANSFER_STREAM_SIGNAL,
     .more = {[LIMIT_DEVICE] = "the call"}},
    {.name = "barrier",
     .summary = "barrier_all",
     .is_together = true,
     .needs_alias = true,
     .call = call_barrier,
     .bare_name = "flags",
     .bare = bare_flags,
     .transfer = TRANSFER_FLAGS},
    {.name = "sync",
     .summary = "sync_all",
     .is_together = true,
     .needs_alias = true,
     .call = call_sync,
     .bare_name = "flags",
     .bare = bare_flags,
     .transfer = TRANSFER_FLAGS},
    {.name = "broadcast",
     .summary = "broadcastmem from PE 0",
     .is_together = true,
     .is_sized = true,
     .needs_alias = true,
     .call = call_broadcast,
     .bare_name = "memcpy",
     .bare = bare_copy_one,
     .transfer = TRANSFER_BLOCK_ALONE,
     .more = {[LIMIT_PROCESSOR] = "flags between the PEs",
              [LIMIT_DEVICE] = "flags between the PEs",
              [LIMIT_NETWORK] = "flags between the PEs"}},
    {.name = "collect",
     .summary = "collectmem, a block of the size from each PE",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .needs_alias = true,
     .call = call_collect,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .transfer = TRANSFER_BLOCKS},
    {.name = "fcollect",
     .summary = "fcollectmem, the same",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .needs_alias = true,
     .call = call_fcollect,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .transfer = TRANSFER_BLOCKS},
    {.name = "alltoall",
     .summary = "alltoallmem, a block of the size for each PE",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .needs_alias = true,
     .call = call_alltoall,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .transfer = TRANSFER_BLOCKS},
    {.name = "alltoalls",
     .summary = "long_alltoalls with strides of 1",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .needs_alias = true,
     .call = call_alltoalls,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .transfer = TRANSFER_BLOCKS},
    {.name = "sum_reduce",
     .summary = "long_sum_reduce, and so of other operators",
     .is_together = true,
     .is_sized = true,
     .needs_alias = true,
     .call = call_sum_reduce,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_one,
     .transfer = TRANSFER_BLOCK},
    {.name = "sum_inscan",
     .summary = "long_sum_inscan",
     .is_together = true,
     .is_sized = true,
     .needs_alias = true,
     .call = call_sum_inscan,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_one,
     .transfer = TRANSFER_BLOCK},
    {.name = "sum_exscan",
     .summary = "long_sum_exscan",
     .is_together = true,
     .is_sized = true,
     .needs_alias = true,
     .call = call_sum_exscan,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_one,
     .transfer = TRANSFER_BLOCK},
    {.name = "sum_reducescatter",
     .summary = "long_sum_reducescatter, a block of the size for each PE",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .needs_alias = true,
     .call = call_sum_reducescatter,
     .bare_name = "flags+memcpy",
     .bare = bare_receive_others,
     .transfer = TRANSFER_BLOCKS},
    {.name = "barrier_on_stream",
     .summary = "barrier_all_on_stream, many before the stream is synchronized",
     .is_together = true,
     .is_on_stream = true,
     .call = call_barrier_on_stream,
     .transfer = TRANSFER_STREAM_FLAGS,
     .more = {[LIMIT_DEVICE] = "the call"}},
    {.name = "sync_on_stream",
     .summary = "sync_all_on_stream, the same",
     .is_together = true,
     .is_on_stream = true,
     .call = call_sync_on_stream,
     .transfer = TRANSFER_STREAM_FLAGS,
     .more = {[LIMIT_DEVICE] = "the call"}},
    {.name = "broadcast_on_stream",
     .summary = "broadcastmem_on_stream, the same",
     .is_together = true,
     .is_sized = true,
     .is_on_stream = true,
     .call = call_broadcast_on_stream,
     .transfer = TRANSFER_STREAM_BLOCK,
     .more = {[LIMIT_DEVICE] = "flags between the PEs"}},
    {.name = "fcollect_on_stream",
     .summary = "fcollectmem_on_stream, the same",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .is_on_stream = true,
     .call = call_fcollect_on_stream,
     .transfer = TRANSFER_STREAM_BLOCKS,
     .more = {[LIMIT_DEVICE] = "flags between the PEs"}},
    {.name = "alltoall_on_stream",
     .summary = "alltoallmem_on_stream, the same",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .is_on_stream = true,
     .call = call_alltoall_on_stream,
     .transfer = TRANSFER_STREAM_BLOCKS,
     .more = {[LIMIT_DEVICE] = "flags between the PEs"}},
    {.name = "sum_reduce_on_stream",
     .summary = "long_sum_reduce_on_stream, the same",
     .is_together = true,
     .is_sized = true,
     .is_on_stream = true,
     .call = call_sum_reduce_on_stream,
     .transfer = TRANSFER_STREAM_BLOCK,
     .more = {[LIMIT_DEVICE] = "flags between the PEs, and the sum"}},
    {.name = "sum_reducescatter_on_stream",
     .summary = "long_sum_reducescatter_on_stream, the same",
     .is_together = true,
     .is_sized = true,
     .has_blocks = true,
     .is_on_stream = true,
     .call = call_sum_reducescatter_on_stream,
     .transfer = TRANSFER_STREAM_BLOCKS,
     .more = {[LIMIT_DEVICE] = "flags between the PEs, and the sum"}},
};
const int n_operations = sizeof operations / sizeof *operations;
_Static_assert(sizeof operations / sizeof *operations <= 64, "a bit for each");

int operation_find(const char *name, size_t length)
{
    for (int i = 0; i < n_operations; i++)
        if (strlen(operations[i].name) == length && strncmp(operations[i].name, name, length) == 0) return i;
    return -1;
}

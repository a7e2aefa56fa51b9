/* tools/isthmus-perf/operations_stream.c: operations in the order of a stream of the GPU whose memory the heap is:
 * many, and one synchronization of the stream. See operations.h. */
#include "tools/isthmus-perf/limit_gpu.h"

#include <nvshmem.h>
#include <nvshmemx.h>

static cudaStream_t stream(void) { return (cudaStream_t)limit_gpu_stream(); }
static long *words(char *memory) { return (long *)(void *)memory; }
static size_t n_words(const struct place *place) { return place->size_bytes / sizeof(long); }

void call_put_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_putmem_on_stream(place->dest, place->source, place->size_bytes, place->to, stream());
    limit_gpu_synchronize();
}

void call_get_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_getmem_on_stream(place->source, place->dest, place->size_bytes, place->to, stream());
    limit_gpu_synchronize();
}

void call_put_signal_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_putmem_signal_on_stream(place->dest, place->source, place->size_bytes,
                                         &place->stream_flags[FLAG_SIGNAL], (uint64_t)i, NVSHMEM_SIGNAL_SET, place->to,
                                         stream());
    limit_gpu_synchronize();
}

/* ---- of all PEs ---- */

void call_barrier_on_stream(const struct place *place, long reps)
{
    (void)place;
    for (long i = 0; i < reps; i++) nvshmemx_barrier_all_on_stream(stream());
    limit_gpu_synchronize();
}

void call_sync_on_stream(const struct place *place, long reps)
{
    (void)place;
    for (long i = 0; i < reps; i++) nvshmemx_sync_all_on_stream(stream());
    limit_gpu_synchronize();
}

void call_broadcast_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_broadcastmem_on_stream(NVSHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes, 0,
                                        stream());
    limit_gpu_synchronize();
}

void call_fcollect_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_fcollectmem_on_stream(NVSHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes,
                                       stream());
    limit_gpu_synchronize();
}

void call_alltoall_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_alltoallmem_on_stream(NVSHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes,
                                       stream());
    limit_gpu_synchronize();
}

void call_sum_reduce_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source),
                                           n_words(place), stream());
    limit_gpu_synchronize();
}

void call_sum_reducescatter_on_stream(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmemx_long_sum_reducescatter_on_stream(NVSHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source),
                                                  n_words(place), stream());
    limit_gpu_synchronize();
}

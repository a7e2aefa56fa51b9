/* Calls of the host on a stream, for bench_kernels.c, and what they are compared with: each makes its call a.reps times
 * and does not wait. Not about calls in kernels: kernel_calls.h. */
#ifndef ISTHMUS_BENCH_KERNEL_STREAMS_H
#define ISTHMUS_BENCH_KERNEL_STREAMS_H

#include "kernel_calls.h"

typedef void stream_function(const struct kernel_args *a);

struct streamed {
    stream_function *call, *bare; /* bare NULL: it is a kernel */
};

static void reduce_on_stream(const struct kernel_args *a)
{
    long *dest = (long *)(void *)a->dest, *source = (long *)(void *)a->source;
    for (long i = 0; i < a->reps; i++)
        (void)nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dest, source, a->bytes / sizeof *dest,
                                                 place_stream());
}

static void barrier_on_stream(const struct kernel_args *a)
{
    for (long i = 0; i < a->reps; i++) nvshmemx_barrier_all_on_stream(place_stream());
}

static const struct streamed reduce_and_barrier = {reduce_on_stream, barrier_on_stream},
                             reduce_alone = {reduce_on_stream, NULL};

/* What a reduction of two PEs reads and writes: each PE adds one half of the sources, and writes the sums to both. */
ON_DEVICE void bare_sum_half(const struct kernel_args *a)
{
    size_t n = a->bytes / sizeof(struct bare_vector), step = (size_t)block_count() * thread_count();
    size_t first = a->me == 0 ? 0 : n / 2, end = a->me == 0 ? n / 2 : n;
    const struct bare_vector *mine = (const struct bare_vector *)(const void *)a->source;
    const struct bare_vector *other = (const struct bare_vector *)(const void *)a->far_source;
    struct bare_vector *dest = (struct bare_vector *)(void *)a->dest;
    struct bare_vector *far_dest = (struct bare_vector *)(void *)a->far_dest;
    for (size_t i = first + (size_t)block_rank() * thread_count() + thread_rank(); i < end; i += step) {
        struct bare_vector sum = mine[i], with = other[i];
        sum.low += with.low, sum.high += with.high;
        dest[i] = sum, far_dest[i] = sum;
    }
}

PUT_KERNEL(bare_sum_all, bare_sum_half(&a), bare_quiet, block_barrier)

#endif

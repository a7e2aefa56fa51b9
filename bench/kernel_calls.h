/* The kernels of bench_kernels.c: each makes one call of NVSHMEM's interface a.reps times, or does the same work by the
 * bare operations of kernel_place.h, and notes when it began and ended. Both write the same values to the same memory,
 * so that one check serves both. Not about how often they run and what is printed: bench_kernels.c. */
#ifndef ISTHMUS_BENCH_KERNEL_CALLS_H
#define ISTHMUS_BENCH_KERNEL_CALLS_H

#include "kernel_place.h"

ON_DEVICE void clock_begin(const struct kernel_args *a)
{
    block_barrier();
    if (thread_rank() == 0) a->times[2 * (size_t)block_rank()] = now_ns();
    block_barrier();
}

ON_DEVICE void clock_end(const struct kernel_args *a)
{
    block_barrier();
    if (thread_rank() == 0) a->times[2 * (size_t)block_rank() + 1] = now_ns();
}

/* ---- words: one thread. What is fetched is an operand of the next operation, which therefore waits for it. ---- */

#define WORD_KERNEL(name, operation)                 \
    KERNEL(name)                                     \
    {                                                \
        clock_begin(&a);                             \
        for (long i = 0; i < a.reps; i++) operation; \
        clock_end(&a);                               \
    }

WORD_KERNEL(call_p, nvshmem_long_p(a.words, a.seed + i, a.peer))
WORD_KERNEL(bare_p, bare_store(a.far_words, a.seed + i))
WORD_KERNEL(call_p_quiet, (nvshmem_long_p(a.words, a.seed + i, a.peer), nvshmem_quiet()))
WORD_KERNEL(bare_p_quiet, (bare_store(a.far_words, a.seed + i), bare_quiet()))
WORD_KERNEL(call_add, nvshmem_long_atomic_add(a.words, 1, a.peer))
WORD_KERNEL(bare_add_1, bare_add(a.far_words, 1))
WORD_KERNEL(call_signal, nvshmemx_signal_op(a.signals, (uint64_t)(a.seed + i), NVSHMEM_SIGNAL_SET, a.peer))
WORD_KERNEL(bare_signal, bare_store((long *)(void *)a.far_signals, a.seed + i))

/* The same, and the last value that was fetched is the result. */
#define FETCH_KERNEL(name, first, operation)         \
    KERNEL(name)                                     \
    {                                                \
        long value = first;                          \
        clock_begin(&a);                             \
        for (long i = 0; i < a.reps; i++) operation; \
        clock_end(&a);                               \
        a.results[0] = value;                        \
    }

FETCH_KERNEL(call_g, a.seed, value = nvshmem_long_g(a.words + (value - a.seed), a.peer))
FETCH_KERNEL(bare_g, a.seed, value = bare_load(a.far_words + (value - a.seed)))
FETCH_KERNEL(call_fetch_add, a.seed - 1, value = nvshmem_long_atomic_fetch_add(a.words, value - a.seed + 2 - i, a.peer))
FETCH_KERNEL(bare_fetch_add_1, a.seed - 1, value = bare_fetch_add(a.far_words, value - a.seed + 2 - i))
FETCH_KERNEL(call_swap, a.seed - 1, value = nvshmem_long_atomic_compare_swap(a.words, value + 1, value + 2, a.peer))
FETCH_KERNEL(bare_swap, a.seed - 1, value = bare_compare_swap(a.far_words, value + 1, value + 2))

/* Every block writes its own word. */
KERNEL(call_p_of_blocks)
{
    long *word = a.words + (size_t)WORDS_OF_BLOCK * block_rank();
    clock_begin(&a);
    for (long i = 0; i < a.reps; i++) nvshmem_long_p(word, a.seed + i, a.peer);
    nvshmem_quiet();
    clock_end(&a);
}

/* ---- copies by a group of threads, then a quiet by its first one ---- */

/* By `step` threads, of which this one is number `rank`; four loads are under way at a time. Sizes are multiples of 8.
 */
ON_DEVICE void bare_copy(char *to, const char *from, size_t bytes, size_t rank, size_t step)
{
    struct bare_vector *out = (struct bare_vector *)(void *)to;
    const struct bare_vector *in = (const struct bare_vector *)(const void *)from;
    size_t n = bytes / sizeof *out, i = rank;
    for (; i + 3 * step < n; i += 4 * step) {
        struct bare_vector first = in[i], second = in[i + step], third = in[i + 2 * step], fourth = in[i + 3 * step];
        out[i] = first, out[i + step] = second, out[i + 2 * step] = third, out[i + 3 * step] = fourth;
    }
    for (; i < n; i += step) out[i] = in[i];
    if (rank == 0 && bytes % sizeof *out != 0) bare_store((long *)(void *)&out[n], *(const long *)(const void *)&in[n]);
}

ON_DEVICE void no_barrier(void) {}

#define PUT_KERNEL(name, copy, quiet, barrier) \
    KERNEL(name)                               \
    {                                          \
        clock_begin(&a);                       \
        for (long i = 0; i < a.reps; i++) {    \
            copy;                              \
            barrier();                         \
            if (thread_rank() == 0) quiet();   \
            barrier();                         \
        }                                      \
        clock_end(&a);                         \
    }
#define BARE_COPY bare_copy(a.far_dest, a.source, a.bytes, thread_rank(), thread_count())

PUT_KERNEL(call_put_thread, nvshmem_putmem(a.dest, a.source, a.bytes, a.peer), nvshmem_quiet, no_barrier)
PUT_KERNEL(bare_put_thread, BARE_COPY, bare_quiet, no_barrier)
PUT_KERNEL(call_put_warp, nvshmemx_putmem_warp(a.dest, a.source, a.bytes, a.peer), nvshmem_quiet, warp_barrier)
PUT_KERNEL(bare_put_warp, BARE_COPY, bare_quiet, warp_barrier)
PUT_KERNEL(call_put_block, nvshmemx_putmem_block(a.dest, a.source, a.bytes, a.peer), nvshmem_quiet, block_barrier)
PUT_KERNEL(bare_put_block, BARE_COPY, bare_quiet, block_barrier)

/* By all blocks: each has its share of the bytes. The bare copy goes through all of them side by side. */
struct share {
    size_t from, bytes;
};

ON_DEVICE struct share share_of_block(size_t bytes)
{
    size_t each = bytes / block_count() / sizeof(struct bare_vector) * sizeof(struct bare_vector);
    struct share share = {each * block_rank(), each};
    if (block_rank() + 1 == block_count()) share.bytes = bytes - share.from;
    return share;
}

ON_DEVICE void bare_copy_all(char *to, const char *from, size_t bytes)
{
    bare_copy(to, from, bytes, (size_t)block_rank() * thread_count() + thread_rank(),
              (size_t)block_count() * thread_count());
}

#define SHARE share_of_block(a.bytes)
PUT_KERNEL(call_put_all, nvshmemx_putmem_block(a.dest + SHARE.from, a.source + SHARE.from, SHARE.bytes, a.peer),
           nvshmem_quiet, block_barrier)
PUT_KERNEL(bare_put_all, bare_copy_all(a.far_dest, a.source, a.bytes), bare_quiet, block_barrier)
PUT_KERNEL(call_get_all, nvshmemx_getmem_block(a.dest + SHARE.from, a.source + SHARE.from, SHARE.bytes, a.peer),
           no_barrier, block_barrier)
PUT_KERNEL(bare_get_all, bare_copy_all(a.dest, a.far_source, a.bytes), no_barrier, block_barrier)

/* ---- two sides: messages of 8 bytes go to and fro ---- */

/* What a side, 0 or 1, receives into; and where it sends from. */
ON_DEVICE long *inbox_of(long *words, uint32_t side) { return words + (size_t)WORDS_OF_BLOCK * side; }
ON_DEVICE uint64_t *signal_of(uint64_t *signals, uint32_t side) { return signals + (size_t)WORDS_OF_BLOCK * side; }

ON_DEVICE void call_send(const struct kernel_args *a, uint32_t side, long value)
{
    long *outbox = inbox_of(a->words, 2 + side);
    *outbox = value;
    nvshmem_long_put_signal(inbox_of(a->words, 1 - side), outbox, 1, signal_of(a->signals, 1 - side), (uint64_t)value,
                            NVSHMEM_SIGNAL_SET, a->peer);
}

ON_DEVICE void call_await(const struct kernel_args *a, uint32_t side, long value)
{
    (void)nvshmem_signal_wait_until(signal_of(a->signals, side), NVSHMEM_CMP_GE, (uint64_t)value);
}

ON_DEVICE void bare_send(const struct kernel_args *a, uint32_t side, long value)
{
    bare_store(inbox_of(a->far_words, 1 - side), value);
    bare_store_release(signal_of(a->far_signals, 1 - side), (uint64_t)value);
}

ON_DEVICE void bare_await(const struct kernel_args *a, uint32_t side, long value)
{
    while (bare_load_acquire(signal_of(a->signals, side)) < (uint64_t)value) bare_pause();
}

/* The result of a side is how many messages were not there when their signal was. One thread of a block. */
#define PINGPONG_KERNEL(name, send, await, a_side)                    \
    KERNEL(name)                                                      \
    {                                                                 \
        uint32_t side = (uint32_t)(a_side);                           \
        long wrong = 0;                                               \
        clock_begin(&a);                                              \
        for (long value = a.seed; value < a.seed + a.reps; value++) { \
            if (side == 0) send(&a, side, value);                     \
            await(&a, side, value);                                   \
            wrong += bare_load(inbox_of(a.words, side)) != value;     \
            if (side == 1) send(&a, side, value);                     \
        }                                                             \
        clock_end(&a);                                                \
        a.results[side] = wrong;                                      \
    }

PINGPONG_KERNEL(call_pingpong_blocks, call_send, call_await, block_rank())
PINGPONG_KERNEL(bare_pingpong_blocks, bare_send, bare_await, block_rank())
PINGPONG_KERNEL(call_pingpong_pes, call_send, call_await, a.me)
PINGPONG_KERNEL(bare_pingpong_pes, bare_send, bare_await, a.me)

KERNEL(call_barrier)
{
    clock_begin(&a);
    for (long i = 0; i < a.reps; i++) nvshmemx_barrier_all_block();
    clock_end(&a);
}

/* The result is 1 if kernels load and store at the peer themselves. */
KERNEL(find_way) { a.results[0] = nvshmem_ptr(a.words, a.peer) != NULL; }

/* The result is how many words of the peer, put before a barrier, were not there after it. */
KERNEL(check_barrier)
{
    long wrong = 0;
    for (long value = a.seed; value < a.seed + a.reps; value++) {
        if (thread_rank() == 0) nvshmem_long_p(a.words, value, a.peer);
        nvshmemx_barrier_all_block();
        if (thread_rank() == 0) wrong += bare_load(a.words) != value;
        nvshmemx_barrier_all_block();
    }
    if (thread_rank() == 0) a.results[0] = wrong;
}

#endif

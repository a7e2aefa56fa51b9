/* allreduce_kernel [FLOATS [TIMES]]: the sum of an array over all PEs, by a ring, in one kernel. The array is cut
 * into a chunk for each PE. Chunks travel to the right: in the first n - 1 steps each PE adds its own part to what
 * comes from the left, until it has the whole sum of one chunk; in the next n - 1 steps the sums go around. A chunk is
 * cut into a slice for each block, which sends it with a signal and waits for nothing but its own slice of the left
 * neighbour.
 *
 * The sums are whole numbers, so that each PE compares them with a plain computation, bit by bit. One text for CUDA and
 * for the CPU device: kernel.h. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, BLOCKS = 4 };

/* What a kernel is launched with. The memory is symmetric. */
struct allreduce {
    float *sum;        /* n chunks of BLOCKS slices: this PE's values, then the sums of all PEs */
    float *inbox;      /* n - 1 chunks, one for each of the first steps */
    uint64_t *arrived; /* [2 * (n - 1)][BLOCKS]: by step, the number of the call whose slice has arrived */
    size_t slice;      /* floats */
    uint64_t call;     /* from 1 */
};

/* ---- the kernel ---- */

/* This block's slice of a chunk. */
ON_DEVICE float *slice_of(const struct allreduce *a, float *array, int chunk)
{
    return array + ((size_t)chunk * BLOCKS + isthmus_dev_block_rank()) * a->slice;
}

ON_DEVICE void send_right(const struct allreduce *a, float *to, const float *from, int step)
{
    int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    uint64_t *signal = &a->arrived[step * BLOCKS + (int)isthmus_dev_block_rank()];
    nvshmemx_float_put_signal_nbi_block(to, from, a->slice, signal, a->call, NVSHMEM_SIGNAL_SET, right);
}

/* One thread waits, the barrier shows the others that it has. */
ON_DEVICE void await_left(const struct allreduce *a, int step)
{
    uint64_t *signal = &a->arrived[step * BLOCKS + (int)isthmus_dev_block_rank()];
    if (isthmus_dev_thread_rank() == 0) (void)nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, a->call);
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

ON_DEVICE void add(float *to, const float *more, size_t n)
{
    for (size_t i = isthmus_dev_thread_rank(); i < n; i += isthmus_dev_thread_count()) to[i] += more[i];
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

/* No slice is overwritten too early, and calls follow each other without a barrier. A sum replaces a part that this PE
 * has sent before: but the sum contains that part, which has therefore arrived. The left neighbour may be in the next
 * call and fill the inbox again: but it has the sums of all chunks of this call, for which this PE has read its inbox.
 */
KERNEL(allreduce, struct allreduce, a)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    for (int step = 0; step < n - 1; step++) {
        int sent = (me - step + n) % n, received = (me - step - 1 + n) % n;
        send_right(a, slice_of(a, a->inbox, step), slice_of(a, a->sum, sent), step);
        await_left(a, step);
        add(slice_of(a, a->sum, received), slice_of(a, a->inbox, step), a->slice);
    }
    for (int step = 0; step < n - 1; step++) {
        float *slice = slice_of(a, a->sum, (me + 1 - step + n) % n);
        send_right(a, slice, slice, n - 1 + step);
        await_left(a, n - 1 + step);
    }
    if (isthmus_dev_thread_rank() == 0) nvshmem_quiet(); /* the host may change the array when the kernel has ended */
}

/* ---- the host ---- */

static void *room(size_t elements, size_t bytes, void *(*allocate)(size_t, size_t))
{
    void *memory = allocate(elements, bytes);
    if (memory == NULL) {
        fprintf(stderr, "allreduce_kernel: no room for %zu elements\n", elements);
        nvshmem_global_exit(2);
    }
    return memory;
}

static float value(int pe, size_t i, uint64_t call) { return (float)((i * 7 + (size_t)pe * 13 + call) % 1000); }

static float expected_sum(int n_pes, size_t i, uint64_t call)
{
    float sum = 0;
    for (int pe = 0; pe < n_pes; pe++) sum += value(pe, i, call);
    return sum;
}

/* Returns how many of the sums are wrong, or -1. */
static long run_once(const struct allreduce *a, float *values, size_t n)
{
    struct allreduce argument = *a;
    long wrong = 0;
    for (size_t i = 0; i < n; i++) values[i] = value(nvshmem_my_pe(), i, a->call);
    copy_bytes(a->sum, values, n * sizeof *values);
    if (run_kernel(BLOCKS, THREADS, allreduce, &argument) != 0) return -1;
    copy_bytes(values, a->sum, n * sizeof *values);
    for (size_t i = 0; i < n; i++) wrong += values[i] != expected_sum(nvshmem_n_pes(), i, a->call);
    return wrong;
}

static size_t number(int argc, char **argv, int i, size_t preset)
{
    return argc > i ? strtoull(argv[i], NULL, 10) : preset;
}

int main(int argc, char **argv)
{
    size_t wanted = number(argc, argv, 1, 500000), times = number(argc, argv, 2, 3);
    long wrong = 0;
    nvshmem_init();
    size_t n_pes = (size_t)nvshmem_n_pes(), parts = n_pes * BLOCKS;
    struct allreduce a;
    memset(&a, 0, sizeof a);
    a.slice = (wanted + parts - 1) / parts;
    size_t n = a.slice * parts;
    a.sum = (float *)room(n, sizeof(float), nvshmem_calloc);
    a.inbox = (float *)room(n, sizeof(float), nvshmem_calloc);
    a.arrived = (uint64_t *)room(2 * n_pes * BLOCKS, sizeof(uint64_t), nvshmem_calloc);
    float *values = (float *)room(n, sizeof(float), calloc);
    for (a.call = 1; a.call <= times && wrong == 0; a.call++) wrong = run_once(&a, values, n);
    if (wrong != 0) fprintf(stderr, "PE %d: %ld sums are wrong (-1: the kernel has stopped)\n", nvshmem_my_pe(), wrong);
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 0 && wrong == 0)
        printf("%zu times %zu floats, %zu PEs: the sums are as computed by one\n", times, n, n_pes);
    free(values);
    nvshmem_finalize();
    return wrong != 0;
}

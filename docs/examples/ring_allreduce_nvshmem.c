/* ring_allreduce_nvshmem [FLOATS]: the sum of an array over all PEs, by a ring, with the host calls of NVSHMEM: each PE
 * puts a block to its right neighbour with a signal, waits for the one from its left, adds it, and so on; everything in
 * one stream. Compares the result with nvshmem_float_sum_reduce. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <stdlib.h>

static int me, n, right;
static size_t block;              /* floats in each of the n blocks */
static float *data, *incoming;    /* symmetric: n blocks; one block for each step of the first round */
static uint64_t *arrived;         /* symmetric: blocks from the left neighbour */
static const cudaStream_t stream; /* the default one */

static void *symmetric(size_t size_bytes)
{
    void *memory = nvshmem_calloc(1, size_bytes);
    if (memory == NULL) {
        fprintf(stderr, "ring_allreduce: no room for %zu bytes\n", size_bytes);
        nvshmem_global_exit(1);
    }
    return memory;
}

/* Blocks travel to the right; the one that PE `pe` sends in a step. */
static int block_sent(int pe, int step) { return (pe - step + 2 * n) % n; }

static void send(float *dest, const float *source)
{
    nvshmemx_float_put_signal_nbi_on_stream(dest, source, block, arrived, 1, NVSHMEM_SIGNAL_ADD, right, stream);
}

static void receive(uint64_t blocks)
{
    nvshmemx_signal_wait_until_on_stream(arrived, NVSHMEM_CMP_GE, blocks, stream);
    nvshmemx_quiet_on_stream(stream);
    (void)nvshmemx_uint64_g_on_stream(arrived, me, stream); /* the host adds: this returns when the stream is there */
}

/* After n - 1 steps each PE has the whole sum of one block, the one after its own number. */
static void reduce_scatter(void)
{
    for (int step = 0; step < n - 1; step++) {
        float *here = incoming + (size_t)step * block;
        float *sum = data + (size_t)block_sent((me + n - 1) % n, step) * block;
        send(here, data + (size_t)block_sent(me, step) * block);
        receive((uint64_t)step + 1);
        for (size_t i = 0; i < block; i++) sum[i] += here[i];
    }
}

/* The sums go around once more, straight to their places. */
static void gather(void)
{
    for (int step = 0; step < n - 1; step++) {
        float *sum = data + (size_t)block_sent(me + 1, step) * block;
        send(sum, sum);
        receive((uint64_t)(n + step));
    }
}

static int differs(const float *expected)
{
    int differing = 0;
    for (size_t i = 0; i < block * (size_t)n; i++) differing += data[i] != expected[i];
    return differing;
}

int main(int argc, char **argv)
{
    size_t wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000;
    nvshmem_init();
    me = nvshmem_my_pe(), n = nvshmem_n_pes(), right = (me + 1) % n;
    block = (wanted + (size_t)n - 1) / (size_t)n;
    data = symmetric(block * (size_t)n * sizeof *data);
    incoming = symmetric(block * (size_t)n * sizeof *incoming);
    arrived = symmetric(sizeof *arrived);
    float *expected = symmetric(block * (size_t)n * sizeof *expected);
    int *differing = symmetric(2 * sizeof *differing);

    for (size_t i = 0; i < block * (size_t)n; i++) data[i] = (float)((me + 1) * (int)(i % 100)); /* sums are exact */
    nvshmem_float_sum_reduce(NVSHMEM_TEAM_WORLD, expected, data, block * (size_t)n);
    nvshmem_barrier_all();
    reduce_scatter();
    gather();
    nvshmem_barrier_all();

    differing[0] = differs(expected);
    nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, &differing[1], &differing[0], 1);
    int wrong = differing[1] != 0;
    if (me == 0)
        printf("%zu floats over %d PEs: %s\n", block * (size_t)n, n,
               wrong ? "WRONG" : "as nvshmem_float_sum_reduce has it");
    nvshmem_free(differing);
    nvshmem_free(expected);
    nvshmem_free(arrived);
    nvshmem_free(incoming);
    nvshmem_free(data);
    nvshmem_finalize();
    return wrong;
}

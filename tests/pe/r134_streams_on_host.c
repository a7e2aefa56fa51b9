/* R134: operations on a stream take effect in the stream's order, with any stream; without a GPU the host runs them. A
 * round trip around all PEs by operations on streams only, collectives included. */
#include "nv.h"

enum { WORDS = 500 };

static void ring(cudaStream_t stream, uint64_t *data, uint64_t *signal, uint64_t round)
{
    if (pe.me == 0) {
        for (uint64_t i = 0; i < WORDS; i++) data[i] = round * 1000 + i;
    } else {
        nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_GE, round, stream);
    }
    if (pe.n > 1)
        nvshmemx_uint64_put_signal_on_stream(data, data, WORDS, signal, round, NVSHMEM_SIGNAL_SET, pe.right, stream);
    else
        nvshmemx_signal_op_on_stream(signal, round, NVSHMEM_SIGNAL_SET, pe.me, stream);
    if (pe.me == 0) nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_EQ, round, stream);
    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_quiet_on_stream(stream);
    for (uint64_t i = 0; i < WORDS; i++) CHECK_EQ(data[i], round * 1000 + i);
    nvshmemx_sync_all_on_stream(stream);
}

static void values(cudaStream_t stream, uint64_t *data, uint64_t round)
{
    nvshmemx_uint64_p_on_stream(&data[0], round * 100 + (uint64_t)pe.me, pe.right, stream);
    CHECK_EQ(nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, stream), 0);
    CHECK_EQ(nvshmemx_uint64_g_on_stream(&data[0], pe.right, stream), round * 100 + (uint64_t)pe.me);
    data[1] = (uint64_t)pe.me + round;
    CHECK_EQ(nvshmemx_uint64_max_reduce_on_stream(NVSHMEM_TEAM_WORLD, &data[2], &data[1], 1, stream), 0);
    CHECK_EQ(nvshmemx_uint64_broadcast_on_stream(NVSHMEM_TEAM_WORLD, &data[3], &data[2], 1, 0, stream), 0);
    nvshmemx_quiet_on_stream(stream);
    CHECK_EQ(data[2], (uint64_t)pe.n - 1 + round);
    CHECK_EQ(data[3], (uint64_t)pe.n - 1 + round);
    CHECK_EQ(nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, stream), 0);
}

int main(void)
{
    static char place[2]; /* any pointer names a stream */
    const cudaStream_t streams[] = {NULL, (cudaStream_t)(void *)&place[0], (cudaStream_t)(void *)&place[1]};
    nv_begin();
    uint64_t *data = nv_symmetric(WORDS * sizeof *data), *signal = nv_symmetric(sizeof *signal);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(100); round++) {
        ring(streams[round % 3], data, signal, round);
        values(streams[round % 3], data, round);
    }
    return nv_end();
}

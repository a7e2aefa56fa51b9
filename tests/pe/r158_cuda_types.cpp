/* R158: with CUDA's headers in reach nvshmem.h uses CUDA's own types, which pass to the library as its stand-ins do.
 * Built where the headers are found; needs no GPU. */
#include "check.h"

#include <cuda_fp16.h>
#include <nvshmem.h>

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

static half halves[2], half_sums[2];
static __nv_bfloat16 floats[2];

int main(void)
{
    cudaStream_t stream = nullptr;
    pe_begin();
    nvshmem_half_p(&halves[0], __float2half(1.5f), pe.right);
    nvshmemx_half_p_on_stream(&halves[1], __float2half(-2.0f), pe.right, stream);
    nvshmem_bfloat16_p(&floats[0], __float2bfloat16(0.25f), pe.right);
    nvshmem_barrier_all();
    CHECK(__half2float(nvshmem_half_g(&halves[0], pe.right)) == 1.5f);
    CHECK(__bfloat162float(nvshmem_bfloat16_g(&floats[0], pe.right)) == 0.25f);
    CHECK_EQ(nvshmemx_half_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, half_sums, halves, 2, stream), 0);
    CHECK(__half2float(half_sums[1]) == -2.0f * (float)pe.n);
    CHECK_EQ(nvshmemx_collective_launch(nullptr, dim3(1), dim3(1), nullptr, 0, stream), NVSHMEMX_ERROR_NOT_SUPPORTED);
    return pe_end();
}

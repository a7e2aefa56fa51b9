/* tests/cuda_gates/kernels.cu: kernels that call nvshmem.h, to be compiled by every CUDA compiler: one of each family,
 * and those whose code is counted (gates.py). */
#ifdef __CUDACC_RTC__
#include <nvshmem_device.h>
#else
#include <nvshmem.h>
#endif

extern "C" __global__ void count_p(int *dest, int pe) { nvshmem_int_p(dest + threadIdx.x, 7, pe); }

extern "C" __global__ void count_put_signal(char *dest, const char *source, size_t bytes, uint64_t *signal, int pe)
{
    nvshmemx_putmem_signal_block(dest, source, bytes, signal, 1, NVSHMEM_SIGNAL_SET, pe);
}

extern "C" __global__ void count_wait(uint64_t *signal) { nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, 5); }

extern "C" __global__ void rma(double *dest, const double *source, size_t n, int pe)
{
    nvshmem_double_put(dest, source, n, pe);
    nvshmemx_double_put_nbi_warp(dest, source, n, pe);
    nvshmemx_put128_block(dest, source, n, pe);
    nvshmem_double_get(dest, source, n, pe);
    nvshmemx_getmem_nbi_block(dest, source, n, pe);
    nvshmemx_double_iput_block(dest, source, 2, 3, n, pe);
    nvshmemx_iget64_warp(dest, source, 2, 3, n, pe);
    nvshmem_double_p(dest, nvshmem_double_g(source, pe), pe);
    nvshmemx_qp_double_put_block(dest, source, n, pe, NVSHMEMX_QP_ANY);
    nvshmem_fence();
    nvshmem_quiet();
    if (nvshmem_ptr(dest, pe) != NULL) *dest = nvshmem_my_pe() + nvshmem_n_pes();
}

extern "C" __global__ void half_precision(half *dest, const half *source, __nv_bfloat16 *other, int pe)
{
    nvshmem_half_p(dest, nvshmem_half_g(source, pe), pe);
    nvshmem_half_sum_reduce(NVSHMEM_TEAM_WORLD, dest, source, 4);
    nvshmemx_bfloat16_max_reduce_block(NVSHMEM_TEAM_WORLD, other, other, 4);
}

extern "C" __global__ void atomics(unsigned long *word, unsigned *narrow, float *real, int pe)
{
    nvshmem_ulong_atomic_inc(word, pe);
    nvshmem_ulong_atomic_add(word, nvshmem_ulong_atomic_fetch_add(word, 2, pe), pe);
    nvshmem_ulong_atomic_compare_swap(word, 1, 2, pe);
    nvshmem_uint_atomic_or(narrow, nvshmem_uint_atomic_fetch_xor(narrow, 1, pe), pe);
    nvshmem_uint_atomic_and(narrow, nvshmem_uint_atomic_fetch(narrow, pe), pe);
    nvshmem_float_atomic_set(real, nvshmem_float_atomic_swap(real, 1.0f, pe), pe);
}

extern "C" __global__ void waits(long *ivars, uint64_t *signal, size_t *indices, const int *status, size_t n)
{
    nvshmem_long_wait_until(ivars, NVSHMEM_CMP_GE, 3);
    nvshmem_long_wait_until_all(ivars, n, status, NVSHMEM_CMP_NE, 0);
    indices[0] = nvshmem_long_wait_until_any_vector(ivars, n, status, NVSHMEM_CMP_LT, ivars);
    indices[1] = nvshmem_long_test_some(ivars, n, indices, status, NVSHMEM_CMP_EQ, 1);
    indices[2] = nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GT, 4) + nvshmem_signal_fetch(signal);
    nvshmemx_signal_op(signal, 1, NVSHMEM_SIGNAL_ADD, 0);
}

extern "C" __global__ void collectives(nvshmem_team_t team, float *dest, const float *source, size_t n)
{
    nvshmem_barrier_all();
    nvshmemx_barrier_warpgroup(team);
    nvshmemx_sync_all_block();
    nvshmemx_float_broadcast_block(team, dest, source, n, 0);
    nvshmemx_float_fcollect_warp(team, dest, source, n);
    nvshmemx_alltoallmem_block(team, dest, source, n);
    nvshmemx_float_sum_reduce_block(team, dest, source, n);
    nvshmem_float_prod_reducescatter(team, dest, source, n);
    nvshmemx_double2_maxloc_reduce_block(team, (double2 *)dest, (const double2 *)source, n);
    if (nvshmem_team_translate_pe(team, nvshmem_team_my_pe(team), NVSHMEM_TEAM_WORLD) < 0) nvshmem_global_exit(1);
}

#if __cplusplus >= 201402L
typedef nvshmemx::Layout<nvshmemx::shape<ConstInt<8>, int>, nvshmemx::stride<ConstInt<1>, int>> layout_t;
typedef nvshmemx::Tensor<half, layout_t> tensor_t;
typedef nvshmemx::shape<int, int> coordinates_t;

extern "C" __global__ void tiles(nvshmem_team_t team, tensor_t dest, tensor_t source, int rows, int pe)
{
    auto start = nvshmemx::make_shape(0, (int)blockIdx.x), boundary = nvshmemx::make_shape(8, rows);
    nvshmemx::tile_put_block<tensor_t, tensor_t, coordinates_t, nvshmemx::tile_algo_t::REMOTE_PUSH_NBI>(
        source, dest, start, boundary, pe, 0);
    nvshmemx::tile_get<tensor_t, tensor_t, coordinates_t, nvshmemx::tile_algo_t::PEER_PULL_NBI>(source, dest, start,
                                                                                                boundary, pe, 0);
    nvshmemx::tile_sum_reduce_warpgroup<tensor_t, tensor_t, coordinates_t, nvshmemx::ISTHMUS_PULL_NBI>(
        team, source, dest, start, boundary, 0, 0);
    nvshmemx::tile_allgather_warp<tensor_t, tensor_t, coordinates_t, nvshmemx::ISTHMUS_PUSH_NBI>(team, source, dest,
                                                                                                 start, boundary, 0);
    nvshmemx::tile_collective_wait_block<nvshmemx::ISTHMUS_PUSH_NBI>(team, 0);
}
#endif

#ifndef __CUDACC_RTC__
/* The host's side of the same names. */
int on_the_host(int *dest)
{
    nvshmem_int_p(dest, 1, nvshmem_my_pe());
    nvshmem_quiet();
    return nvshmem_n_pes();
}
#endif

/* tests/hip_gates/rocshmem.hip: kernels in rocSHMEM's names, for hipcc: one of each family, and those whose code is
 * counted (gates.py), under the names of the same kernels of tests/cuda_gates/kernels.cu. */
#include <rocshmem/rocshmem.hpp>

using namespace rocshmem;

extern "C" __global__ void count_p(int *dest, int pe) { rocshmem_int_p(dest + threadIdx.x, 7, pe); }

extern "C" __global__ void count_put_signal(char *dest, const char *source, size_t bytes, uint64_t *signal, int pe)
{
    rocshmem_putmem_signal_wg(dest, source, bytes, signal, 1, ROCSHMEM_SIGNAL_SET, pe);
}

extern "C" __global__ void rma(double *dest, const double *source, size_t n, int pe)
{
    rocshmem_double_put(dest, source, n, pe);
    rocshmem_double_put_nbi_wave(dest, source, n, pe);
    rocshmem_ctx_putmem_wg(ROCSHMEM_CTX_DEFAULT, dest, source, n, pe);
    rocshmem_double_get(dest, source, n, pe);
    rocshmem_getmem_nbi_wg(dest, source, n, pe);
    rocshmem_double_p(dest, rocshmem_double_g(source, pe), pe);
    rocshmem_fence();
    rocshmem_quiet();
    if (rocshmem_ptr(dest, pe) != nullptr) *dest = rocshmem_my_pe() + rocshmem_n_pes();
}

extern "C" __global__ void atomics(unsigned long *word, unsigned *narrow, float *real, int pe)
{
    rocshmem_ulong_atomic_inc(word, pe);
    rocshmem_ulong_atomic_add(word, rocshmem_ulong_atomic_fetch_add(word, 2, pe), pe);
    rocshmem_ulong_atomic_compare_swap(word, 1, 2, pe);
    rocshmem_uint_atomic_or(narrow, rocshmem_uint_atomic_fetch_xor(narrow, 1, pe), pe);
    rocshmem_uint_atomic_and(narrow, rocshmem_uint_atomic_fetch(narrow, pe), pe);
    rocshmem_float_atomic_set(real, rocshmem_float_atomic_swap(real, 1.0f, pe), pe);
}

extern "C" __global__ void waits(long *ivars, uint64_t *signal, size_t *indices, const int *status, size_t n)
{
    rocshmem_long_wait_until(ivars, ROCSHMEM_CMP_GE, 3);
    rocshmem_long_wait_until_all(ivars, n, status, ROCSHMEM_CMP_NE, 0);
    indices[0] = rocshmem_long_wait_until_any_vector(ivars, n, status, ROCSHMEM_CMP_LT, ivars);
    indices[1] = (size_t)rocshmem_long_test(ivars, ROCSHMEM_CMP_EQ, 1);
    indices[2] = rocshmem_signal_wait_until(signal, ROCSHMEM_CMP_GT, 4) + rocshmem_signal_fetch(signal);
    rocshmem_signal_add(signal, 1, 0);
}

extern "C" __global__ void collectives(rocshmem_team_t team, float *dest, const float *source, size_t n)
{
    __shared__ rocshmem_ctx_t ctx;
    rocshmem_wg_init();
    rocshmem_wg_team_create_ctx(team, 0, &ctx);
    rocshmem_barrier_all();
    rocshmem_ctx_barrier_wave(ctx, team);
    rocshmem_sync_all_wg();
    rocshmem_ctx_float_broadcast_wg(ctx, team, dest, source, n, 0);
    rocshmem_ctx_float_fcollect_wg(ctx, team, dest, source, n);
    rocshmem_float_alltoall_wg(team, dest, source, n);
    rocshmem_ctx_float_sum_reduce_wg(ctx, team, dest, source, n);
    rocshmem_ctx_float_p(ctx, dest, 1.0f, rocshmem_team_translate_pe(team, 0, ROCSHMEM_TEAM_WORLD));
    rocshmem_fence(1);
    rocshmem_wg_ctx_destroy(&ctx);
    rocshmem_wg_finalize();
}

/* The host's side of the same names. */
int on_the_host(int *dest)
{
    rocshmem_int_p(dest, 1, rocshmem_my_pe());
    rocshmem_quiet();
    return rocshmem_n_pes();
}

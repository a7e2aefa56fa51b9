/* tests/bitcode/kernel.c: kernels as a compiler that links bitcode makes them: with the names of the routines, and
 * without any header. */
typedef unsigned long u64;

extern int nvshmem_my_pe(void);
extern int nvshmem_n_pes(void);
extern void *nvshmem_ptr(const void *dest, int pe);
extern void nvshmemx_putmem_signal_block(void *dest, const void *source, u64 bytes, u64 *sig_addr, u64 signal, int op,
                                         int pe);
extern u64 nvshmem_signal_wait_until(u64 *sig_addr, int cmp, u64 value);
extern void nvshmem_int_p(int *dest, int value, int pe);
extern int nvshmemx_float_sum_reduce_warp(int team, float *dest, const float *source, u64 n);
extern void nvshmem_quiet(void);
extern void nvshmemx_barrier_all_block(void);

void kernel_p(int *dest, int pe);
void kernel_p(int *dest, int pe) { nvshmem_int_p(dest, 7, pe); }

void kernel_put_signal(char *dest, const char *source, u64 bytes, u64 *signal);
void kernel_put_signal(char *dest, const char *source, u64 bytes, u64 *signal)
{
    int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    nvshmemx_putmem_signal_block(dest, source, bytes, signal, 1, 9, right);
    nvshmem_signal_wait_until(signal, 0, 1);
}

void kernel_more(float *dest, const float *source, u64 n);
void kernel_more(float *dest, const float *source, u64 n)
{
    nvshmemx_float_sum_reduce_warp(0, dest, source, n);
    if (nvshmem_ptr(dest, 0) != 0) nvshmem_quiet();
    nvshmemx_barrier_all_block();
}

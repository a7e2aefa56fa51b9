/* isthmus/device_entry.h: what a routine of nvshmem_device.h, ishmem_device.hpp or rocshmem_device.hpp calls: the
 * operations of device.h, with counts of elements in place of bytes. cmp and sig_op are numbered as in nvshmem.h.
 * Elements and results are passed by address, their size follows the arguments; the scope comes last. */
#ifndef ISTHMUS_DEVICE_ENTRY_H
#define ISTHMUS_DEVICE_ENTRY_H

#include <isthmus/device.h>

/* ---- elements by address ---- */

ISTHMUS_DEVICE uint64_t isthmus_kernel_bits(const void *value, size_t size)
{
    switch (size) {
    case 1: return *(const isthmus_u8 *)value;
    case 2: return *(const isthmus_u16 *)value;
    case 4: return *(const isthmus_u32 *)value;
    default: return *(const isthmus_u64 *)value;
    }
}

ISTHMUS_DEVICE void isthmus_kernel_result(void *result, uint64_t bits, size_t size)
{
    switch (size) {
    case 1: *(isthmus_u8 *)result = (uint8_t)bits; break;
    case 2: *(isthmus_u16 *)result = (uint16_t)bits; break;
    case 4: *(isthmus_u32 *)result = (uint32_t)bits; break;
    default: *(isthmus_u64 *)result = bits; break;
    }
}

/* ---- put and get ---- */

ISTHMUS_DEVICE void isthmus_kernel_put(void *dest, const void *source, size_t nelems, int pe, size_t size, int scope)
{
    isthmus_dev_put(dest, source, nelems * size, pe, scope, 0);
}

ISTHMUS_DEVICE void isthmus_kernel_put_nbi(void *dest, const void *source, size_t nelems, int pe, size_t size,
                                           int scope)
{
    isthmus_dev_put(dest, source, nelems * size, pe, scope, 1);
}

ISTHMUS_DEVICE void isthmus_kernel_get(void *dest, const void *source, size_t nelems, int pe, size_t size, int scope)
{
    isthmus_dev_get(dest, source, nelems * size, pe, scope, 0);
}

ISTHMUS_DEVICE void isthmus_kernel_get_nbi(void *dest, const void *source, size_t nelems, int pe, size_t size,
                                           int scope)
{
    isthmus_dev_get(dest, source, nelems * size, pe, scope, 1);
}

ISTHMUS_DEVICE void isthmus_kernel_p(void *dest, const void *value, int pe, size_t size, int scope)
{
    (void)scope;
    isthmus_dev_p(dest, isthmus_kernel_bits(value, size), size, pe);
}

ISTHMUS_DEVICE void isthmus_kernel_g(void *result, const void *source, int pe, size_t size, int scope)
{
    (void)scope;
    isthmus_kernel_result(result, isthmus_dev_g(source, size, pe), size);
}

ISTHMUS_DEVICE void isthmus_kernel_iput(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                                        int pe, size_t size, int scope)
{
    struct isthmus_dev_stride stride = {dst, sst, nelems, size};
    isthmus_dev_iput(dest, source, &stride, pe, scope);
}

ISTHMUS_DEVICE void isthmus_kernel_iget(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                                        int pe, size_t size, int scope)
{
    struct isthmus_dev_stride stride = {dst, sst, nelems, size};
    isthmus_dev_iget(dest, source, &stride, pe, scope);
}

ISTHMUS_DEVICE void isthmus_kernel_ibput(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                                         size_t nblocks, int pe, size_t size, int scope)
{
    struct isthmus_dev_stride stride = {dst, sst, nblocks, size};
    isthmus_dev_ibput(dest, source, &stride, bsize, pe, scope);
}

ISTHMUS_DEVICE void isthmus_kernel_ibget(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                                         size_t nblocks, int pe, size_t size, int scope)
{
    struct isthmus_dev_stride stride = {dst, sst, nblocks, size};
    isthmus_dev_ibget(dest, source, &stride, bsize, pe, scope);
}

/* ---- atomics ----
 * Nonblocking fetches are these too: they complete before they return. */

ISTHMUS_DEVICE void isthmus_kernel_fetch(void *result, const void *source, int pe, size_t size, int scope)
{
    struct isthmus_dev_amo amo = {ISTHMUS_DEV_AMO_FETCH, (uint32_t)size, 0, 0};
    (void)scope;
    isthmus_kernel_result(result, isthmus_dev_atomic((void *)(uintptr_t)source, amo, pe, 1), size);
}

ISTHMUS_DEVICE void isthmus_kernel_update(uint32_t op, void *dest, const void *value, int pe, size_t size, int scope)
{
    struct isthmus_dev_amo amo = {op, (uint32_t)size, isthmus_kernel_bits(value, size), 0};
    (void)scope;
    (void)isthmus_dev_atomic(dest, amo, pe, 0);
}

ISTHMUS_DEVICE void isthmus_kernel_fetch_update(uint32_t op, void *result, void *dest, const void *value, int pe,
                                                size_t size, int scope)
{
    struct isthmus_dev_amo amo = {op, (uint32_t)size, isthmus_kernel_bits(value, size), 0};
    (void)scope;
    isthmus_kernel_result(result, isthmus_dev_atomic(dest, amo, pe, 1), size);
}

ISTHMUS_DEVICE void isthmus_kernel_compare_swap(void *result, void *dest, const void *cond, const void *value, int pe,
                                                size_t size, int scope)
{
    struct isthmus_dev_amo amo = {ISTHMUS_DEV_AMO_COMPARE_SWAP, (uint32_t)size, isthmus_kernel_bits(value, size),
                                  isthmus_kernel_bits(cond, size)};
    (void)scope;
    isthmus_kernel_result(result, isthmus_dev_atomic(dest, amo, pe, 1), size);
}

ISTHMUS_DEVICE void isthmus_kernel_inc(void *dest, int pe, size_t size, int scope)
{
    struct isthmus_dev_amo amo = {ISTHMUS_DEV_AMO_ADD, (uint32_t)size, 1, 0};
    (void)scope;
    (void)isthmus_dev_atomic(dest, amo, pe, 0);
}

ISTHMUS_DEVICE void isthmus_kernel_fetch_inc(void *result, void *dest, int pe, size_t size, int scope)
{
    struct isthmus_dev_amo amo = {ISTHMUS_DEV_AMO_ADD, (uint32_t)size, 1, 0};
    (void)scope;
    isthmus_kernel_result(result, isthmus_dev_atomic(dest, amo, pe, 1), size);
}

/* Sums of real numbers: the bits are swapped until no other update came between. Those of 2 bytes are changed in the
 * aligned word that holds them. */
ISTHMUS_DEVICE_COLD uint64_t isthmus_kernel_real_sum(void *dest, uint64_t value, int pe, struct isthmus_dev_reduce how)
{
    unsigned shift = how.size == 2 ? 8 * (unsigned)((uintptr_t)dest & 2) : 0;
    uint32_t size = how.size == 8 ? 8 : 4;
    uint64_t mask = (how.size == 8 ? ~(uint64_t)0 : ((uint64_t)1 << (8 * how.size)) - 1) << shift;
    void *word = (char *)dest - shift / 8;
    struct isthmus_dev_amo amo = {ISTHMUS_DEV_AMO_FETCH, size, 0, 0};
    uint64_t seen = isthmus_dev_atomic(word, amo, pe, 1);
    amo.op = ISTHMUS_DEV_AMO_COMPARE_SWAP;
    do {
        amo.compare = seen;
        amo.operand = (seen & ~mask) | isthmus_dev_combine(how, (seen & mask) >> shift, value) << shift;
        seen = isthmus_dev_atomic(word, amo, pe, 1);
    } while (seen != amo.compare);
    return (seen & mask) >> shift;
}

ISTHMUS_DEVICE void isthmus_kernel_real_fetch_add(void *result, void *dest, const void *value, int pe, int number,
                                                  size_t size, int scope)
{
    struct isthmus_dev_reduce how = {ISTHMUS_DEV_SUM, number, size};
    (void)scope;
    isthmus_kernel_result(result, isthmus_kernel_real_sum(dest, isthmus_kernel_bits(value, size), pe, how), size);
}

ISTHMUS_DEVICE void isthmus_kernel_real_add(void *dest, const void *value, int pe, int number, size_t size, int scope)
{
    struct isthmus_dev_reduce how = {ISTHMUS_DEV_SUM, number, size};
    (void)scope;
    (void)isthmus_kernel_real_sum(dest, isthmus_kernel_bits(value, size), pe, how);
}

/* ---- signals ---- */

enum { ISTHMUS_KERNEL_SIGNAL_SET = 9, ISTHMUS_KERNEL_SIGNAL_ADD = 10 }; /* as nvshmem.h has them */

ISTHMUS_DEVICE struct isthmus_dev_signal isthmus_kernel_signal(uint64_t *sig_addr, uint64_t value, int sig_op)
{
    struct isthmus_dev_signal signal = {sig_addr, value, ISTHMUS_DEV_AMO_SET};
    if (sig_op == ISTHMUS_KERNEL_SIGNAL_ADD) signal.op = ISTHMUS_DEV_AMO_ADD;
    if (sig_op != ISTHMUS_KERNEL_SIGNAL_ADD && sig_op != ISTHMUS_KERNEL_SIGNAL_SET)
        isthmus_dev_misuse(ISTHMUS_CALL_SIGNAL, ISTHMUS_MISTAKE_SIGNAL_OP, sig_addr, sig_op);
    return signal;
}

ISTHMUS_DEVICE void isthmus_kernel_put_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                              uint64_t signal, int sig_op, int pe, size_t size, int scope)
{
    isthmus_dev_put_signal(dest, source, nelems * size, isthmus_kernel_signal(sig_addr, signal, sig_op), pe, scope, 0);
}

ISTHMUS_DEVICE void isthmus_kernel_put_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                                  uint64_t signal, int sig_op, int pe, size_t size, int scope)
{
    isthmus_dev_put_signal(dest, source, nelems * size, isthmus_kernel_signal(sig_addr, signal, sig_op), pe, scope, 1);
}

ISTHMUS_DEVICE void isthmus_kernel_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, int scope)
{
    (void)scope;
    isthmus_dev_signal_op(isthmus_kernel_signal(sig_addr, signal, sig_op), pe);
}

ISTHMUS_DEVICE void isthmus_kernel_signal_update(uint32_t op, uint64_t *sig_addr, uint64_t signal, int pe, int scope)
{
    struct isthmus_dev_signal change = {sig_addr, signal, op};
    (void)scope;
    isthmus_dev_signal_op(change, pe);
}

ISTHMUS_DEVICE void isthmus_kernel_signal_reset(uint64_t *sig_addr, int scope)
{
    isthmus_kernel_signal_update(ISTHMUS_DEV_AMO_SET, sig_addr, 0, isthmus_device_v1.me, scope);
}

ISTHMUS_DEVICE uint64_t isthmus_kernel_signal_fetch(const uint64_t *sig_addr, int scope)
{
    (void)scope;
    isthmus_dev_check_state(ISTHMUS_CALL_SIGNAL);
    uint64_t seen = isthmus_dev_load_acquire(sig_addr, 8);
    isthmus_dev_flush_writes();
    return seen;
}

ISTHMUS_DEVICE uint64_t isthmus_kernel_signal_wait(uint64_t *sig_addr, int cmp, uint64_t cmp_value, int scope)
{
    (void)scope;
    return isthmus_dev_wait(ISTHMUS_WAIT_SIGNAL, sig_addr, isthmus_dev_relations_of_nvshmem(cmp), cmp_value, 8, 0);
}

/* ---- wait and test ---- */

ISTHMUS_DEVICE void isthmus_kernel_wait_until(void *ivar, int cmp, const void *cmp_value, size_t size, int is_signed,
                                              int scope)
{
    (void)scope;
    (void)isthmus_dev_wait(ISTHMUS_WAIT_UNTIL, ivar, isthmus_dev_relations_of_nvshmem(cmp),
                           isthmus_kernel_bits(cmp_value, size), size, is_signed);
}

ISTHMUS_DEVICE int isthmus_kernel_test(void *ivar, int cmp, const void *cmp_value, size_t size, int is_signed,
                                       int scope)
{
    (void)scope;
    isthmus_dev_check_state(ISTHMUS_CALL_WAIT);
    return isthmus_dev_test(ivar, isthmus_dev_relations_of_nvshmem(cmp), isthmus_kernel_bits(cmp_value, size), size,
                            is_signed);
}

/* One value for all entries, or one for each. */
ISTHMUS_DEVICE struct isthmus_dev_set isthmus_kernel_set(const void *ivars, size_t nelems, const int *status, int cmp,
                                                         const void *values, size_t value_step)
{
    isthmus_dev_check_state(ISTHMUS_CALL_WAIT);
    struct isthmus_dev_set set = {ivars, nelems, status, values, value_step, 0, isthmus_dev_relations_of_nvshmem(cmp),
                                  0};
    return set;
}

ISTHMUS_DEVICE void isthmus_kernel_wait_all(void *ivars, size_t nelems, const int *status, int cmp,
                                            const void *cmp_value, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_value, 0);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    isthmus_dev_wait_all(&set);
}

ISTHMUS_DEVICE void isthmus_kernel_wait_all_vector(void *ivars, size_t nelems, const int *status, int cmp,
                                                   const void *cmp_values, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_values, size);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    isthmus_dev_wait_all(&set);
}

ISTHMUS_DEVICE size_t isthmus_kernel_wait_any(void *ivars, size_t nelems, const int *status, int cmp,
                                              const void *cmp_value, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_value, 0);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_wait_any(&set);
}

ISTHMUS_DEVICE size_t isthmus_kernel_wait_any_vector(void *ivars, size_t nelems, const int *status, int cmp,
                                                     const void *cmp_values, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_values, size);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_wait_any(&set);
}

ISTHMUS_DEVICE size_t isthmus_kernel_wait_some(void *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
                                               const void *cmp_value, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_value, 0);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_wait_some(&set, indices);
}

ISTHMUS_DEVICE size_t isthmus_kernel_wait_some_vector(void *ivars, size_t nelems, size_t *indices, const int *status,
                                                      int cmp, const void *cmp_values, size_t size, int is_signed,
                                                      int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_values, size);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_wait_some(&set, indices);
}

ISTHMUS_DEVICE int isthmus_kernel_test_all(void *ivars, size_t nelems, const int *status, int cmp,
                                           const void *cmp_value, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_value, 0);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_test_all(&set);
}

ISTHMUS_DEVICE int isthmus_kernel_test_all_vector(void *ivars, size_t nelems, const int *status, int cmp,
                                                  const void *cmp_values, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_values, size);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_test_all(&set);
}

ISTHMUS_DEVICE size_t isthmus_kernel_test_any(void *ivars, size_t nelems, const int *status, int cmp,
                                              const void *cmp_value, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_value, 0);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_test_any(&set);
}

ISTHMUS_DEVICE size_t isthmus_kernel_test_any_vector(void *ivars, size_t nelems, const int *status, int cmp,
                                                     const void *cmp_values, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_values, size);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_test_any(&set);
}

ISTHMUS_DEVICE size_t isthmus_kernel_test_some(void *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
                                               const void *cmp_value, size_t size, int is_signed, int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_value, 0);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_test_some(&set, indices);
}

ISTHMUS_DEVICE size_t isthmus_kernel_test_some_vector(void *ivars, size_t nelems, size_t *indices, const int *status,
                                                      int cmp, const void *cmp_values, size_t size, int is_signed,
                                                      int scope)
{
    struct isthmus_dev_set set = isthmus_kernel_set(ivars, nelems, status, cmp, cmp_values, size);
    (void)scope;
    set.size = size, set.is_signed = is_signed;
    return isthmus_dev_test_some(&set, indices);
}

/* ---- collectives ---- */

ISTHMUS_DEVICE int isthmus_kernel_barrier(int32_t team, int scope) { return isthmus_dev_barrier_of(team, scope); }
ISTHMUS_DEVICE int isthmus_kernel_team_sync(int32_t team, int scope) { return isthmus_dev_sync(team, scope); }
ISTHMUS_DEVICE void isthmus_kernel_barrier_all(int scope) { (void)isthmus_dev_barrier_of(0, scope); }
ISTHMUS_DEVICE void isthmus_kernel_sync_all(int scope) { (void)isthmus_dev_sync(0, scope); }

ISTHMUS_DEVICE int isthmus_kernel_broadcast(int32_t team, void *dest, const void *source, size_t nelems, int root,
                                            size_t size, int scope)
{
    return isthmus_dev_broadcast(team, dest, source, nelems * size, root, scope);
}

ISTHMUS_DEVICE int isthmus_kernel_fcollect(int32_t team, void *dest, const void *source, size_t nelems, size_t size,
                                           int scope)
{
    return isthmus_dev_fcollect(team, dest, source, nelems * size, scope);
}

ISTHMUS_DEVICE int isthmus_kernel_alltoall(int32_t team, void *dest, const void *source, size_t nelems, size_t size,
                                           int scope)
{
    return isthmus_dev_alltoall(team, dest, source, nelems * size, scope);
}

ISTHMUS_DEVICE int isthmus_kernel_collect(int32_t team, void *dest, const void *source, size_t nelems, size_t size,
                                          int scope)
{
    return isthmus_dev_collect(team, dest, source, nelems * size, scope);
}

ISTHMUS_DEVICE int isthmus_kernel_scan(int is_inclusive, int32_t team, void *dest, const void *source, size_t nelems,
                                       int number, size_t size, int scope)
{
    struct isthmus_dev_reduce how = {ISTHMUS_DEV_SUM, number, size};
    return isthmus_dev_scan(team, dest, source, nelems, how, is_inclusive, scope);
}

ISTHMUS_DEVICE int isthmus_kernel_reduce(int op, int32_t team, void *dest, const void *source, size_t nreduce,
                                         int number, size_t size, int scope)
{
    struct isthmus_dev_reduce how = {op, number, size};
    return isthmus_dev_reduce(team, dest, source, nreduce, how, scope);
}

ISTHMUS_DEVICE int isthmus_kernel_reducescatter(int op, int32_t team, void *dest, const void *source, size_t nreduce,
                                                int number, size_t size, int scope)
{
    struct isthmus_dev_reduce how = {op, number, size};
    return isthmus_dev_reducescatter(team, dest, source, nreduce, how, scope);
}

/* ---- order, PEs and addresses ---- */

ISTHMUS_DEVICE void isthmus_kernel_fence(int scope)
{
    isthmus_dev_check_state(ISTHMUS_CALL_FENCE);
    isthmus_dev_order(scope);
}

ISTHMUS_DEVICE void isthmus_kernel_quiet(int scope)
{
    isthmus_dev_check_state(ISTHMUS_CALL_QUIET);
    isthmus_dev_quiet(scope);
}

/* The ring has one request for both halves of a quiet. */
ISTHMUS_DEVICE void isthmus_kernel_local_complete(int scope) { isthmus_kernel_quiet(scope); }

/* Operations are not counted by PE: those to all PEs are completed. */
ISTHMUS_DEVICE void isthmus_kernel_pe_quiet(const int *target_pes, size_t npes, int scope)
{
    (void)target_pes;
    if (npes > 0) isthmus_kernel_quiet(scope);
}

ISTHMUS_DEVICE int isthmus_kernel_my_pe(int scope)
{
    (void)scope;
    isthmus_dev_check_state(ISTHMUS_CALL_MY_PE);
    return isthmus_device_v1.me;
}

ISTHMUS_DEVICE int isthmus_kernel_n_pes(int scope)
{
    (void)scope;
    isthmus_dev_check_state(ISTHMUS_CALL_N_PES);
    return isthmus_device_v1.n;
}

ISTHMUS_DEVICE int isthmus_kernel_team_my_pe(int32_t team, int scope)
{
    (void)scope;
    return isthmus_dev_team_my_pe(team);
}

ISTHMUS_DEVICE int isthmus_kernel_team_n_pes(int32_t team, int scope)
{
    (void)scope;
    return isthmus_dev_team_n_pes(team);
}

ISTHMUS_DEVICE int isthmus_kernel_team_translate_pe(int32_t src_team, int src_pe, int32_t dest_team, int scope)
{
    (void)scope;
    return isthmus_dev_team_translate(src_team, src_pe, dest_team);
}

ISTHMUS_DEVICE void *isthmus_kernel_device_ptr(const void *dest, int pe, int scope)
{
    (void)scope;
    return isthmus_dev_ptr(dest, pe);
}

#endif

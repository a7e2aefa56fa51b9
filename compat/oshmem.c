/* compat/oshmem.c: what Open MPI's shmem.h and shmemx.h declare and ours do not: handles that are variables, names from
 * before OpenSHMEM, bitwise atomics of signed types, and shmemx_ names of types with a fixed size. */
#include "compat/oshmem.h"

#include <stdint.h>

extern shmem_ctx_t oshmem_ctx_default;
extern shmem_team_t oshmem_team_world, oshmem_team_shared;
shmem_ctx_t oshmem_ctx_default = SHMEM_CTX_DEFAULT;
shmem_team_t oshmem_team_world = SHMEM_TEAM_WORLD, oshmem_team_shared = SHMEM_TEAM_SHARED; /* of Open MPI 5 */

int my_pe(void);
int num_pes(void);
void globalexit(int status);
int my_pe(void) { return shmem_my_pe(); }
int num_pes(void) { return shmem_n_pes(); }
void globalexit(int status) { shmem_global_exit(status); }

/* NOLINTBEGIN(bugprone-macro-parentheses): types are arguments of the macros below */

/* ---- bitwise atomics: those of the unsigned type of the same size ---- */

#define BITWISE(prefix, name, type, real, real_type, op)                                        \
    void prefix##_##name##_atomic_##op(type *dest, type value, int pe);                         \
    void prefix##_##name##_atomic_##op(type *dest, type value, int pe)                          \
    {                                                                                           \
        shmem_##real##_atomic_##op((real_type *)dest, (real_type)value, pe);                    \
    }                                                                                           \
    type prefix##_##name##_atomic_fetch_##op(type *dest, type value, int pe);                   \
    type prefix##_##name##_atomic_fetch_##op(type *dest, type value, int pe)                    \
    {                                                                                           \
        return (type)shmem_##real##_atomic_fetch_##op((real_type *)dest, (real_type)value, pe); \
    }

#define BITWISE_CTX(name, type, real, real_type, op)                                                     \
    void shmem_ctx_##name##_atomic_##op(shmem_ctx_t ctx, type *dest, type value, int pe);                \
    void shmem_ctx_##name##_atomic_##op(shmem_ctx_t ctx, type *dest, type value, int pe)                 \
    {                                                                                                    \
        shmem_ctx_##real##_atomic_##op(ctx, (real_type *)dest, (real_type)value, pe);                    \
    }                                                                                                    \
    type shmem_ctx_##name##_atomic_fetch_##op(shmem_ctx_t ctx, type *dest, type value, int pe);          \
    type shmem_ctx_##name##_atomic_fetch_##op(shmem_ctx_t ctx, type *dest, type value, int pe)           \
    {                                                                                                    \
        return (type)shmem_ctx_##real##_atomic_fetch_##op(ctx, (real_type *)dest, (real_type)value, pe); \
    }

#define EACH_BITWISE(form, ...) form(__VA_ARGS__, and) form(__VA_ARGS__, or) form(__VA_ARGS__, xor)

EACH_BITWISE(BITWISE, shmem, int, int, uint, unsigned)
EACH_BITWISE(BITWISE, shmem, long, long, ulong, unsigned long)
EACH_BITWISE(BITWISE, shmem, longlong, long long, ulonglong, unsigned long long)
EACH_BITWISE(BITWISE_CTX, int, int, uint, unsigned)
EACH_BITWISE(BITWISE_CTX, long, long, ulong, unsigned long)
EACH_BITWISE(BITWISE_CTX, longlong, long long, ulonglong, unsigned long long)
EACH_BITWISE(BITWISE, shmemx, int32, int32_t, uint32, uint32_t)
EACH_BITWISE(BITWISE, shmemx, int64, int64_t, uint64, uint64_t)
EACH_BITWISE(BITWISE, shmemx, uint32, uint32_t, uint32, uint32_t)
EACH_BITWISE(BITWISE, shmemx, uint64, uint64_t, uint64, uint64_t)

/* ---- types with a fixed size; hints of memory are only hints ---- */

#define ALIAS(returns, name, parameters, call) \
    returns shmemx_##name parameters;          \
    returns shmemx_##name parameters { return call; }
#define ALIAS_VOID(name, parameters, call) \
    void shmemx_##name parameters;         \
    void shmemx_##name parameters { call; }

ALIAS(void *, malloc_with_hint, (size_t size, long hint), ((void)hint, shmem_malloc(size)))

#define ELEMENT(name, type)                                                                    \
    ALIAS_VOID(name##_p, (type * dest, type value, int pe), shmem_##name##_p(dest, value, pe)) \
    ALIAS(type, name##_g, (const type *source, int pe), shmem_##name##_g(source, pe))

#define ATOMICS(name, type)                                                                                        \
    ALIAS_VOID(name##_set, (type * dest, type value, int pe), shmem_##name##_atomic_set(dest, value, pe))          \
    ALIAS_VOID(name##_add, (type * dest, type value, int pe), shmem_##name##_atomic_add(dest, value, pe))          \
    ALIAS_VOID(name##_inc, (type * dest, int pe), shmem_##name##_atomic_inc(dest, pe))                             \
    ALIAS(type, name##_fetch, (const type *source, int pe), shmem_##name##_atomic_fetch(source, pe))               \
    ALIAS(type, name##_finc, (type * dest, int pe), shmem_##name##_atomic_fetch_inc(dest, pe))                     \
    ALIAS(type, name##_fadd, (type * dest, type value, int pe), shmem_##name##_atomic_fetch_add(dest, value, pe))  \
    ALIAS(type, name##_swap, (type * dest, type value, int pe), shmem_##name##_atomic_swap(dest, value, pe))       \
    ALIAS(type, name##_cswap, (type * dest, type cond, type value, int pe),                                        \
          shmem_##name##_atomic_compare_swap(dest, cond, value, pe))                                               \
    ALIAS_VOID(name##_wait_until, (type * ivar, int cmp, type value), shmem_##name##_wait_until(ivar, cmp, value)) \
    ALIAS_VOID(name##_wait, (type * ivar, type value), shmem_##name##_wait_until(ivar, OMPI_CMP_NE, value))

#define REDUCTION(name, type, real, op)                                                                                \
    ALIAS_VOID(name##_##op##_to_all,                                                                                   \
               (type * dest, const type *source, int nreduce, int PE_start, int logPE_stride, int PE_size, type *pWrk, \
                long *pSync),                                                                                          \
               shmem_##real##_##op##_to_all(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync))
#define REDUCTIONS(...)                  \
    EACH_BITWISE(REDUCTION, __VA_ARGS__) \
    REDUCTION(__VA_ARGS__, max) REDUCTION(__VA_ARGS__, min) REDUCTION(__VA_ARGS__, sum) REDUCTION(__VA_ARGS__, prod)

/* NOLINTEND(bugprone-macro-parentheses) */

ELEMENT(int16, int16_t)
ELEMENT(int32, int32_t)
ELEMENT(int64, int64_t)
ATOMICS(int32, int32_t)
ATOMICS(int64, int64_t)
REDUCTIONS(int16, int16_t, short)
REDUCTIONS(int32, int32_t, int)
REDUCTIONS(int64, int64_t, long)

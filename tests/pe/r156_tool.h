/* tests/pe/r156_tool.h: the routines that the tool of r156 counts, and how the program queries it.
 * ROUTINE(returns, name, (parameters), (arguments)); VOID_ROUTINE for those that return nothing. */
#include <stddef.h>

enum { TOOL_ROUTINES = 22 };

/* How often the routine was called through the tool; -1: it does not count that one. */
typedef int tool_count_fn(const char *routine);

#define TOOL_LIST                                                                                           \
    VOID_ROUTINE(shmem_init, (void), ())                                                                    \
    VOID_ROUTINE(shmem_finalize, (void), ())                                                                \
    ROUTINE(int, shmem_my_pe, (void), ())                                                                   \
    ROUTINE(int, shmem_n_pes, (void), ())                                                                   \
    ROUTINE(void *, shmem_malloc, (size_t size), (size))                                                    \
    VOID_ROUTINE(shmem_free, (void *ptr), (ptr))                                                            \
    ROUTINE(void *, shmem_ptr, (const void *dest, int pe), (dest, pe))                                      \
    VOID_ROUTINE(shmem_barrier_all, (void), ())                                                             \
    VOID_ROUTINE(shmem_sync_all, (void), ())                                                                \
    ROUTINE(int, shmem_team_sync, (shmem_team_t team), (team))                                              \
    ROUTINE(int, shmem_team_my_pe, (shmem_team_t team), (team))                                             \
    VOID_ROUTINE(shmem_quiet, (void), ())                                                                   \
    VOID_ROUTINE(shmem_fence, (void), ())                                                                   \
    VOID_ROUTINE(shmem_long_p, (long *dest, long value, int pe), (dest, value, pe))                         \
    ROUTINE(long, shmem_long_g, (const long *source, int pe), (source, pe))                                 \
    VOID_ROUTINE(shmem_putmem, (void *dest, const void *source, size_t n, int pe), (dest, source, n, pe))   \
    VOID_ROUTINE(shmem_long_get, (long *dest, const long *source, size_t n, int pe), (dest, source, n, pe)) \
    ROUTINE(long, shmem_long_atomic_fetch_add, (long *dest, long value, int pe), (dest, value, pe))         \
    VOID_ROUTINE(shmem_long_atomic_set, (long *dest, long value, int pe), (dest, value, pe))                \
    VOID_ROUTINE(shmem_long_wait_until, (long *ivar, int cmp, long value), (ivar, cmp, value))              \
    ROUTINE(int, shmem_long_sum_reduce, (shmem_team_t team, long *dest, const long *source, size_t n),      \
            (team, dest, source, n))                                                                        \
    VOID_ROUTINE(shmem_set_lock, (long *lock), (lock))

/* core/api/coll_entry.h: entry functions of the collectives: elements become bytes, active sets become teams.
 * A NULL team comes from an invalid handle; the routines then do nothing and return nonzero. */
#ifndef IST_API_COLL_ENTRY_H
#define IST_API_COLL_ENTRY_H

#include "core/api/rma_entry.h"
#include "core/api/team_entry.h"
#include "core/base/fatal.h"
#include "core/coll/coll.h"
#include "core/coll/split.h"
#include "core/coll/sync.h"

#include <limits.h>

#define IST_CHAR (CHAR_MIN < 0 ? IST_S8 : IST_U8)

/* ---- on teams ---- */

static inline int ist_entry_broadcast(struct ist_team *team, void *dest, const void *source, size_t nelems, int root,
                                      size_t size, const char *routine)
{
    return ist_broadcast(team, dest, source, ist_bytes_of(nelems, size, routine), root, IST_BROADCAST_TO_ALL, routine);
}

static inline int ist_entry_collect(struct ist_team *team, void *dest, const void *source, size_t nelems, size_t size,
                                    const char *routine)
{
    return ist_collect(team, dest, source, ist_bytes_of(nelems, size, routine), routine);
}

static inline int ist_entry_fcollect(struct ist_team *team, void *dest, const void *source, size_t nelems, size_t size,
                                     const char *routine)
{
    return ist_fcollect(team, dest, source, ist_bytes_of(nelems, size, routine), routine);
}

static inline int ist_entry_alltoall(struct ist_team *team, void *dest, const void *source, size_t nelems, size_t size,
                                     const char *routine)
{
    return ist_alltoall(team, dest, source, ist_bytes_of(nelems, size, routine), routine);
}

static inline int ist_entry_alltoalls(struct ist_team *team, void *dest, const void *source, ptrdiff_t dst,
                                      ptrdiff_t sst, size_t nelems, size_t size, const char *routine)
{
    return ist_alltoalls(team, dest, source, &(struct ist_stride){dst, sst, 1, nelems, size}, routine);
}

static inline int ist_entry_reduce(enum ist_combine_op op, struct ist_team *team, void *dest, const void *source,
                                   size_t nelems, enum ist_combine_type type, const char *routine)
{
    return ist_reduce(team, dest, source, nelems, op, type, routine);
}

static inline int ist_entry_reducescatter(enum ist_combine_op op, struct ist_team *team, void *dest, const void *source,
                                          size_t nelems, enum ist_combine_type type, const char *routine)
{
    return ist_reducescatter(team, dest, source, nelems, op, type, routine);
}

static inline int ist_entry_scan(bool is_inclusive, struct ist_team *team, void *dest, const void *source,
                                 size_t nelems, enum ist_combine_type type, const char *routine)
{
    return ist_scan(team, dest, source, nelems, is_inclusive, type, routine);
}

/* ---- on active sets ---- */

_Static_assert(SHMEM_SYNC_SIZE * sizeof(long) >= IST_TEAM_AREA_BYTES, "the teams of active sets meet on pSync");

static inline void ist_entry_broadcast_set(void *dest, const void *source, size_t nelems, int root, int start,
                                           int log2_stride, int n, long *pSync, size_t size, const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_broadcast(set.team, dest, source, ist_bytes_of(nelems, size, routine), root, IST_BROADCAST_NOT_TO_ROOT,
                        routine);
    ist_active_set_end(&set, routine);
}

static inline void ist_entry_collect_set(void *dest, const void *source, size_t nelems, int start, int log2_stride,
                                         int n, long *pSync, size_t size, const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_collect(set.team, dest, source, ist_bytes_of(nelems, size, routine), routine);
    ist_active_set_end(&set, routine);
}

static inline void ist_entry_fcollect_set(void *dest, const void *source, size_t nelems, int start, int log2_stride,
                                          int n, long *pSync, size_t size, const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_fcollect(set.team, dest, source, ist_bytes_of(nelems, size, routine), routine);
    ist_active_set_end(&set, routine);
}

static inline void ist_entry_alltoall_set(void *dest, const void *source, size_t nelems, int start, int log2_stride,
                                          int n, long *pSync, size_t size, const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_alltoall(set.team, dest, source, ist_bytes_of(nelems, size, routine), routine);
    ist_active_set_end(&set, routine);
}

static inline void ist_entry_alltoalls_set(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                                           int start, int log2_stride, int n, long *pSync, size_t size,
                                           const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_alltoalls(set.team, dest, source, &(struct ist_stride){dst, sst, 1, nelems, size}, routine);
    ist_active_set_end(&set, routine);
}

/* Counts are int here, and the work array is not needed. */
static inline void ist_entry_to_all(enum ist_combine_op op, void *dest, const void *source, int nreduce, int start,
                                    int log2_stride, int n, void *pWrk, long *pSync, enum ist_combine_type type,
                                    const char *routine)
{
    (void)pWrk;
    if (nreduce < 0) ist_misuse(routine, "nreduce is %d; valid: 0 and more", nreduce);
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_reduce(set.team, dest, source, (size_t)nreduce, op, type, routine);
    ist_active_set_end(&set, routine);
}

/* ---- barrier and sync ---- */

static inline void ist_entry_sync_all(const char *routine) { (void)ist_meet(ist_team_of_all(routine), routine); }

static inline int ist_entry_team_sync(struct ist_team *team, const char *routine) { return ist_meet(team, routine); }

static inline int ist_entry_barrier(struct ist_team *team, const char *routine) { return ist_barrier(team, routine); }

static inline void ist_entry_sync_set(int start, int log2_stride, int n, long *pSync, const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_meet(set.team, routine);
    ist_active_set_end(&set, routine);
}

static inline void ist_entry_barrier_set(int start, int log2_stride, int n, long *pSync, const char *routine)
{
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_entry_barrier(set.team, routine);
    ist_active_set_end(&set, routine);
}

#endif

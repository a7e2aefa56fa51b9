/* core/api/coll_entry.c: the rest of coll_entry.h. */
#include "core/api/coll_entry.h"

#include "core/base/fatal.h"

_Static_assert(SHMEM_SYNC_SIZE * sizeof(long) >= IST_TEAM_AREA_BYTES, "the teams of active sets meet on pSync");

void ist_entry_to_all(enum ist_combine_op op, void *dest, const void *source, int nreduce, int start, int log2_stride,
                      int n, void *pWrk, long *pSync, enum ist_combine_type type, const char *routine)
{
    (void)pWrk;
    if (nreduce < 0) ist_misuse(routine, "nreduce is %d; valid: 0 and more", nreduce);
    struct ist_active_set set;
    ist_active_set_begin(&set, (const int[]){start, log2_stride, n}, pSync, routine);
    (void)ist_reduce(set.team, dest, source, (size_t)nreduce, op, type, routine);
    ist_active_set_end(&set, routine);
}

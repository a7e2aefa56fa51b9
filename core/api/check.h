/* core/api/check.h: argument checks of routines that do not go through a context: an inline test, a cold report.
 * Those of RMA and AMO are part of their slow path (core/ops/target.h). */
#ifndef IST_API_CHECK_H
#define IST_API_CHECK_H

#include "core/ops/target.h"
#include "core/sync/wait.h"
#include "core/transport/route.h"

bool ist_report_wait(const void *ivar, int cmp, size_t size, const char *routine) IST_COLD;
void ist_check_wait_set(const void *ivars, size_t nelems, int cmp, const void *values, size_t size,
                        const char *routine);
void ist_check_indices(const size_t *indices, size_t nelems, const char *routine);

/* A wait's variable is an aligned symmetric element and cmp one of the constants. Can it be loaded? */
static inline bool ist_check_wait(const void *ivar, int cmp, size_t size, const char *routine)
{
    unsigned log2_size = size == 2 ? 1 : size == 4 ? 2 : 3;
    if (IST_UNLIKELY((unsigned)cmp >= IST_CMP_COUNT || ist_column_of_element((uintptr_t)ivar, log2_size) == 0))
        return ist_report_wait(ivar, cmp, size, routine);
    return true;
}

#endif

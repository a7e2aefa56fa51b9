/* core/api/check.c: the cold halves of check.h. */
#include "core/api/check.h"

#include "core/base/fatal.h"

static void check_cmp(int cmp, const char *routine)
{
    if ((unsigned)cmp >= IST_CMP_COUNT)
        ist_misuse(routine, "cmp is %d; valid: SHMEM_CMP_EQ (%d) to SHMEM_CMP_LE (%d)", cmp, IST_CMP_EQ, IST_CMP_LE);
}

/* Returns when the variable is symmetric after all: in a segment that the fast check does not know. False: the processor must
 * not touch it. */
bool ist_report_wait(const void *ivar, int cmp, size_t size, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    check_cmp(cmp, routine);
    ist_require_symmetric(routine, "ivar", ivar, size, size);
    return !ist_is_on_device(ivar);
}

void ist_check_wait_set(const void *ivars, size_t nelems, int cmp, const void *values, size_t size, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    check_cmp(cmp, routine);
    if (nelems == 0) return;
    ist_require_symmetric(routine, "ivars", ivars, ist_require_length(routine, "nelems", nelems, size), size);
    ist_require_buffer(routine, "cmp_values", values);
}

void ist_check_indices(const size_t *indices, size_t nelems, const char *routine)
{
    if (nelems > 0) ist_require_buffer(routine, "indices", indices);
}

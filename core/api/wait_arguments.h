/* core/api/wait_arguments.h: the arguments of waits and tests, which go through no context: an inline test, a cold
 * rest. Those of RMA and AMO are part of their slow path (core/ops/target.h). */
#ifndef IST_API_WAIT_ARGUMENTS_H
#define IST_API_WAIT_ARGUMENTS_H

#include "core/ops/target.h"
#include "core/sync/wait.h"
#include "core/transport/flush.h"
#include "core/transport/route.h"

/* The whole routine for calls that fail the inline test: a mistake, a segment that the test does not know, a PE whose
 * waits flush the writes of transports, or ISTHMUS_CHECK, which checks the value that the wait ends with. */
uint64_t ist_wait_slow(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed, const char *routine)
    IST_COLD;
uint64_t ist_load_slow(const void *ivar, size_t size, const char *routine) IST_COLD;
int ist_test_slow(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed, const char *routine) IST_COLD;
void ist_check_wait_set(const struct ist_wait_set *set);
void ist_check_indices(const size_t *indices, size_t nelems, const char *routine);

/* A wait's variable is an aligned symmetric element and cmp one of the constants, in a PE whose waits have nothing to
 * flush. */
static inline bool ist_is_plain_wait(const void *ivar, int cmp, size_t size)
{
    return IST_LIKELY((unsigned)cmp < ist_plain_comparisons() &&
                      ist_column_of_element((uintptr_t)ivar, isthmus_log2_(size)) != 0);
}

#endif

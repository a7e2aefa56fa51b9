/* core/api/sync_entry.h: entry functions of the typed wait and test, whose arguments are checked here, and of ordering
 * calls. */
#ifndef IST_API_SYNC_ENTRY_H
#define IST_API_SYNC_ENTRY_H

#include "core/api/constants.h"
#include "core/ops/region.h"
#include "core/ops/target.h"
#include "core/sync/wait.h"
#include "core/transport/memory.h"
#include "core/transport/route.h"

/* ---- the arguments of waits and tests, which go through no context: an inline test, a cold rest ----
 * Those of RMA and AMO are part of their slow path (core/ops/target.h). */

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

#define IST_IS_SIGNED(type) ((type)-1 < (type)1)

static inline void ist_entry_wait_until(const void *ivar, int cmp, const void *value, size_t size, bool is_signed,
                                        const char *routine)
{
    if (ist_is_plain_wait(ivar, cmp, size))
        (void)ist_wait_for(ivar, cmp, isthmus_bits_of_(value, size), size, is_signed, routine);
    else
        (void)ist_wait_slow(ivar, cmp, isthmus_bits_of_(value, size), size, is_signed, routine);
}

static inline int ist_entry_test(const void *ivar, int cmp, const void *value, size_t size, bool is_signed,
                                 const char *routine)
{
    if (!ist_is_plain_wait(ivar, cmp, size))
        return ist_test_slow(ivar, cmp, isthmus_bits_of_(value, size), size, is_signed, routine);
    bool holds = ist_compare(cmp, ist_wait_load(ivar, size), isthmus_bits_of_(value, size), size, is_signed);
    if (!holds) ist_region_post(); /* a loop of tests is a wait */
    return holds;
}

/* The deprecated forms: return when the variable is no longer `value`. */
static inline void ist_entry_wait_change(const void *ivar, const void *value, size_t size, bool is_signed,
                                         const char *routine)
{
    ist_entry_wait_until(ivar, IST_CMP_NE, value, size, is_signed, routine);
}

static inline uint64_t ist_entry_signal_fetch(const uint64_t *sig_addr, const char *routine)
{
    if (!ist_is_plain_wait(sig_addr, IST_CMP_EQ, sizeof *sig_addr))
        return ist_load_slow(sig_addr, sizeof *sig_addr, routine);
    ist_region_post(); /* as in a test */
    return ist_wait_load(sig_addr, sizeof *sig_addr);
}

static inline uint64_t ist_entry_signal_wait(const uint64_t *sig_addr, int cmp, uint64_t value, const char *routine)
{
    if (!ist_is_plain_wait(sig_addr, cmp, sizeof *sig_addr))
        return ist_wait_slow(sig_addr, cmp, value, sizeof *sig_addr, false, routine);
    return ist_wait_for(sig_addr, cmp, value, sizeof *sig_addr, false, routine);
}

static inline void ist_entry_wait_all(const void *ivars, size_t nelems, const int *status, int cmp, const void *values,
                                      size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, false, size, is_signed, routine};
    ist_check_wait_set(&set);
    ist_set_wait_all(&set);
}

static inline size_t ist_entry_wait_any(const void *ivars, size_t nelems, const int *status, int cmp,
                                        const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, false, size, is_signed, routine};
    ist_check_wait_set(&set);
    return ist_set_wait_any(&set);
}

static inline size_t ist_entry_wait_some(const void *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
                                         const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, false, size, is_signed, routine};
    ist_check_wait_set(&set);
    ist_check_indices(indices, nelems, routine);
    return ist_set_wait_some(&set, indices);
}

static inline void ist_entry_wait_all_vector(const void *ivars, size_t nelems, const int *status, int cmp,
                                             const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    ist_check_wait_set(&set);
    ist_set_wait_all(&set);
}

static inline size_t ist_entry_wait_any_vector(const void *ivars, size_t nelems, const int *status, int cmp,
                                               const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    ist_check_wait_set(&set);
    return ist_set_wait_any(&set);
}

static inline size_t ist_entry_wait_some_vector(const void *ivars, size_t nelems, size_t *indices, const int *status,
                                                int cmp, const void *values, size_t size, bool is_signed,
                                                const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    ist_check_wait_set(&set);
    ist_check_indices(indices, nelems, routine);
    return ist_set_wait_some(&set, indices);
}

static inline int ist_entry_test_all(const void *ivars, size_t nelems, const int *status, int cmp, const void *values,
                                     size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, false, size, is_signed, routine};
    ist_check_wait_set(&set);
    return ist_set_test_all(&set);
}

static inline size_t ist_entry_test_any(const void *ivars, size_t nelems, const int *status, int cmp,
                                        const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, false, size, is_signed, routine};
    ist_check_wait_set(&set);
    return ist_set_test_any(&set);
}

static inline size_t ist_entry_test_some(const void *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
                                         const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, false, size, is_signed, routine};
    ist_check_wait_set(&set);
    ist_check_indices(indices, nelems, routine);
    return ist_set_test_some(&set, indices);
}

static inline int ist_entry_test_all_vector(const void *ivars, size_t nelems, const int *status, int cmp,
                                            const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    ist_check_wait_set(&set);
    return ist_set_test_all(&set);
}

static inline size_t ist_entry_test_any_vector(const void *ivars, size_t nelems, const int *status, int cmp,
                                               const void *values, size_t size, bool is_signed, const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    ist_check_wait_set(&set);
    return ist_set_test_any(&set);
}

static inline size_t ist_entry_test_some_vector(const void *ivars, size_t nelems, size_t *indices, const int *status,
                                                int cmp, const void *values, size_t size, bool is_signed,
                                                const char *routine)
{
    const struct ist_wait_set set = {ivars, nelems, status, cmp, values, true, size, is_signed, routine};
    ist_check_wait_set(&set);
    ist_check_indices(indices, nelems, routine);
    return ist_set_test_some(&set, indices);
}

/* ---- ordering calls that core/ops/order.h does not provide directly ---- */

/* Quiet at least for the listed members of the context's team: for all of them, which is allowed. */
void ist_entry_pe_quiet(ist_ctx *ctx, const int *target_pes, size_t npes, const char *routine);

/* Everything that is locally complete, on any context of any member, is visible to all. */
void ist_entry_team_remote_commit(struct ist_team *team, const char *routine);

#endif

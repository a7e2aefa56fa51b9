/* core/api/sync_entry.c: see sync_entry.h: the whole routine where the inline test of a wait fails, and ordering calls.
 * */
#include "core/api/sync_entry.h"

#include "core/base/fatal.h"
#include "core/base/recorder.h"
#include "core/coll/sync.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/runtime.h"

static void check_cmp(int cmp, const char *routine)
{
    if ((unsigned)cmp >= IST_CMP_COUNT)
        ist_misuse(routine, "cmp is %d; valid: SHMEM_CMP_EQ (%d) to SHMEM_CMP_LE (%d)", cmp, IST_CMP_EQ, IST_CMP_LE);
}

static void require_wait(const void *ivar, int cmp, size_t size, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    check_cmp(cmp, routine);
    ist_require_symmetric(routine, "ivar", ivar, size, size);
}

uint64_t ist_wait_slow(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    require_wait(ivar, cmp, size, routine);
    uint64_t seen = ist_wait_behind_anywhere(ivar, cmp, value, size, is_signed, -1, routine);
    if (ist_check_on) ist_check_seen(ivar, size, routine);
    return seen;
}

uint64_t ist_load_slow(const void *ivar, size_t size, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    require_wait(ivar, IST_CMP_EQ, size, routine);
    uint64_t seen = ist_wait_read(ivar, size);
    ist_region_post();                          /* as in a test */
    if (ist_check_on) ist_check_synchronised(); /* the value that the program waits for is not known here */
    return ist_flush_writes_before(seen);
}

int ist_test_slow(const void *ivar, int cmp, uint64_t value, size_t size, bool is_signed, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    require_wait(ivar, cmp, size, routine);
    int holds = ist_compare(cmp, ist_wait_read(ivar, size), value, size, is_signed);
    if (!holds) ist_region_post(); /* a loop of tests is a wait */
    if (holds && ist_check_on) ist_check_seen(ivar, size, routine);
    if (holds) ist_flush_writes();
    return holds;
}

void ist_check_wait_set(const struct ist_wait_set *set)
{
    const char *routine = set->routine;
    ist_require_ctx(&ist_ctx_default, routine);
    check_cmp(set->cmp, routine);
    if (set->nelems == 0) return;
    size_t length_bytes = ist_require_length(routine, "nelems", set->nelems, set->size);
    ist_require_symmetric(routine, "ivars", set->ivars, length_bytes, set->size);
    if (set->is_vector) ist_require_buffer(routine, "cmp_values", set->values);
}

void ist_check_indices(const size_t *indices, size_t nelems, const char *routine)
{
    if (nelems > 0) ist_require_buffer(routine, "indices", indices);
}

/* ---- ordering calls that core/ops/order.h does not provide directly ---- */

void ist_entry_pe_quiet(ist_ctx *ctx, const int *target_pes, size_t npes, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    ist_require_ctx(&ist_ctx_default, routine);
    if (npes == 0 || !ctx->is_valid) return;
    ist_require_buffer(routine, "target_pes", target_pes);
    for (size_t i = 0; i < npes; i++) ist_require_pe(ctx, target_pes[i], routine, "an entry of target_pes");
    ist_quiet(ctx, routine);
}

/* A channel of a private or serialized context has no lock: only the thread that uses the context may commit it. */
static void commit_one(ist_ctx *ctx)
{
    bool is_free = ist_runtime.thread_level != IST_THREAD_MULTIPLE || ist_ctx_is_free_to_use(ctx);
    if (is_free) ist_remote_commit(ctx, "shmem_team_remote_commit");
}

void ist_entry_team_remote_commit(struct ist_team *team, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    if (team == NULL) ist_misuse(routine, "team is SHMEM_TEAM_INVALID; valid: a team that this PE is a member of");
    ist_ctx_each(commit_one);
    (void)ist_meet(team, routine);
}

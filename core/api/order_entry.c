/* core/api/order_entry.c: see all_entries.h. */
#include "core/api/all_entries.h"

#include "core/base/fatal.h"
#include "core/coll/sync.h"
#include "core/ops/target.h"
#include "core/runtime.h"

void ist_entry_pe_quiet(ist_ctx *ctx, const int *target_pes, size_t npes, const char *routine)
{
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
    if (team == NULL) ist_misuse(routine, "team is SHMEM_TEAM_INVALID; valid: a team that this PE is a member of");
    ist_ctx_each(commit_one);
    (void)ist_meet(team, routine);
}

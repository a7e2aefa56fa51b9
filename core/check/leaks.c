/* core/check/leaks.c: see leaks.h. Blocks and teams are the same on all members: the first member reports. */
#include "core/check/leaks.h"

#include "core/check/check_priv.h"

static void report_ctx(ist_ctx *ctx)
{
    if (ctx == &ist_ctx_default || ctx == ist_check_ctx) return;
    ist_finding(IST_FINDING_LEAK, "shmem_ctx_create", ctx->made_by,
                "the context %p is not destroyed at finalize; right: shmem_ctx_destroy", (void *)ctx);
}

static void report_team(const struct ist_team *team)
{
    if (team == NULL || team->my_pe != 0 || team->is_active_set) return;
    ist_finding(IST_FINDING_LEAK, "shmem_team_split", team->made_by,
                "a team of %d PEs is not destroyed at finalize; right: shmem_team_destroy", team->n_pes);
}

void ist_leaks_report(void)
{
    ist_ctx_each(report_ctx);
    for (uint32_t i = IST_TEAMS_PREDEFINED; i < ist_team_limit; i++) report_team(ist_team_table[i]);
    if (ist_team_world.my_pe == 0) ist_blocks_leaks();
}

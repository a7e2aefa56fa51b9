/* R105, R106: a team gives contexts whatever num_contexts it was made with, and on them PEs have the team's numbers. */
#include "teams.h"

enum { CONTEXTS = 3 };

static long words[CONTEXTS];

static void use(shmem_ctx_t ctx, shmem_team_t team, int i)
{
    int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
    shmem_team_t seen = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_ctx_get_team(ctx, &seen), 0);
    CHECK(seen == team);
    shmem_ctx_long_p(ctx, &words[i], 100 * i + pe.me, (me + 1) % n);
    shmem_ctx_quiet(ctx);
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(words[i], 100 * i + world_pe(team, (me + n - 1) % n));
    CHECK_EQ(shmem_ctx_long_atomic_fetch(ctx, &words[i], (me + 1) % n), 100 * i + pe.me);
}

static void check_team(int num_contexts, long mask)
{
    shmem_team_config_t config = {.num_contexts = num_contexts};
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx[CONTEXTS];
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, &config, mask, &team), 0);
    for (int i = 0; i < CONTEXTS; i++) CHECK_EQ(shmem_team_create_ctx(team, 0, &ctx[i]), 0);
    for (int i = 0; i < CONTEXTS; i++) use(ctx[i], team, i);
    for (int i = 1; i < CONTEXTS; i++) shmem_ctx_destroy(ctx[i]);
    shmem_team_destroy(team); /* and with it ctx[0] */
}

int main(void)
{
    pe_begin();
    check_team(0, 0);
    check_team(1, SHMEM_TEAM_NUM_CONTEXTS);
    check_team(8, SHMEM_TEAM_NUM_CONTEXTS);
    return pe_end();
}

/* R105, R106: on a context made from a team PEs are numbered in that team, and ctx_get_team gives it; a team that is
 * invalid gives no context. Several contexts of one team may be made. */
#include "check.h"

static long word = -1;

static void check_team(shmem_ctx_t ctx, shmem_team_t team)
{
    shmem_team_t seen = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_ctx_get_team(ctx, &seen), 0);
    CHECK(seen == team);
}

static void use(shmem_ctx_t ctx, shmem_team_t team)
{
    int n = shmem_team_n_pes(team), to = (shmem_team_my_pe(team) + 1) % n;
    int from = shmem_team_translate_pe(team, (shmem_team_my_pe(team) + n - 1) % n, SHMEM_TEAM_WORLD);
    shmem_ctx_long_p(ctx, &word, pe.me, to);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK_EQ(word, from);
    CHECK_EQ(shmem_ctx_long_g(ctx, &word, to), pe.me);
    shmem_barrier_all();
}

int main(void)
{
    static const shmem_team_t handles[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED};
    shmem_ctx_t ctxs[3], ctx = SHMEM_CTX_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    pe_begin();
    check_team(SHMEM_CTX_DEFAULT, SHMEM_TEAM_WORLD);
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++) CHECK_EQ(shmem_team_create_ctx(handles[t], i, &ctxs[i]), 0);
        for (int i = 0; i < 3; i++) check_team(ctxs[i], handles[t]);
        for (int i = 0; i < 3; i++) use(ctxs[i], handles[t]);
        for (int i = 0; i < 3; i++) shmem_ctx_destroy(ctxs[i]);
    }
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    check_team(ctx, SHMEM_TEAM_WORLD);
    shmem_ctx_destroy(ctx);

    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0);
    CHECK(ctx == SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    return pe_end();
}

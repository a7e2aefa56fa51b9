/* R82: team_remote_commit returns when all PEs of the team have called it and what was locally complete on any of them,
 * on any context, is visible to all. It keeps its place among the team's other collective calls. */
#include "check.h"

enum { WORDS = 300, CONTEXTS = 3 };

static uint64_t data[CONTEXTS][WORDS];
static uint64_t arrivals;

static void put_on_all(const shmem_ctx_t *ctxs, uint64_t round)
{
    uint64_t source[WORDS];
    for (int i = 0; i < WORDS; i++) source[i] = round;
    for (int c = 0; c < CONTEXTS; c++) shmem_ctx_uint64_put(ctxs[c], data[c], source, WORDS, pe.right);
}

static void check_everywhere(uint64_t round)
{
    uint64_t seen[WORDS];
    for (int c = 0; c < CONTEXTS; c++) {
        for (int i = 0; i < WORDS; i++) CHECK_EQ(data[c][i], round);
        shmem_uint64_get(seen, data[c], WORDS, (pe.me + (int)round) % pe.n);
        for (int i = 0; i < WORDS; i++) CHECK_EQ(seen[i], round);
    }
}

int main(void)
{
    pe_begin();
    shmem_ctx_t ctxs[CONTEXTS] = {SHMEM_CTX_DEFAULT};
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctxs[1]), 0);
    CHECK_EQ(shmem_team_create_ctx(SHMEM_TEAM_WORLD, SHMEM_CTX_NOSTORE, &ctxs[2]), 0);
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(2000); round++) {
        if ((int)(round % 7) == pe.me) dawdle_us(100); /* the late one delays all */
        put_on_all(ctxs, round);
        shmem_uint64_atomic_inc(&arrivals, 0);
        shmem_team_remote_commit(SHMEM_TEAM_WORLD);
        CHECK_EQ(shmem_uint64_atomic_fetch(&arrivals, 0), round * (uint64_t)pe.n);
        check_everywhere(round);
        if (round % 3 == 0) shmem_sync_all();
        shmem_team_sync(SHMEM_TEAM_WORLD);
    }
    shmem_team_remote_commit(SHMEM_TEAM_SHARED);
    for (int c = 1; c < CONTEXTS; c++) shmem_ctx_destroy(ctxs[c]);
    return pe_end();
}

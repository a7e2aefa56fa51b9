/* R122: the next collective on a team may start at once, however late one PE is; on return dest is filled and source
 * may be overwritten. */
#include "teams.h"

enum { PES_MAX = 16, MOST = 40, BATCH = 32 };

/* A dest of its own for each collective between two barriers: before a PE calls, dest is to be free on all PEs. */
static long source[PES_MAX * MOST], dests[BATCH][PES_MAX * MOST], *dest;

/* Element i of the source of PE `member` in a round. */
static long given(int round, int member, size_t i) { return (long)round * 100003 + member * 1009 + (long)i; }

static void reduce(shmem_team_t team, int round, int n, size_t nelems)
{
    CHECK_EQ(shmem_long_sum_reduce(team, dest, source, nelems), 0);
    for (size_t i = 0; i < nelems; i++) {
        long sum = 0;
        for (int member = 0; member < n; member++) sum += given(round, member, i);
        CHECK_EQ(dest[i], sum);
    }
}

static void broadcast(shmem_team_t team, int round, int n, size_t nelems)
{
    int root = round % n;
    CHECK_EQ(shmem_long_broadcast(team, dest, source, nelems, root), 0);
    for (size_t i = 0; i < nelems; i++) CHECK_EQ(dest[i], given(round, root, i));
}

static void fcollect(shmem_team_t team, int round, int n, size_t nelems)
{
    CHECK_EQ(shmem_long_fcollect(team, dest, source, nelems), 0);
    for (int member = 0; member < n; member++)
        for (size_t i = 0; i < nelems; i++) CHECK_EQ(dest[(size_t)member * nelems + i], given(round, member, i));
}

static void collect(shmem_team_t team, int round, int n, size_t nelems)
{
    size_t at = 0, mine = (nelems + (size_t)shmem_team_my_pe(team)) % MOST;
    CHECK_EQ(shmem_long_collect(team, dest, source, mine), 0);
    for (int member = 0; member < n; member++)
        for (size_t i = 0; i < (nelems + (size_t)member) % MOST; i++) CHECK_EQ(dest[at++], given(round, member, i));
}

static void alltoall(shmem_team_t team, int round, int n, size_t nelems)
{
    size_t me = (size_t)shmem_team_my_pe(team);
    CHECK_EQ(shmem_long_alltoall(team, dest, source, nelems), 0);
    for (int member = 0; member < n; member++)
        for (size_t i = 0; i < nelems; i++)
            CHECK_EQ(dest[(size_t)member * nelems + i], given(round, member, me * nelems + i));
}

static void scan(shmem_team_t team, int round, int n, size_t nelems)
{
    int last = shmem_team_my_pe(team);
    (void)n;
    CHECK_EQ(shmem_long_sum_inscan(team, dest, source, nelems), 0);
    for (size_t i = 0; i < nelems; i++) {
        long sum = 0;
        for (int member = 0; member <= last; member++) sum += given(round, member, i);
        CHECK_EQ(dest[i], sum);
    }
}

static void meet(shmem_team_t team, int round, int n, size_t nelems)
{
    (void)round, (void)n, (void)nelems;
    CHECK_EQ(shmem_team_sync(team), 0);
}

static void (*const collectives[])(shmem_team_t, int, int, size_t) = {reduce,   broadcast, fcollect, collect,
                                                                      alltoall, scan,      meet};

int main(void)
{
    pe_begin();
    if (pe.n > PES_MAX) pe_skip("the buffers are made for 16 PEs");
    pe_seed();
    uint64_t common = pe.seed;
    shmem_team_t teams[] = {SHMEM_TEAM_WORLD, team_backwards(), team_of_half()};
    for (int round = 1; round <= pe_rounds(10000); round++) {
        shmem_team_t team = teams[random_below(&common, 3)];
        size_t which = random_below(&common, sizeof collectives / sizeof *collectives);
        size_t nelems = random_below(&common, MOST);
        int late = (int)random_below(&common, 4 * (size_t)pe.n), n = shmem_team_n_pes(team);
        dest = dests[round % BATCH];
        if (round % BATCH == 0) shmem_sync_all();
        for (size_t i = 0; i < PES_MAX * MOST; i++) source[i] = given(round, shmem_team_my_pe(team), i);
        if (late == pe.me) dawdle_us(20);
        collectives[which](team, round, n, nelems);
        memset(source, -1, sizeof source);
    }
    shmem_barrier_all();
    return pe_end();
}

/* R122 to R131: every collective with every algorithm (ISTHMUS_COLL_), on the world and on teams of any stride, for
 * sizes around the limits between algorithms; sources are overwritten at once, the next collective starts at once. */
#include "check.h"

enum { MOST = 20000 };

static long *source, *dest;
static const size_t sizes[] = {0, 1, 2, 7, 8, 33, 600, 5000};

static void fill(size_t n, long first, long step)
{
    for (size_t i = 0; i < n; i++) source[i] = first + (long)i * step;
}

static void expect(size_t at, size_t n, long first, long step)
{
    for (size_t i = 0; i < n; i++) CHECK_EQ(dest[at + i], first + (long)i * step);
}

static void broadcasts(shmem_team_t team, int me, int n_pes, size_t n)
{
    for (int root = 0; root < n_pes; root++) {
        fill(n, me == root ? 1000 * root : -7, 1);
        for (size_t i = 0; i < n; i++) dest[i] = -1;
        shmem_team_sync(team); /* dest is ready everywhere */
        CHECK_EQ(shmem_long_broadcast(team, dest, source, n, root), 0);
        fill(n, -9, 0);
        expect(0, n, 1000 * root, 1);
    }
    shmem_team_sync(team);
}

static void gathers(shmem_team_t team, int me, int n_pes, size_t n)
{
    fill(n, 100000L * me, 1);
    CHECK_EQ(shmem_long_fcollect(team, dest, source, n), 0);
    fill(n, -9, 0);
    for (int pe = 0; pe < n_pes; pe++) expect((size_t)pe * n, n, 100000L * pe, 1);
    shmem_team_sync(team);

    size_t at = 0;
    fill((size_t)me % 5 * n / 4, 1000L * me, 1);
    CHECK_EQ(shmem_long_collect(team, dest, source, (size_t)me % 5 * n / 4), 0);
    fill(n, -9, 0);
    for (int pe = 0; pe < n_pes; pe++) {
        expect(at, (size_t)pe % 5 * n / 4, 1000L * pe, 1);
        at += (size_t)pe % 5 * n / 4;
    }
    shmem_team_sync(team);

    for (int pe = 0; pe < n_pes; pe++)
        for (size_t i = 0; i < n; i++) source[(size_t)pe * n + i] = 10000L * me + 100 * pe + (long)i;
    CHECK_EQ(shmem_long_alltoall(team, dest, source, n), 0);
    for (int pe = 0; pe < n_pes; pe++) expect((size_t)pe * n, n, 10000L * pe + 100 * me, 1);
    shmem_team_sync(team);

    n /= 3; /* elements two apart, and three */
    for (size_t i = 0; i < 3 * n * (size_t)n_pes; i++) dest[i] = -1;
    shmem_team_sync(team);
    for (size_t i = 0; i < n * (size_t)n_pes; i++) source[2 * i] = 1000000L * me + (long)i;
    CHECK_EQ(shmem_long_alltoalls(team, dest, source, 3, 2, n), 0);
    for (size_t i = 0; i < 3 * n * (size_t)n_pes; i++) {
        size_t pe = n > 0 ? i / 3 / n : 0, element = n > 0 ? i / 3 % n : 0;
        CHECK_EQ(dest[i], i % 3 == 0 ? 1000000L * (long)pe + (long)((size_t)me * n + element) : -1);
    }
    shmem_team_sync(team);
}

/* The sum over PEs 0 to pe of (PE + 1) * (i + 1). */
static void reductions(shmem_team_t team, int me, int n_pes, size_t n, int in_place)
{
    long all = (long)n_pes * (n_pes + 1) / 2, up_to_me = (long)(me + 1) * (me + 2) / 2;
    long *result = dest;
    if (in_place) dest = source;
    fill(n, me + 1, me + 1);
    CHECK_EQ(shmem_long_sum_reduce(team, dest, source, n), 0);
    expect(0, n, all, all);
    fill(n, me + 1, me + 1);
    CHECK_EQ(shmem_long_sum_inscan(team, dest, source, n), 0);
    expect(0, n, up_to_me, up_to_me);
    fill(n, me + 1, me + 1);
    CHECK_EQ(shmem_long_sum_exscan(team, dest, source, n), 0);
    expect(0, n, up_to_me - me - 1, up_to_me - me - 1);
    dest = result;
    shmem_team_sync(team);
}

static void run(shmem_team_t team)
{
    if (team == SHMEM_TEAM_INVALID) return;
    int me = shmem_team_my_pe(team), n_pes = shmem_team_n_pes(team);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s] * (size_t)n_pes > MOST ? MOST / (size_t)n_pes : sizes[s];
        broadcasts(team, me, n_pes, n);
        gathers(team, me, n_pes, n);
        reductions(team, me, n_pes, n, 0);
        reductions(team, me, n_pes, n, 1);
    }
}

/* No pause between calls, and operands that change: a PE that is ahead must not reach into an earlier call. */
static void storm(shmem_team_t team)
{
    int n_pes = shmem_team_n_pes(team);
    for (long round = 0; round < pe_rounds(4000); round++) {
        source[0] = round + shmem_team_my_pe(team);
        CHECK_EQ(shmem_long_sum_reduce(team, dest, source, 1), 0);
        CHECK_EQ(dest[0], n_pes * round + (long)n_pes * (n_pes - 1) / 2);
        source[0] = round;
        CHECK_EQ(shmem_long_sum_inscan(team, dest, source, 1), 0);
        CHECK_EQ(dest[0], (shmem_team_my_pe(team) + 1) * round);
    }
}

/* The same with alltoall alone: no other call delays a PE that is ahead. It writes to the other half then. */
static void storm_of_blocks(shmem_team_t team)
{
    int me = shmem_team_my_pe(team), n_pes = shmem_team_n_pes(team);
    for (long round = 0; round < pe_rounds(4000); round++) {
        long *to = dest + round % 2 * n_pes;
        for (int pe = 0; pe < n_pes; pe++) source[pe] = round + 100 * pe + me;
        CHECK_EQ(shmem_long_alltoall(team, to, source, 1), 0);
        for (int pe = 0; pe < n_pes; pe++) CHECK_EQ(to[pe], round + 100L * me + pe);
    }
}

int main(void)
{
    shmem_team_t team;
    pe_begin();
    source = shmem_malloc(MOST * sizeof *source);
    dest = shmem_malloc(MOST * sizeof *dest);
    CHECK(source != NULL && dest != NULL);
    run(SHMEM_TEAM_WORLD);
    storm(SHMEM_TEAM_WORLD);
    shmem_sync_all();
    storm_of_blocks(SHMEM_TEAM_WORLD);
    for (int start = 0; start < pe.n; start += pe.n / 3 + 1) {
        for (int stride = -2; stride <= 3; stride++) {
            int size = stride > 0 ? (pe.n - 1 - start) / stride + 1 : stride < 0 ? start / -stride + 1 : 1;
            CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team), 0);
            run(team);
            shmem_team_destroy(team);
        }
    }
    return pe_end();
}

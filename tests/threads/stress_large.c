/* tests/threads/stress_large.c: the parts of the stress job that move more than one message or one copy holds. */
#include "stress.h"

void large_begin(uint64_t seed)
{
    pe_know();
    pe.seed = seed;
}

static void fill(struct lane *lane, int n)
{
    for (int i = 0; i < n; i++) lane->large_source[i] = stress_large_value(lane, pe.me, i);
}

/* n longs at `at` are those from number `first` on of PE `from`. */
static void check_from(const struct lane *lane, const long *at, int from, int first, int n)
{
    for (int i = 0; i < n; i++) CHECK_EQ(at[i], stress_large_value(lane, from, first + i));
}

static void fcollect(struct lane *lane)
{
    fill(lane, LARGE);
    if (lane->step % 2 == 0)
        CHECK_EQ(shmem_fcollectmem(lane->team, lane->large_dest, lane->large_source, LARGE * sizeof(long)), 0);
    else
        CHECK_EQ(nvshmem_long_fcollect(lane->nv, lane->large_dest, lane->large_source, LARGE), 0);
    for (int from = 0; from < pe.n; from++) check_from(lane, &lane->large_dest[from * LARGE], from, 0, LARGE);
}

static int collected(int member) { return LARGE / 2 + 16 * member; }

static void collect(struct lane *lane)
{
    const long *at = lane->large_dest;
    fill(lane, LARGE);
    CHECK_EQ(shmem_long_collect(lane->team, lane->large_dest, lane->large_source, (size_t)collected(pe.me)), 0);
    for (int from = 0; from < pe.n; at += collected(from), from++) check_from(lane, at, from, 0, collected(from));
}

static void alltoall(struct lane *lane)
{
    fill(lane, LARGE * pe.n);
    if (lane->step % 2 == 0)
        CHECK_EQ(shmem_long_alltoall(lane->team, lane->large_dest, lane->large_source, LARGE), 0);
    else
        CHECK_EQ(nvshmem_alltoallmem(lane->nv, lane->large_dest, lane->large_source, LARGE * sizeof(long)), 0);
    for (int from = 0; from < pe.n; from++)
        check_from(lane, &lane->large_dest[from * LARGE], from, pe.me * LARGE, LARGE);
}

static void broadcast(struct lane *lane)
{
    int root = (int)(lane->step % pe.n);
    fill(lane, LARGE);
    CHECK_EQ(shmem_broadcastmem(lane->team, lane->large_dest, lane->large_source, LARGE * sizeof(long), root), 0);
    check_from(lane, lane->large_dest, root, 0, LARGE);
}

/* The sum over the first `members` PEs. */
static long sum_of(const struct lane *lane, int members, int i)
{
    return members * stress_large_value(lane, 0, i) + 100 * 0x10000l * members * (members - 1) / 2;
}

static void reduce(struct lane *lane)
{
    long *all = lane->large_dest, *mine = lane->large_source;
    fill(lane, LARGE);
    CHECK_EQ(shmem_long_max_reduce(lane->team, all, mine, LARGE), 0);
    check_from(lane, all, pe.n - 1, 0, LARGE);
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    CHECK_EQ(shmem_long_sum_inscan(lane->team, all, mine, LARGE), 0);
    for (int i = 0; i < LARGE; i++) CHECK_EQ(all[i], sum_of(lane, pe.me + 1, i));
    CHECK_EQ(shmem_team_sync(lane->team), 0);
    CHECK_EQ(shmem_long_sum_reduce(lane->team, mine, mine, LARGE), 0);
    for (int i = 0; i < LARGE; i++) CHECK_EQ(mine[i], sum_of(lane, pe.n, i));
}

static void reduce_and_scatter(struct lane *lane)
{
    fill(lane, LARGE * pe.n);
    CHECK_EQ(nvshmem_long_sum_reducescatter(lane->nv, lane->large_dest, lane->large_source, LARGE), 0);
    for (int i = 0; i < LARGE; i++) CHECK_EQ(lane->large_dest[i], sum_of(lane, pe.n, pe.me * LARGE + i));
}

void part_large_collectives(struct lane *lane)
{
    static void (*const kinds[])(struct lane *) = {fcollect, collect, alltoall, broadcast, reduce, reduce_and_scatter};
    kinds[random_below(&lane->steps_random, 6)](lane);
    CHECK_EQ(shmem_team_sync(lane->team), 0); /* the blocks may be written again */
}

/* Where the sources are free before the data has arrived, they are written at once. */
void part_large_rma(struct lane *lane)
{
    static const int no_pe = -1;
    long back[LARGE], *there = lane->large_from_left, *source = lane->large_source;
    size_t way = random_below(&lane->random, 3 + FACES_COMPLETIONS);
    fill(lane, LARGE);
    shmem_long_put_nbi(there, source, LARGE, pe.right);
    if (way == 0) shmem_local_complete();
    if (way == 1) shmemx_local_complete();
    if (way < 2 || (way >= 3 && faces_flush(way - 3))) memset(source, 0xee, LARGE * sizeof(long));
    if (way == 0) shmem_remote_commit();
    if (way == 1) shmemx_remote_commit();
    if (way == 2) shmem_pe_quiet((const int[]){pe.right, pe.left}, 2);
    if (way == 2) shmem_pe_quiet(&no_pe, 0);
    if (way >= 3) faces_complete(way - 3);
    shmem_long_get_nbi(back, there, LARGE, pe.right);
    shmem_quiet();
    check_from(lane, back, pe.me, 0, LARGE);
}

/* R149: collectives on nothing take part and change nothing, with null pointers and with others. */
#include "teams.h"

static long dest = 5, source = 6, sync_words[2][SHMEM_SYNC_SIZE];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void on_team(shmem_team_t team, long *to, const long *from)
{
    CHECK_EQ(shmem_long_broadcast(team, to, from, 0, 0), 0);
    CHECK_EQ(shmem_broadcastmem(team, to, from, 0, 0), 0);
    CHECK_EQ(shmem_long_fcollect(team, to, from, 0), 0);
    CHECK_EQ(shmem_fcollectmem(team, to, from, 0), 0);
    CHECK_EQ(shmem_long_collect(team, to, from, 0), 0);
    CHECK_EQ(shmem_collectmem(team, to, from, 0), 0);
    CHECK_EQ(shmem_long_alltoall(team, to, from, 0), 0);
    CHECK_EQ(shmem_alltoallmem(team, to, from, 0), 0);
    CHECK_EQ(shmem_long_alltoalls(team, to, from, 1, 1, 0), 0);
    CHECK_EQ(shmem_alltoallsmem(team, to, from, 1, 1, 0), 0);
    CHECK_EQ(shmem_long_sum_reduce(team, to, from, 0), 0);
    CHECK_EQ(shmem_long_max_reduce(team, to, from, 0), 0);
    CHECK_EQ(shmem_long_sum_inscan(team, to, from, 0), 0);
    CHECK_EQ(shmem_long_sum_exscan(team, to, from, 0), 0);
}

static void on_active_set(long *to, const long *from)
{
    shmem_broadcast64(to, from, 0, 0, 0, 0, pe.n, sync_words[0]);
    shmem_barrier_all();
    shmem_fcollect64(to, from, 0, 0, 0, pe.n, sync_words[1]);
    shmem_barrier_all();
    shmem_collect64(to, from, 0, 0, 0, pe.n, sync_words[0]);
    shmem_barrier_all();
    shmem_alltoall64(to, from, 0, 0, 0, pe.n, sync_words[1]);
    shmem_barrier_all();
    shmem_long_sum_to_all(to, from, 0, 0, 0, pe.n, work, sync_words[0]);
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    for (int i = 0; i < 2 * SHMEM_SYNC_SIZE; i++)
        sync_words[i / SHMEM_SYNC_SIZE][i % SHMEM_SYNC_SIZE] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    shmem_team_t half = team_of_half();
    on_team(SHMEM_TEAM_WORLD, NULL, NULL);
    on_team(half, NULL, NULL);
    on_team(half, &dest, &source);
    on_active_set(NULL, NULL);
    on_active_set(&dest, &source);
    CHECK_EQ(dest, 5);
    CHECK_EQ(source, 6);
    shmem_team_destroy(half);
    return pe_end();
}

/* R121: two threads may be in collectives on two teams with the same members at the same time, in any order. */
#include "teams.h"

#include <pthread.h>

static struct lane {
    shmem_team_t team;
    long source[16], sums[2][16]; /* alternating: others may be a round ahead */
    int rounds, number;
} lanes[2];

/* Calls that are not collective continue in between. */
static void *run(void *argument)
{
    struct lane *lane = argument;
    for (int round = 1; round <= lane->rounds; round++) {
        size_t n = 1 + (size_t)round % 16;
        long *sum = lane->sums[round % 2];
        for (size_t i = 0; i < n; i++) lane->source[i] = (long)round * (pe.me + 1) + (long)i;
        CHECK_EQ(shmem_long_sum_reduce(lane->team, sum, lane->source, n), 0);
        for (size_t i = 0; i < n; i++) CHECK_EQ(sum[i], (long)round * pe.n * (pe.n + 1) / 2 + (long)i * pe.n);
        CHECK_EQ(shmem_team_n_pes(lanes[1 - lane->number].team), pe.n);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pe_begin_threads();
    for (int i = 0; i < 2; i++) {
        lanes[i].team = i == 0 ? team_of_all() : team_backwards();
        lanes[i].number = i;
        lanes[i].rounds = pe_rounds(10000);
    }
    shmem_barrier_all();
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&threads[i], NULL, run, &lanes[(i + pe.me) % 2]), 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    shmem_barrier_all();
    for (int i = 0; i < 2; i++) shmem_team_destroy(lanes[i].team);
    return pe_end();
}

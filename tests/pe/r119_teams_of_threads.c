/* R119: threads of a PE make teams with nvshmemx_team_init at the same time, on other PEs in another order. */
#include "check.h"

#include <nvshmem.h>
#include <pthread.h>

enum { THREADS = 3 };

static uint64_t ids[THREADS];
static struct lane {
    int number, place;
    long sum, one;
} lanes[THREADS];

static void share_ids(void)
{
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++) {
        if (pe.me != i % pe.n) continue;
        nvshmemx_team_uniqueid_t fresh = 0;
        CHECK_EQ(nvshmemx_team_get_uniqueid(&fresh), 0);
        for (int to = 0; to < pe.n; to++) shmem_uint64_p(&ids[i], fresh, to);
    }
    shmem_barrier_all();
}

static void *make_and_use(void *argument)
{
    struct lane *lane = argument;
    nvshmem_team_t team;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config.uniqueid = ids[lane->number];
    CHECK_EQ(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, pe.n, lane->place), 0);
    CHECK_EQ(nvshmem_team_my_pe(team), lane->place);
    lane->one = 1;
    CHECK_EQ(nvshmem_long_sum_reduce(team, &lane->sum, &lane->one, 1), 0);
    CHECK_EQ(lane->sum, pe.n);
    nvshmem_team_destroy(team);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pe_begin_threads();
    for (int round = 0; round < 20; round++) {
        share_ids();
        for (int i = 0; i < THREADS; i++) {
            struct lane *lane = &lanes[(i + pe.me) % THREADS]; /* every PE begins with another team */
            lane->number = (i + pe.me) % THREADS;
            lane->place = (pe.me + lane->number) % pe.n;
            CHECK_EQ(pthread_create(&threads[i], NULL, make_and_use, lane), 0);
        }
        for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    return pe_end();
}

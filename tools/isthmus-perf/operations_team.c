/* tools/isthmus-perf/operations_team.c: operations of all PEs. See operations.h. */
#include "tools/isthmus-perf/operations.h"

#include <nvshmem.h>
#include <shmem.h>

static long *words(char *memory) { return (long *)(void *)memory; }
static size_t n_words(const struct place *place) { return place->size_bytes / sizeof(long); }

void call_barrier(const struct place *place, long reps)
{
    (void)place;
    for (long i = 0; i < reps; i++) shmem_barrier_all();
}

void call_sync(const struct place *place, long reps)
{
    (void)place;
    for (long i = 0; i < reps; i++) shmem_sync_all();
}

void call_broadcast(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_broadcastmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes, 0);
}

void call_collect(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_collectmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes);
}

void call_fcollect(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_fcollectmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes);
}

void call_alltoall(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_alltoallmem(SHMEM_TEAM_WORLD, place->dest, place->whole_source, place->size_bytes);
}

void call_alltoalls(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source), 1, 1, n_words(place));
}

void call_sum_reduce(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source), n_words(place));
}

void call_sum_inscan(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_long_sum_inscan(SHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source), n_words(place));
}

void call_sum_exscan(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        shmem_long_sum_exscan(SHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source), n_words(place));
}

/* OpenSHMEM has none. */
void call_sum_reducescatter(const struct place *place, long reps)
{
    for (long i = 0; i < reps; i++)
        nvshmem_long_sum_reducescatter(NVSHMEM_TEAM_WORLD, words(place->dest), words(place->whole_source),
                                       n_words(place));
}

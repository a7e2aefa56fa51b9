/* R7, R114: threads of a PE split teams of their own at the same time, and collide at indices of the table; a split
 * fails for its limit only if the live teams of a member fill the table. With 16 teams (ENV) two indices are more than
 * the threads use. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, PREDEFINED = 4, LIMIT = 16 };

static shmem_team_t parents[THREADS];
static long ones[THREADS], sums[THREADS];
static int rounds;

static void *split(void *argument)
{
    size_t which = ((size_t)(uintptr_t)argument + (size_t)pe.me) % THREADS; /* every PE begins with another one */
    for (int i = 0; i < rounds; i++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        CHECK_EQ(shmem_team_split_strided(parents[which], 0, 1, pe.n, NULL, 0, &team), 0);
        CHECK(team != SHMEM_TEAM_INVALID);
        ones[which] = i;
        CHECK_EQ(shmem_long_sum_reduce(team, &sums[which], &ones[which], 1), 0);
        CHECK_EQ(sums[which], (long)i * pe.n);
        shmem_team_destroy(team);
    }
    return NULL;
}

static shmem_team_t split_world(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    (void)shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &team);
    return team;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    shmem_team_t rest[LIMIT];
    int n_rest = 0, n_left = argc > 1 ? atoi(argv[1]) : 0;
    pe_begin_threads();
    rounds = pe_part_of(300);
    for (int i = 0; i < THREADS; i++) CHECK((parents[i] = split_world()) != SHMEM_TEAM_INVALID);
    for (; n_left > 0 && n_rest < LIMIT - PREDEFINED - THREADS - n_left; n_rest++)
        CHECK((rest[n_rest] = split_world()) != SHMEM_TEAM_INVALID);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, split, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    shmem_barrier_all();
    for (int i = 0; n_left > 0 && i < n_left; i++) CHECK((rest[n_rest++] = split_world()) != SHMEM_TEAM_INVALID);
    if (n_left > 0) CHECK(split_world() == SHMEM_TEAM_INVALID);
    while (n_rest > 0) shmem_team_destroy(rest[--n_rest]);
    return pe_end();
}

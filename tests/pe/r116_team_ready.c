/* R116: a new team is ready for any use at once, without further synchronisation, and results agree on all PEs. */
#include "teams.h"

static long source, sum, words[4];

/* A valid triplet, the same on all PEs. */
static void random_triplet(uint64_t *state, int *start, int *stride, int *size)
{
    *start = (int)random_below(state, (size_t)pe.n);
    *stride = (int)random_below(state, 5) - 2;
    int reach = *stride > 0 ? pe.n - 1 - *start : *start;
    int most = *stride == 0 ? 1 : 1 + reach / (*stride > 0 ? *stride : -*stride);
    *size = 1 + (int)random_below(state, (size_t)most);
}

static void use(shmem_team_t team, int start, int stride, int size, int round)
{
    long expected = 0;
    for (int i = 0; i < size; i++) expected += (start + i * stride) * round;
    source = (long)pe.me * round;
    CHECK_EQ(shmem_long_sum_reduce(team, &sum, &source, 1), 0);
    CHECK_EQ(sum, expected);
    int root = round % size;
    source = (long)round * 1000 + pe.me;
    CHECK_EQ(shmem_long_broadcast(team, words, &source, 1, root), 0);
    CHECK_EQ(words[0], (long)round * 1000 + start + root * stride);
    CHECK_EQ(shmem_team_sync(team), 0);
    shmem_team_destroy(team);
}

int main(void)
{
    pe_begin();
    pe_seed();
    uint64_t common = pe.seed;
    for (int round = 1; round <= pe_rounds(1000); round++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        int start, stride, size;
        random_triplet(&common, &start, &stride, &size);
        CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team), 0);
        if (team != SHMEM_TEAM_INVALID) use(team, start, stride, size, round);
    }
    return pe_end();
}

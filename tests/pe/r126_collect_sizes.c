/* R126: collect takes another number of elements from each PE, none too, and puts them in the team's order; fcollect
 * takes the same from all. */
#include "teams.h"

enum { MOST = 200, PES_MAX = 16 };

static int source[MOST], dest[MOST * PES_MAX + 1];

static void prepare(void)
{
    for (int i = 0; i < MOST; i++) source[i] = pe.me * 1000 + i;
    for (int i = 0; i < MOST * PES_MAX + 1; i++) dest[i] = -7;
    shmem_barrier_all();
}

/* Member i gave nelems[i], and nothing follows the last. */
static void expect(shmem_team_t team, const size_t *nelems)
{
    size_t at = 0;
    for (int member = 0; member < shmem_team_n_pes(team); member++)
        for (size_t i = 0; i < nelems[member]; i++) CHECK_EQ(dest[at++], world_pe(team, member) * 1000 + (int)i);
    while (at < MOST * PES_MAX + 1) CHECK_EQ(dest[at++], -7);
    shmem_barrier_all();
}

static void collect(shmem_team_t team, const size_t *nelems)
{
    prepare();
    CHECK_EQ(shmem_int_collect(team, dest, source, nelems[shmem_team_my_pe(team)]), 0);
    expect(team, nelems);
    prepare();
    CHECK_EQ(shmem_collectmem(team, dest, source, nelems[shmem_team_my_pe(team)] * sizeof *source), 0);
    expect(team, nelems);
}

static void fcollect(shmem_team_t team, size_t nelems_of_all)
{
    size_t nelems[PES_MAX];
    for (int i = 0; i < PES_MAX; i++) nelems[i] = nelems_of_all;
    prepare();
    CHECK_EQ(shmem_int_fcollect(team, dest, source, nelems_of_all), 0);
    expect(team, nelems);
    prepare();
    CHECK_EQ(shmem_fcollectmem(team, dest, source, nelems_of_all * sizeof *source), 0);
    expect(team, nelems);
}

static void collect_all(shmem_team_t team)
{
    size_t nelems[PES_MAX];
    for (int i = 0; i < PES_MAX; i++) nelems[i] = (size_t)i;
    collect(team, nelems);
    for (int i = 0; i < PES_MAX; i++) nelems[i] = i % 2 == 0 ? MOST : 0;
    collect(team, nelems);
    for (int i = 0; i < PES_MAX; i++) nelems[i] = 0;
    collect(team, nelems);
    nelems[shmem_team_n_pes(team) - 1] = 13; /* only the last one */
    collect(team, nelems);
    uint64_t common = pe.seed;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < PES_MAX; i++) nelems[i] = random_below(&common, MOST);
        collect(team, nelems);
    }
    static const size_t sizes[] = {0, 1, 3, 64, MOST};
    for (int i = 0; i < 5; i++) fcollect(team, sizes[i]);
}

int main(void)
{
    pe_begin();
    if (pe.n > PES_MAX) pe_skip("the buffers are made for 16 PEs");
    pe_seed();
    shmem_team_t backwards = team_backwards(), half = team_of_half();
    collect_all(SHMEM_TEAM_WORLD);
    collect_all(backwards);
    collect_all(half);
    shmem_team_destroy(half);
    shmem_team_destroy(backwards);
    return pe_end();
}

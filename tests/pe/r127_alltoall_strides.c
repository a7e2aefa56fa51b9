/* R127: block j of PE i becomes block i of PE j, dense and with strides, whose gaps stay as they are. */
#include "teams.h"

#include <stdbool.h>

enum { PES_MAX = 16, NELEMS = 5, STRIDE_MAX = 4, WORDS = PES_MAX * NELEMS * STRIDE_MAX };

static int16_t source[WORDS], dest[WORDS];

/* What PE `from` of the world sends as element `element` of its block for member `to`. */
static int16_t sent(int from, int to, size_t element) { return (int16_t)(from * 1000 + to * 10 + (int)element); }

static void run(shmem_team_t team, size_t dst, size_t sst, bool is_strided)
{
    size_t n = (size_t)shmem_team_n_pes(team), me = (size_t)shmem_team_my_pe(team);
    for (size_t i = 0; i < WORDS; i++) source[i] = -1, dest[i] = -7;
    for (size_t to = 0; to < n; to++)
        for (size_t i = 0; i < NELEMS; i++) source[(to * NELEMS + i) * sst] = sent(pe.me, (int)to, i);
    shmem_barrier_all();
    if (is_strided)
        CHECK_EQ(shmem_int16_alltoalls(team, dest, source, (ptrdiff_t)dst, (ptrdiff_t)sst, NELEMS), 0);
    else
        CHECK_EQ(shmem_int16_alltoall(team, dest, source, NELEMS), 0);
    for (size_t from = 0; from < n; from++)
        for (size_t i = 0; i < NELEMS; i++) {
            int16_t *at = &dest[(from * NELEMS + i) * dst];
            CHECK_EQ(*at, sent(world_pe(team, (int)from), (int)me, i));
            *at = -7;
        }
    for (size_t i = 0; i < WORDS; i++) CHECK_EQ(dest[i], -7);
    shmem_barrier_all();
}

static void run_all(shmem_team_t team)
{
    run(team, 1, 1, false);
    for (size_t dst = 1; dst <= STRIDE_MAX; dst++)
        for (size_t sst = 1; sst <= STRIDE_MAX; sst++) run(team, dst, sst, true);
}

int main(void)
{
    pe_begin();
    if (pe.n > PES_MAX) pe_skip("the buffers are made for 16 PEs");
    shmem_team_t backwards = team_backwards(), half = team_of_half();
    run_all(SHMEM_TEAM_WORLD);
    run_all(backwards);
    run_all(half);
    shmem_team_destroy(half);
    shmem_team_destroy(backwards);
    return pe_end();
}

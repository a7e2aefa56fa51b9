/* R129: of a reduction over n_pes * nreduce elements each PE gets its block, in the team's order. */
#include "nv.h"

enum { NREDUCE_MAX = 3000 };

static void check(nvshmem_team_t team, int32_t *dest, int32_t *source, size_t nreduce)
{
    size_t n = (size_t)nvshmem_team_n_pes(team), me = (size_t)nvshmem_team_my_pe(team);
    for (size_t i = 0; i < n * nreduce; i++) source[i] = (int32_t)((me + 1) * 1000 + i);
    for (size_t i = 0; i <= nreduce; i++) dest[i] = -7;
    CHECK_EQ(nvshmem_team_sync(team), 0);
    CHECK_EQ(nvshmem_int32_sum_reducescatter(team, dest, source, nreduce), 0);
    for (size_t i = 0; i < nreduce; i++) CHECK_EQ(dest[i], n * (n + 1) / 2 * 1000 + n * (me * nreduce + i));
    CHECK_EQ(dest[nreduce], -7);
    CHECK_EQ(nvshmem_team_sync(team), 0);
    CHECK_EQ(nvshmem_int32_max_reducescatter(team, dest, source, nreduce), 0);
    for (size_t i = 0; i < nreduce; i++) CHECK_EQ(dest[i], n * 1000 + me * nreduce + i);
    CHECK_EQ(nvshmem_team_sync(team), 0);
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 2, 7, 64, NREDUCE_MAX};
    nv_begin();
    int32_t *source = nv_symmetric((size_t)pe.n * NREDUCE_MAX * sizeof *source);
    int32_t *dest = nv_symmetric((NREDUCE_MAX + 1) * sizeof *dest);
    nvshmem_team_t backwards = nv_team_backwards();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(NVSHMEM_TEAM_WORLD, dest, source, sizes[i]);
        check(backwards, dest, source, sizes[i]);
    }
    nvshmem_team_destroy(backwards);
    return nv_end();
}

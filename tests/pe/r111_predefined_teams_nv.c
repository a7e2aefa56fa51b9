/* R111: NVSHMEM's predefined teams are constants; NODE has the PEs of this host, SAME_MYPE_NODE those with the same number on
 * other hosts: with one host, this PE alone. */
#include "nv.h"

static const nvshmem_team_t handles[] = {NVSHMEM_TEAM_WORLD, NVSHMEM_TEAM_SHARED, NVSHMEMX_TEAM_NODE,
                                         NVSHMEMX_TEAM_SAME_MYPE_NODE};

int main(void)
{
    nv_begin();
    int *sum = nv_symmetric(2 * sizeof *sum);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD), pe.n);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD), pe.me);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE), pe.n); /* the launchers of these tests use one host */
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE), pe.me);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE), 1);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEMX_TEAM_SAME_MYPE_NODE), 0);
    CHECK_EQ(nvshmem_team_n_pes(NVSHMEM_TEAM_INVALID), -1);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID), -1);
    for (int i = 0; i < 4; i++) {
        int members = nvshmem_team_n_pes(handles[i]), me = nvshmem_team_my_pe(handles[i]);
        CHECK_EQ(nvshmem_team_translate_pe(handles[i], me, NVSHMEM_TEAM_WORLD), pe.me);
        sum[0] = 1;
        CHECK_EQ(nvshmem_int_sum_reduce(handles[i], &sum[1], &sum[0], 1), 0);
        CHECK_EQ(sum[1], members);
        CHECK_EQ(nvshmem_team_sync(handles[i]), 0);
    }
    return nv_end();
}

/* R110: NVSHMEM has no contexts; a team may be created with some, and works. */
#include "nv.h"

int main(void)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nv_begin();
    config.num_contexts = 4;
    CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, pe.n, &config, NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS,
                                        &team),
             0);
    CHECK_EQ(nvshmem_team_n_pes(team), pe.n);
    CHECK_EQ(nvshmem_team_sync(team), 0);
    nvshmem_team_destroy(team);
    return nv_end();
}

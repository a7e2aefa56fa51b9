/* R118: nvshmem_team_get_config returns the configuration that the team was made with, and leaves the structure alone
 * for an invalid team. */
#include "nv.h"

int main(void)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER, untouched;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nv_begin();
    CHECK_EQ(sizeof config, 64);
    config.num_contexts = 3;
    CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, pe.n, &config, NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS,
                                        &team),
             0);
    memset(&config, 0x5a, sizeof config);
    memset(&untouched, 0x5a, sizeof untouched);
    nvshmem_team_get_config(NVSHMEM_TEAM_INVALID, &config);
    CHECK_BYTES(&config, &untouched, sizeof config);
    nvshmem_team_get_config(team, &config);
    CHECK_EQ(config.num_contexts, 3);
    CHECK_EQ(config.version & 0xffff, sizeof config);
    nvshmem_team_destroy(team);
    return nv_end();
}

/* R117: get_config returns the configuration that the team was made with; mask 0 needs no structure, an invalid team
 * changes nothing. */
#include "teams.h"

int main(void)
{
    shmem_team_config_t config = {.num_contexts = 7};
    shmem_team_t with = SHMEM_TEAM_INVALID, without = SHMEM_TEAM_INVALID;
    pe_begin();
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n, &config, SHMEM_TEAM_NUM_CONTEXTS, &with), 0);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe.n, &config, 0, &without), 0);
    config.num_contexts = -5;
    CHECK_EQ(shmem_team_get_config(with, 0, NULL), 0);
    CHECK_EQ(shmem_team_get_config(with, 0, &config), 0);
    CHECK_EQ(config.num_contexts, -5);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    CHECK_EQ(config.num_contexts, -5);
    CHECK_EQ(shmem_team_get_config(with, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
    CHECK_EQ(config.num_contexts, 7);
    CHECK_EQ(shmem_team_get_config(without, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
    CHECK_EQ(config.num_contexts, 0); /* the mask excluded the structure */
    CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL), 0);
    shmem_team_destroy(with);
    shmem_team_destroy(without);
    return pe_end();
}

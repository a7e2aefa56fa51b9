/* R115: rows and columns of every width, the last row short; wider than the team is one row; wrong widths give
 * nothing. */
#include "teams.h"

static void check_axis(shmem_team_t team, shmem_team_t parent, int number, int size, int first, int stride)
{
    CHECK_EQ(shmem_team_my_pe(team), number);
    CHECK_EQ(shmem_team_n_pes(team), size);
    for (int i = 0; i < size; i++) CHECK_EQ(shmem_team_translate_pe(team, i, parent), first + i * stride);
}

static void check_config(shmem_team_t team, int num_contexts)
{
    shmem_team_config_t config = {.num_contexts = -1};
    CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
    CHECK_EQ(config.num_contexts, num_contexts);
}

static void split(shmem_team_t parent, int xrange)
{
    const shmem_team_config_t x_config = {.num_contexts = 2}, y_config = {.num_contexts = 5};
    shmem_team_t x_team = SHMEM_TEAM_WORLD, y_team = SHMEM_TEAM_WORLD;
    int n = shmem_team_n_pes(parent), me = shmem_team_my_pe(parent);
    int result = shmem_team_split_2d(parent, xrange, &x_config, SHMEM_TEAM_NUM_CONTEXTS, &x_team, &y_config,
                                     SHMEM_TEAM_NUM_CONTEXTS, &y_team);
    if (xrange < 1) {
        CHECK(result != 0 && x_team == SHMEM_TEAM_INVALID && y_team == SHMEM_TEAM_INVALID);
        return;
    }
    int width = xrange < n ? xrange : n, x = me % width, y = me / width, row = n - y * width;
    CHECK_EQ(result, 0);
    check_axis(x_team, parent, x, row < width ? row : width, y * width, 1);
    check_axis(y_team, parent, y, (n - x + width - 1) / width, x, width);
    check_config(x_team, 2);
    check_config(y_team, 5);
    shmem_team_destroy(x_team);
    shmem_team_destroy(y_team);
}

int main(void)
{
    shmem_team_t x_team = SHMEM_TEAM_WORLD, y_team = SHMEM_TEAM_WORLD;
    pe_begin();
    shmem_team_t backwards = team_backwards(), half = team_of_half();
    for (int xrange = -1; xrange <= pe.n + 2; xrange++) {
        split(SHMEM_TEAM_WORLD, xrange);
        split(backwards, xrange);
        split(half, xrange);
    }
    shmem_team_destroy(half);
    shmem_team_destroy(backwards);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &x_team, NULL, 0, &y_team) != 0);
    CHECK(x_team == SHMEM_TEAM_INVALID && y_team == SHMEM_TEAM_INVALID);
    return pe_end();
}

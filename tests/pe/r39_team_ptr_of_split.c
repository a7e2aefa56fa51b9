/* R39: team_ptr numbers PEs in the team, also in teams that a program made. */
#include "teams.h"

static long word;

static void check_team(shmem_team_t team)
{
    int n = shmem_team_n_pes(team);
    for (int i = 0; i < n; i++) CHECK(shmem_team_ptr(team, &word, i) == shmem_ptr(&word, world_pe(team, i)));
    CHECK(shmem_team_ptr(team, &word, n) == NULL);
    CHECK(shmem_team_ptr(team, &word, -1) == NULL);
}

int main(void)
{
    pe_begin();
    shmem_team_t backwards = team_backwards(), half = team_of_half();
    check_team(backwards);
    check_team(half);
    shmem_team_destroy(half);
    shmem_team_destroy(backwards);
    return pe_end();
}

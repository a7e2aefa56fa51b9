/* tests/pe/teams.h: what the programs about teams share. */
#ifndef TESTS_PE_TEAMS_H
#define TESTS_PE_TEAMS_H

#include "check.h"

/* Collective over the world. The team of start, start + stride, ...; SHMEM_TEAM_INVALID on the other PEs. */
static inline shmem_team_t team_of(int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team), 0);
    return team;
}

/* Collective over the world. All of it, numbered backwards. */
static inline shmem_team_t team_backwards(void) { return team_of(pe.n - 1, -1, pe.n); }

/* Collective over the world. The PEs whose numbers are odd, or even, like this one's. */
static inline shmem_team_t team_of_half(void)
{
    shmem_team_t even = team_of(0, 2, (pe.n + 1) / 2), odd = SHMEM_TEAM_INVALID;
    if (pe.n > 1) odd = team_of(1, 2, pe.n / 2);
    return pe.me % 2 == 0 ? even : odd;
}

/* Collective over the world. All of it once more. */
static inline shmem_team_t team_of_all(void) { return team_of(0, 1, pe.n); }

/* The number in the world of PE `member` of the team. */
static inline int world_pe(shmem_team_t team, int member)
{
    return shmem_team_translate_pe(team, member, SHMEM_TEAM_WORLD);
}

#endif

/* R39: team_ptr numbers PEs in the team, equals ptr for the world, and is NULL for SHMEM_TEAM_INVALID. */
#include "check.h"

static long word;

int main(void)
{
    pe_begin();
    for (int i = 0; i < pe.n; i++) CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, i) == shmem_ptr(&word, i));
    for (int i = 0; i < shmem_team_n_pes(SHMEM_TEAM_SHARED); i++) {
        int in_world = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
        CHECK(in_world >= 0 && in_world < pe.n);
        CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, &word, i) == shmem_ptr(&word, in_world));
        CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, &word, i) != NULL);
    }
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, 0) == NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, pe.n) == NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, -1) == NULL);
    return pe_end();
}

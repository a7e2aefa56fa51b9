/* R113: translate_pe is the number in the other team, and -1 for a PE that is not in both, for numbers out of range and
 * for invalid teams. */
#include "check.h"

int main(void)
{
    pe_begin();
    int n_shared = shmem_team_n_pes(SHMEM_TEAM_SHARED), found = 0;
    for (int i = 0; i < pe.n; i++) {
        CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, i, SHMEM_TEAM_WORLD), i);
        int there = shmem_team_translate_pe(SHMEM_TEAM_WORLD, i, SHMEM_TEAM_SHARED);
        CHECK(there >= -1 && there < n_shared);
        found += there >= 0;
        if (there >= 0) CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, there, SHMEM_TEAM_WORLD), i);
    }
    CHECK_EQ(found, n_shared);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe.me, SHMEM_TEAM_SHARED), shmem_team_my_pe(SHMEM_TEAM_SHARED));
    static const int wrong[] = {-1, -2147483647 - 1, 2147483647};
    for (int i = 0; i < 3; i++) CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, wrong[i], SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe.n, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, n_shared, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
    return pe_end();
}

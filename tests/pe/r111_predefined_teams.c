/* R111, R112: the predefined teams are constants that initialise static variables, valid from init to finalize; numbers
 * in them are 0 to n-1, and -1 for SHMEM_TEAM_INVALID. */
#include "check.h"

static shmem_team_t handles[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED};
static const shmem_team_t invalid = SHMEM_TEAM_INVALID;
static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};

int main(void)
{
    for (int round = 0; round < 2; round++) {
        pe_begin();
        CHECK_EQ(shmem_team_n_pes(handles[0]), pe.n);
        CHECK_EQ(shmem_team_my_pe(handles[0]), pe.me);
        CHECK(shmem_team_n_pes(handles[1]) >= 1 && shmem_team_n_pes(handles[1]) <= pe.n);
        CHECK(shmem_team_my_pe(handles[1]) >= 0 && shmem_team_my_pe(handles[1]) < shmem_team_n_pes(handles[1]));
        CHECK_EQ(shmem_team_my_pe(invalid), -1);
        CHECK_EQ(shmem_team_n_pes(invalid), -1);
        CHECK(handles[0] != handles[1] && handles[0] != invalid && contexts[0] != contexts[1]);
        for (int i = 0; i < 100; i++) CHECK_EQ(shmem_team_sync(handles[i % 2]), 0);
        shmem_finalize();
    }
    return 0;
}

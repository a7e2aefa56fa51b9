/* R154 as the issue has it: shmem.h declares the proposal's five routines unless ISTHMUS_STRICT_OPENSHMEM is defined;
 * then the names are the program's. shmemx.h has them under shmemx_ names in any case. */
#define ISTHMUS_STRICT_OPENSHMEM
#include "check.h"

#include <shmemx.h>

/* Would not compile beside other declarations. */
static int shmem_local_complete(int a) { return a; }
static int shmem_remote_commit(int a) { return a; }
static int shmem_ctx_local_complete = 1, shmem_ctx_remote_commit = 2, shmem_team_remote_commit = 3;

int main(void)
{
    pe_begin();
    CHECK_EQ(shmem_local_complete(4) + shmem_remote_commit(5), 9);
    CHECK_EQ(shmem_ctx_local_complete + shmem_ctx_remote_commit + shmem_team_remote_commit, 6);
    shmemx_local_complete();
    shmemx_remote_commit();
    shmemx_ctx_local_complete(SHMEM_CTX_DEFAULT);
    shmemx_ctx_remote_commit(SHMEM_CTX_DEFAULT);
    shmemx_team_remote_commit(SHMEM_TEAM_WORLD);
    return pe_end();
}

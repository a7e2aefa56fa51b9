/* R83: the proposal's five routines exist in shmem.h, and under shmemx_ names in shmemx.h; there is no
 * remote_visible. */
#include "check.h"

#include <dlfcn.h>
#include <shmemx.h>

int main(void)
{
    pe_begin();
    shmem_local_complete();
    shmem_ctx_local_complete(SHMEM_CTX_DEFAULT);
    shmem_remote_commit();
    shmem_ctx_remote_commit(SHMEM_CTX_DEFAULT);
    shmem_team_remote_commit(SHMEM_TEAM_WORLD);
    shmemx_local_complete();
    shmemx_ctx_local_complete(SHMEM_CTX_DEFAULT);
    shmemx_remote_commit();
    shmemx_ctx_remote_commit(SHMEM_CTX_DEFAULT);
    shmemx_team_remote_commit(SHMEM_TEAM_WORLD);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_team_remote_commit") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_remote_visible") == NULL);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_ctx_remote_visible") == NULL);
    CHECK(dlsym(RTLD_DEFAULT, "shmem_team_local_complete") == NULL);
    return pe_end();
}

/* R74: ordering calls and ctx_destroy with SHMEM_CTX_INVALID do nothing. */
#include "check.h"

static long word;

int main(void)
{
    pe_begin();
    shmem_long_p(&word, 4, pe.right);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &pe.me, 1);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, NULL, 0);
    shmem_ctx_local_complete(SHMEM_CTX_INVALID);
    shmem_ctx_remote_commit(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_barrier_all();
    CHECK_EQ(word, 4);
    return pe_end();
}

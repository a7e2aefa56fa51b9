/* R153: C99 and C++ programs use the functions; this file is compiled as C99, C11, C17, C++11 and C++17, with all
 * warnings. R140: the values of the vector forms may be const. */
#include "check.h"

#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <shmemx.h>

enum { N = 8 };

static long words[N], total;
static uint64_t signal_word;

int main(void)
{
    long numbers[N], seen[N];
    const long constants[N] = {1, 2, 3, 4, 5, 6, 7, 8};
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    pe_begin();
    for (int i = 0; i < N; i++) numbers[i] = i + 1;
    CHECK_EQ(shmem_ctx_create(SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE, &ctx), 0);
    shmem_ctx_long_put(ctx, words, numbers, N, pe.right);
    shmem_ctx_quiet(ctx);
    shmem_long_atomic_add(&total, 2, 0);
    shmem_signal_add(&signal_word, 1, pe.right);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_test_all_vector(words, N, NULL, SHMEM_CMP_EQ, constants), 1);
    CHECK_EQ(shmem_long_test_all_vector(words, N, NULL, SHMEM_CMP_EQ, numbers), 1);
    CHECK_EQ(shmem_signal_fetch(&signal_word), 1);
    shmem_long_get(seen, words, N, pe.right);
    CHECK_BYTES(seen, constants, sizeof seen);
    CHECK_EQ(shmem_long_atomic_fetch(&total, 0), 2L * pe.n);
    CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
    long *block = (long *)shmem_malloc(sizeof *block);
    CHECK(block != NULL && shmem_ptr(block, pe.me) != NULL);
    shmem_local_complete();
    shmemx_remote_commit();
    CHECK(shmemx_wtime() > 0 && shmemx_nodename() != NULL);
    shmem_free(block);
    shmem_ctx_destroy(ctx);
    return pe_end();
}

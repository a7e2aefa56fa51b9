/* R158: the faces share one runtime, one numbering, the teams, the heap and the order of collectives; a program may
 * include all headers, in any order, and hand an address of one face to another. Also compiled as C++. */
#include <ishmem.h>
#include <ishmemx.h>
#include <nvshmem.h>
#include <nvshmem_host.h>
#include <nvshmemx.h>
#include <pshmem.h>
#include <shmemx.h>

#include "check.h"

static long sums[2], ones[2] = {1, 2};

static void check_numbering(void)
{
    CHECK_EQ(nvshmem_my_pe(), pe.me);
    CHECK_EQ(ishmem_my_pe(), pe.me);
    CHECK_EQ(nvshmem_n_pes(), pe.n);
    CHECK_EQ(ishmem_n_pes(), pe.n);
    CHECK_EQ(nvshmem_team_my_pe(NVSHMEM_TEAM_SHARED), shmem_team_my_pe(SHMEM_TEAM_SHARED));
    CHECK_EQ(ishmem_team_n_pes(ISHMEMX_TEAM_NODE), nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE));
    CHECK_EQ(shmem_team_n_pes(SHMEMX_TEAM_NODE), nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE));
}

/* Initialisers of all faces nest. */
static void check_nesting(void)
{
    int initialized = 0;
    nvshmem_init();
    ishmem_init();
    CHECK_EQ(nvshmemx_init_status(), NVSHMEM_STATUS_IS_INITIALIZED);
    ishmem_finalize();
    nvshmem_finalize();
    ishmemx_query_initialized(&initialized);
    CHECK_EQ(initialized, 1);
}

static void check_memory(void)
{
    long *block = (long *)nvshmem_malloc(2 * sizeof *block);
    CHECK(block != NULL);
    block[0] = block[1] = -1;
    shmem_barrier_all();
    ishmem_long_p(&block[0], pe.me, pe.right);
    nvshmem_long_atomic_set(&block[1], pe.me + 100, pe.right);
    nvshmem_quiet();
    ishmem_sync_all();
    CHECK_EQ(block[0], pe.left);
    CHECK_EQ(shmem_long_g(&block[1], pe.me), pe.left + 100);
    CHECK_EQ(nvshmem_ptr(block, pe.right) == shmem_ptr(block, pe.right), 1);
    shmem_barrier_all();
    ishmem_free(block);
}

static void check_collectives(void)
{
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, NULL, 0, &team), 0);
    CHECK_EQ(nvshmem_team_my_pe(team), pe.n - 1 - pe.me);
    CHECK_EQ(ishmem_team_my_pe(team), pe.n - 1 - pe.me);
    CHECK_EQ(nvshmem_long_sum_reduce(team, sums, ones, 2), 0);
    CHECK_EQ(sums[1], 2L * pe.n);
    CHECK_EQ(ishmemx_long_max_reduce_team(team, sums, ones, 2), 0);
    CHECK_EQ(sums[1], 2);
    CHECK_EQ(ishmem_long_sum_reduce(sums, ones, 2), 0);
    CHECK_EQ(sums[0], pe.n);
    CHECK_EQ(shmem_long_prod_reduce(SHMEM_TEAM_WORLD, sums, ones, 2), 0);
    CHECK_EQ(nvshmem_barrier(team), 0);
    CHECK(nvshmem_barrier(NVSHMEM_TEAM_INVALID) != 0);
    CHECK(ishmem_team_sync(ISHMEM_TEAM_INVALID) != 0);
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_INVALID, sums, ones, 2) != 0);
    nvshmem_team_destroy(team);
}

int main(void)
{
    pe_begin();
    check_numbering();
    check_nesting();
    check_memory();
    check_collectives();
    return pe_end();
}

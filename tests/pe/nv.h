/* tests/pe/nv.h: start and end of the programs that test nvshmem.h; checks as in check.h. */
#ifndef TESTS_PE_NV_H
#define TESTS_PE_NV_H

#include "check.h"

#include <nvshmem.h>
#include <nvshmemx.h>

static inline void nv_begin(void)
{
    pe_deadline(PE_DEADLINE_S);
    nvshmem_init();
    pe.me = nvshmem_my_pe();
    pe.n = nvshmem_n_pes();
    pe.right = (pe.me + 1) % pe.n;
    pe.left = (pe.me + pe.n - 1) % pe.n;
}

static inline int nv_end(void)
{
    nvshmem_finalize();
    return 0;
}

static inline void *nv_symmetric(size_t size_bytes)
{
    void *memory = nvshmem_calloc(1, size_bytes);
    CHECK(memory != NULL);
    return memory;
}

/* Collective over the world. All of it, numbered backwards. */
static inline nvshmem_team_t nv_team_backwards(void)
{
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    CHECK_EQ(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, pe.n - 1, -1, pe.n, NULL, 0, &team), 0);
    return team;
}

#endif

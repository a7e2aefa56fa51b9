/* The face of shmem.h for the programs of this folder. */
#include "rows.h"

#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

static shmem_team_t teams[2];
static shmem_ctx_t ctx;

static void set_up(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), half = (n - me % 2 + 1) / 2;
    teams[0] = SHMEM_TEAM_WORLD;
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        if (shmem_team_split_strided(SHMEM_TEAM_WORLD, odd, n == 1 ? 1 : 2, (n - odd + 1) / 2, NULL, 0, &team) != 0)
            abort();
        if (odd == me % 2) teams[1] = team;
    }
    if (shmem_ctx_create(0, &ctx) != 0) abort();
    face.team[0] = (struct face_team){&teams[0], n, me, 0, 1};
    face.team[1] = (struct face_team){&teams[1], half, me / 2, me % 2, 2};
    face.ctx = &ctx;
}

static void end(void)
{
    shmem_team_destroy(teams[1]);
    shmem_ctx_destroy(ctx);
    shmem_finalize();
}

static void complete(void)
{
    shmem_quiet();
    shmem_ctx_quiet(ctx);
}

static void store(void *dest, const void *value, size_t size_bytes, int pe)
{
    switch (size_bytes) {
    case 2: shmem_uint16_p(dest, *(const uint16_t *)value, pe); break;
    case 4: shmem_uint32_atomic_set(dest, *(const uint32_t *)value, pe); break;
    case 8: shmem_uint64_atomic_set(dest, *(const uint64_t *)value, pe); break;
    default: abort();
    }
}

enum { SYNC_LONGS = SHMEM_SYNC_SIZE, WORK_ELEMENTS = SHMEM_REDUCE_MIN_WRKDATA_SIZE + 4 };

struct face face = {
    .init = set_up,
    .fini = end,
    .my_pe = shmem_my_pe,
    .n_pes = shmem_n_pes,
    .allocate = shmem_malloc,
    .barrier = shmem_barrier_all,
    .complete = complete,
    .store = store,
    .sync_longs = SYNC_LONGS,
    .work_elements = WORK_ELEMENTS,
    .sync_value = SHMEM_SYNC_VALUE,
    .cmp = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE},
    .signal_set = SHMEM_SIGNAL_SET,
    .signal_add = SHMEM_SIGNAL_ADD,
};

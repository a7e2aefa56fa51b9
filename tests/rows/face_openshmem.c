/* The face of shmem.h for the programs of this folder. */
#include "rows.h"

#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

static struct own {
    shmem_team_t teams[2];
    shmem_ctx_t ctx;
} lanes[LANES_MOST];

static void set_up(bool has_threads)
{
    int provided = SHMEM_THREAD_MULTIPLE;
    if (!has_threads)
        shmem_init();
    else if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE)
        abort();
}

static shmem_team_t split(int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) != 0) abort();
    return team;
}

static void open_lane(struct face_lane *opened)
{
    struct own *own = &lanes[opened->number];
    int me = shmem_my_pe(), n = shmem_n_pes(), half = (n - me % 2 + 1) / 2;
    own->teams[0] = opened->number == 0 ? SHMEM_TEAM_WORLD : split(0, 1, n);
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        shmem_team_t team = split(odd, n == 1 ? 1 : 2, (n - odd + 1) / 2);
        if (odd == me % 2) own->teams[1] = team;
    }
    if (shmem_ctx_create(0, &own->ctx) != 0) abort();
    opened->team[0] = (struct face_team){&own->teams[0], n, me, 0, 1};
    opened->team[1] = (struct face_team){&own->teams[1], half, me / 2, me % 2, 2};
    opened->ctx = &own->ctx;
}

static void close_lane(const struct face_lane *closed)
{
    shmem_team_destroy(lanes[closed->number].teams[1]);
    if (closed->number != 0) shmem_team_destroy(lanes[closed->number].teams[0]);
    shmem_ctx_destroy(lanes[closed->number].ctx);
}

static void meet(void) { shmem_team_sync(lanes[lane.number].teams[0]); }

static void complete(void)
{
    shmem_quiet();
    shmem_ctx_quiet(lanes[lane.number].ctx);
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
    .fini = shmem_finalize,
    .open = open_lane,
    .close = close_lane,
    .my_pe = shmem_my_pe,
    .n_pes = shmem_n_pes,
    .allocate = shmem_malloc,
    .meet = meet,
    .complete = complete,
    .store = store,
    .sync_longs = SYNC_LONGS,
    .work_elements = WORK_ELEMENTS,
    .sync_value = SHMEM_SYNC_VALUE,
    .cmp = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE},
    .signal_set = SHMEM_SIGNAL_SET,
    .signal_add = SHMEM_SIGNAL_ADD,
};

/* The face of nvshmem.h for the programs of this folder. */
#include "rows.h"

#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdlib.h>

static struct own {
    nvshmem_team_t teams[2];
    cudaStream_t stream; /* lane 0's is the default one */
    int *word;
} lanes[LANES_MOST];

static void set_up(bool has_threads)
{
    int provided = NVSHMEM_THREAD_MULTIPLE;
    if (!has_threads)
        nvshmem_init();
    else if (nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != NVSHMEM_THREAD_MULTIPLE)
        abort();
}

static nvshmem_team_t split(int start, int stride, int size)
{
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    if (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) != 0) abort();
    return team;
}

static void open_lane(struct face_lane *opened)
{
    struct own *own = &lanes[opened->number];
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), half = (n - me % 2 + 1) / 2;
    own->teams[0] = opened->number == 0 ? NVSHMEM_TEAM_WORLD : split(0, 1, n);
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        nvshmem_team_t team = split(odd, n == 1 ? 1 : 2, (n - odd + 1) / 2);
        if (odd == me % 2) own->teams[1] = team;
    }
    if (opened->number != 0) own->stream = (cudaStream_t)(void *)own; /* without a GPU any pointer names a stream */
    own->word = nvshmem_malloc(sizeof *own->word);
    opened->team[0] = (struct face_team){&own->teams[0], n, me, 0, 1};
    opened->team[1] = (struct face_team){&own->teams[1], half, me / 2, me % 2, 2};
    opened->stream = &own->stream;
}

static void close_lane(const struct face_lane *closed)
{
    nvshmem_team_destroy(lanes[closed->number].teams[1]);
    if (closed->number != 0) nvshmem_team_destroy(lanes[closed->number].teams[0]);
}

static void meet(void) { nvshmem_team_sync(lanes[lane.number].teams[0]); }

static void complete(void)
{
    const struct own *own = &lanes[lane.number];
    nvshmemx_quiet_on_stream(own->stream);
    (void)nvshmemx_int_g_on_stream(own->word, nvshmem_my_pe(), own->stream); /* until it has reached this call */
    nvshmem_quiet();
}

static void store(void *dest, const void *value, size_t size_bytes, int pe)
{
    switch (size_bytes) {
    case 2: nvshmem_uint16_p(dest, *(const uint16_t *)value, pe); break;
    case 4: nvshmem_uint32_atomic_set(dest, *(const uint32_t *)value, pe); break;
    case 8: nvshmem_uint64_atomic_set(dest, *(const uint64_t *)value, pe); break;
    default: abort();
    }
}

struct face face = {
    .init = set_up,
    .fini = nvshmem_finalize,
    .open = open_lane,
    .close = close_lane,
    .my_pe = nvshmem_my_pe,
    .n_pes = nvshmem_n_pes,
    .allocate = nvshmem_malloc,
    .meet = meet,
    .complete = complete,
    .store = store,
    .cmp = {NVSHMEM_CMP_EQ, NVSHMEM_CMP_NE, NVSHMEM_CMP_GT, NVSHMEM_CMP_GE, NVSHMEM_CMP_LT, NVSHMEM_CMP_LE},
    .signal_set = NVSHMEM_SIGNAL_SET,
    .signal_add = NVSHMEM_SIGNAL_ADD,
};

/* The face of nvshmem.h for the programs of this folder. */
#include "rows.h"

#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdlib.h>

static nvshmem_team_t teams[2];
static cudaStream_t stream; /* the default one */
static int *word;

static void set_up(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), half = (n - me % 2 + 1) / 2;
    teams[0] = NVSHMEM_TEAM_WORLD;
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
        int stride = n == 1 ? 1 : 2, size = (n - odd + 1) / 2;
        if (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, odd, stride, size, NULL, 0, &team) != 0) abort();
        if (odd == me % 2) teams[1] = team;
    }
    face.team[0] = (struct face_team){&teams[0], n, me, 0, 1};
    face.team[1] = (struct face_team){&teams[1], half, me / 2, me % 2, 2};
    face.stream = &stream;
    word = nvshmem_malloc(sizeof *word);
}

static void end(void)
{
    nvshmem_team_destroy(teams[1]);
    nvshmem_finalize();
}

static void complete(void)
{
    nvshmemx_quiet_on_stream(stream);
    (void)nvshmemx_int_g_on_stream(word, nvshmem_my_pe(), stream); /* until the stream has reached this call */
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
    .fini = end,
    .my_pe = nvshmem_my_pe,
    .n_pes = nvshmem_n_pes,
    .allocate = nvshmem_malloc,
    .barrier = nvshmem_barrier_all,
    .complete = complete,
    .store = store,
    .cmp = {NVSHMEM_CMP_EQ, NVSHMEM_CMP_NE, NVSHMEM_CMP_GT, NVSHMEM_CMP_GE, NVSHMEM_CMP_LT, NVSHMEM_CMP_LE},
    .signal_set = NVSHMEM_SIGNAL_SET,
    .signal_add = NVSHMEM_SIGNAL_ADD,
};

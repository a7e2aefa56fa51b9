/* The face of ishmem.h for the programs of this folder. */
#include "rows.h"

#include <ishmem.h>
#include <ishmemx.h>

#include <cstdlib>

static ishmem_team_t teams[2];

static void set_up()
{
    ishmem_init();
    int me = ishmem_my_pe(), n = ishmem_n_pes(), half = (n - me % 2 + 1) / 2;
    teams[0] = ISHMEM_TEAM_WORLD;
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        ishmem_team_t team = ISHMEM_TEAM_INVALID;
        int stride = n == 1 ? 1 : 2, size = (n - odd + 1) / 2;
        if (ishmem_team_split_strided(ISHMEM_TEAM_WORLD, odd, stride, size, nullptr, 0, &team) != 0) abort();
        if (odd == me % 2) teams[1] = team;
    }
    face.team[0] = {&teams[0], n, me, 0, 1};
    face.team[1] = {&teams[1], half, me / 2, me % 2, 2};
}

static void end()
{
    ishmem_team_destroy(teams[1]);
    ishmem_finalize();
}

static void store(void *dest, const void *value, size_t size_bytes, int pe)
{
    switch (size_bytes) {
    case 4: ishmem_atomic_set(static_cast<uint32_t *>(dest), *static_cast<const uint32_t *>(value), pe); break;
    case 8: ishmem_atomic_set(static_cast<uint64_t *>(dest), *static_cast<const uint64_t *>(value), pe); break;
    default: abort();
    }
}

static struct face make_face()
{
    struct face made = {};
    made.init = set_up;
    made.fini = end;
    made.my_pe = ishmem_my_pe;
    made.n_pes = ishmem_n_pes;
    made.allocate = ishmem_malloc;
    made.barrier = ishmem_barrier_all;
    made.complete = ishmem_quiet;
    made.store = store;
    static const int cmp[FACE_CMPS] = {ISHMEM_CMP_EQ, ISHMEM_CMP_NE, ISHMEM_CMP_GT,
                                       ISHMEM_CMP_GE, ISHMEM_CMP_LT, ISHMEM_CMP_LE};
    for (int i = 0; i < FACE_CMPS; i++) made.cmp[i] = cmp[i];
    made.signal_set = ISHMEM_SIGNAL_SET;
    made.signal_add = ISHMEM_SIGNAL_ADD;
    return made;
}

struct face face = make_face();

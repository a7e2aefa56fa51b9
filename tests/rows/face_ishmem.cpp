/* The face of ishmem.h for the programs of this folder. */
#include "rows.h"

#include <ishmem.h>
#include <ishmemx.h>

#include <cstdlib>

static struct own {
    ishmem_team_t teams[2];
} lanes[LANES_MOST];

static void set_up(bool has_threads)
{
    int provided = ISHMEM_THREAD_MULTIPLE;
    if (!has_threads)
        ishmem_init();
    else if (ishmem_init_thread(ISHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != ISHMEM_THREAD_MULTIPLE)
        abort();
}

static ishmem_team_t split(int start, int stride, int size)
{
    ishmem_team_t team = ISHMEM_TEAM_INVALID;
    if (ishmem_team_split_strided(ISHMEM_TEAM_WORLD, start, stride, size, nullptr, 0, &team) != 0) abort();
    return team;
}

static void open_lane(struct face_lane *opened)
{
    struct own *own = &lanes[opened->number];
    int me = ishmem_my_pe(), n = ishmem_n_pes(), half = (n - me % 2 + 1) / 2;
    own->teams[0] = opened->number == 0 ? (ishmem_team_t)ISHMEM_TEAM_WORLD : split(0, 1, n);
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        ishmem_team_t team = split(odd, n == 1 ? 1 : 2, (n - odd + 1) / 2);
        if (odd == me % 2) own->teams[1] = team;
    }
    opened->team[0] = {&own->teams[0], n, me, 0, 1};
    opened->team[1] = {&own->teams[1], half, me / 2, me % 2, 2};
}

static void close_lane(const struct face_lane *closed)
{
    ishmem_team_destroy(lanes[closed->number].teams[1]);
    if (closed->number != 0) ishmem_team_destroy(lanes[closed->number].teams[0]);
}

static void meet() { ishmem_team_sync(lanes[lane.number].teams[0]); }

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
    made.fini = ishmem_finalize;
    made.open = open_lane;
    made.close = close_lane;
    made.my_pe = ishmem_my_pe;
    made.n_pes = ishmem_n_pes;
    made.allocate = ishmem_malloc;
    made.meet = meet;
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

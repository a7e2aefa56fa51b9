/* The face of rocshmem.hpp for the programs of this folder. */
#include "rows.h"

#include <rocshmem/rocshmem.hpp>

#include <cstdlib>

using namespace rocshmem;

static struct own {
    rocshmem_team_t teams[2];
    rocshmem_ctx_t ctx;
    hipStream_t stream; /* lane 0's is the default one */
    uint64_t *ended, ends;
} lanes[LANES_MOST];

static void set_up(bool has_threads)
{
    (void)has_threads; /* they may always call */
    rocshmem_init();
}

static rocshmem_team_t split(int start, int stride, int size)
{
    rocshmem_team_t team = ROCSHMEM_TEAM_INVALID;
    if (rocshmem_team_split_strided(ROCSHMEM_TEAM_WORLD, start, stride, size, nullptr, 0, &team) != 0) abort();
    return team;
}

static void open_lane(struct face_lane *opened)
{
    struct own *own = &lanes[opened->number];
    int me = rocshmem_my_pe(), n = rocshmem_n_pes(), half = (n - me % 2 + 1) / 2;
    own->teams[0] = opened->number == 0 ? ROCSHMEM_TEAM_WORLD : split(0, 1, n);
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        rocshmem_team_t team = split(odd, n == 1 ? 1 : 2, (n - odd + 1) / 2);
        if (odd == me % 2) own->teams[1] = team;
    }
    if (rocshmem_ctx_create(0, &own->ctx) != 0) abort();
    if (opened->number != 0) own->stream = reinterpret_cast<hipStream_t>(own); /* without a GPU any pointer is one */
    own->ended = static_cast<uint64_t *>(rocshmem_malloc(sizeof *own->ended));
    rocshmem_uint64_atomic_set(own->ended, 0, me);
    opened->team[0] = {&own->teams[0], n, me, 0, 1};
    opened->team[1] = {&own->teams[1], half, me / 2, me % 2, 2};
    opened->ctx = &own->ctx;
    opened->stream = &own->stream;
}

static void close_lane(const struct face_lane *closed)
{
    const struct own *own = &lanes[closed->number];
    rocshmem_ctx_destroy(own->ctx);
    rocshmem_team_destroy(own->teams[1]);
    if (closed->number != 0) rocshmem_team_destroy(own->teams[0]);
}

/* The stream's operations too: a signal that this PE sends itself behind them has arrived. */
static void complete()
{
    struct own *own = &lanes[lane.number];
    rocshmem_quiet_on_stream(own->stream);
    rocshmem_putmem_signal_on_stream(own->ended, own->ended, 0, own->ended, ++own->ends, ROCSHMEM_SIGNAL_SET,
                                     rocshmem_my_pe(), own->stream);
    rocshmem_uint64_wait_until(own->ended, ROCSHMEM_CMP_EQ, own->ends);
    rocshmem_quiet();
    rocshmem_ctx_quiet(own->ctx);
}

static void meet()
{
    const struct own *own = &lanes[lane.number];
    rocshmem_team_sync_on_stream(own->teams[0], own->stream);
    complete();
}

static void store(void *dest, const void *value, size_t size_bytes, int pe)
{
    switch (size_bytes) {
    case 4: rocshmem_uint32_atomic_set(static_cast<uint32_t *>(dest), *static_cast<const uint32_t *>(value), pe); break;
    case 8: rocshmem_uint64_atomic_set(static_cast<uint64_t *>(dest), *static_cast<const uint64_t *>(value), pe); break;
    default: abort();
    }
}

static struct face make_face()
{
    struct face made = {};
    made.init = set_up;
    made.fini = rocshmem_finalize;
    made.open = open_lane;
    made.close = close_lane;
    made.my_pe = rocshmem_my_pe;
    made.n_pes = rocshmem_n_pes;
    made.allocate = rocshmem_malloc;
    made.meet = meet;
    made.complete = complete;
    made.store = store;
    static const int cmp[FACE_CMPS] = {ROCSHMEM_CMP_EQ, ROCSHMEM_CMP_NE, ROCSHMEM_CMP_GT,
                                       ROCSHMEM_CMP_GE, ROCSHMEM_CMP_LT, ROCSHMEM_CMP_LE};
    for (int i = 0; i < FACE_CMPS; i++) made.cmp[i] = cmp[i];
    made.signal_set = ROCSHMEM_SIGNAL_SET;
    made.signal_add = ROCSHMEM_SIGNAL_ADD;
    return made;
}

struct face face = make_face();

/* The face of rocshmem.hpp for the programs of this folder. */
#include "rows.h"

#include <rocshmem/rocshmem.hpp>

#include <cstdlib>

using namespace rocshmem;

static rocshmem_team_t teams[2];
static rocshmem_ctx_t ctx;
static hipStream_t stream; /* the default one */
static uint64_t *ended, ends;

static void set_up()
{
    rocshmem_init();
    int me = rocshmem_my_pe(), n = rocshmem_n_pes(), half = (n - me % 2 + 1) / 2;
    teams[0] = ROCSHMEM_TEAM_WORLD;
    for (int odd = 0; odd < 2 && odd < n; odd++) {
        rocshmem_team_t team = ROCSHMEM_TEAM_INVALID;
        int stride = n == 1 ? 1 : 2, size = (n - odd + 1) / 2;
        if (rocshmem_team_split_strided(ROCSHMEM_TEAM_WORLD, odd, stride, size, nullptr, 0, &team) != 0) abort();
        if (odd == me % 2) teams[1] = team;
    }
    if (rocshmem_ctx_create(0, &ctx) != 0) abort();
    face.team[0] = {&teams[0], n, me, 0, 1};
    face.team[1] = {&teams[1], half, me / 2, me % 2, 2};
    face.ctx = &ctx;
    face.stream = &stream;
    ended = static_cast<uint64_t *>(rocshmem_malloc(sizeof *ended));
    rocshmem_uint64_atomic_set(ended, 0, me);
}

static void end()
{
    rocshmem_ctx_destroy(ctx);
    rocshmem_team_destroy(teams[1]);
    rocshmem_finalize();
}

/* The stream's operations too: a signal that this PE sends itself behind them has arrived. */
static void complete()
{
    rocshmem_quiet_on_stream(stream);
    rocshmem_putmem_signal_on_stream(ended, ended, 0, ended, ++ends, ROCSHMEM_SIGNAL_SET, rocshmem_my_pe(), stream);
    rocshmem_uint64_wait_until(ended, ROCSHMEM_CMP_EQ, ends);
    rocshmem_quiet();
    rocshmem_ctx_quiet(ctx);
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
    made.fini = end;
    made.my_pe = rocshmem_my_pe;
    made.n_pes = rocshmem_n_pes;
    made.allocate = rocshmem_malloc;
    made.barrier = rocshmem_barrier_all;
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

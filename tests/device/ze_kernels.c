/* tests/device/ze_kernels.c: the state of kernels on an Intel GPU, on the double of Level Zero's driver: modules that
 * copy it themselves, as those of SYCL do, have it, and kernels that have nothing else reach other PEs.
 * ze_kernels direct|ring: how other PEs are reached
 * ze_kernels hang: a kernel waits for ever
 * ze_kernels host: the program decides for the processor before init, so the heap is there */
#include "tests/device/state_kernels.h"

#include <isthmus/transport.h>

/* ---- modules, as device_sycl_module.hpp registers them ---- */

static struct isthmus_device_state state, late_state;
static uint32_t kind = ISTHMUS_MEM_ZE;
static int n_questions;

static int fill(const struct isthmus_device_state *from)
{
    state = *from;
    return 0;
}

static int fill_late(const struct isthmus_device_state *from)
{
    late_state = *from;
    return 0;
}

static uint32_t kind_of(void)
{
    n_questions++;
    return kind;
}

static __attribute__((constructor)) void announce(void)
{
    CHECK(isthmus_device_register_later_v1(kind_of, fill) == 0 && n_questions == 0);
}

static bool is_equal(const struct isthmus_device_state *a, const struct isthmus_device_state *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* After init: a device without a heap has no state. */
static void check_late_modules(void)
{
    static const struct isthmus_device_state none;
    CHECK(isthmus_device_register_v1(ISTHMUS_MEM_CUDA, fill_late) == ISTHMUS_ERR_UNSUPPORTED);
    CHECK(isthmus_device_register_v1(77, fill_late) == ISTHMUS_ERR_INVALID);
    CHECK((isthmus_device_register_v1(ISTHMUS_MEM_ZE, fill_late) == 0) == (kind == ISTHMUS_MEM_ZE));
    CHECK(is_equal(&late_state, kind == ISTHMUS_MEM_ZE ? &state : &none));
    isthmus_device_unregister_v1(fill_late);
    late_state = none;
    CHECK(isthmus_device_register_later_v1(kind_of, fill_late) == 0 && n_questions == 2);
    CHECK(is_equal(&late_state, &state));
}

/* ---- flags of teams ---- */

static void meet(void *team) { nvshmemx_barrier_block(*(nvshmem_team_t *)team); }

static bool are_clear(const uint64_t *flags)
{
    int i = 0;
    while (i < ISTHMUS_DEVICE_FLAGS && flags[i] == 0) i++;
    return i == ISTHMUS_DEVICE_FLAGS;
}

/* The second team has the index of the first one, and begins with clear flags, too. */
static void check_flags(void)
{
    nvshmem_team_t team, first = NVSHMEM_TEAM_INVALID;
    isthmus_device_v1 = state;
    for (int round = 0; round < 2; round++) {
        CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team) == 0);
        CHECK(round == 0 || team == first);
        nvshmem_barrier_all();
        CHECK(are_clear(state.teams[team].flags));
        nvshmem_barrier_all();
        CHECK(isthmus_cpu_launch(1, THREADS, meet, &team) == 0 && !are_clear(state.teams[team].flags));
        nvshmem_team_destroy(team);
        first = team;
    }
    memset(&isthmus_device_v1, 0, sizeof isthmus_device_v1);
}

int main(int argc, char **argv)
{
    static const struct isthmus_device_state none;
    CHECK(argc == 2);
    if (strcmp(argv[1], "host") == 0) kind = ISTHMUS_MEM_HOST;
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    CHECK(n_questions == 1);
    if (strcmp(argv[1], "hang") == 0) hang(&state);
    check_state(&state, strcmp(argv[1], "ring") != 0);
    check_late_modules();
    check_kernels(&state);
    check_flags();
    nvshmem_finalize();
    state.stop = late_state.stop = NULL; /* processors keep it */
    CHECK(is_equal(&state, &none) && is_equal(&late_state, &none));
    return 0;
}

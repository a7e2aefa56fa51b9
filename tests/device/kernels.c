/* tests/device/kernels.c: the state of kernels on a GPU, on the double of CUDA's driver: what is in it, when which
 * module has it, and that kernels which have nothing else reach other PEs.
 * kernels [direct|ring|unfound]: how other PEs are reached; unfound: a module whose state is never there, which
 * finalize reports. */
#define ISTHMUS_DEVICE_CPU
#define ISTHMUS_NO_CUDA_HEADERS /* plugins/nvlink/cuda_api.h has the types of the driver */
#include "tests/cpu_device/on_double.h"

#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { OF_CUDA = 1 };

static int me, n_pes;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (condition) break;                                                            \
        fprintf(stderr, "PE %d: line %d: %s does not hold\n", me, __LINE__, #condition); \
        nvshmem_global_exit(1);                                                          \
    } while (0)

static bool is_empty(const struct isthmus_device_state *state)
{
    static const struct isthmus_device_state none;
    return memcmp(state, &none, sizeof none) == 0;
}

static bool is_equal(const struct isthmus_device_state *state)
{
    return memcmp(state, on_double_state(), sizeof *state) == 0;
}

/* ---- what is in it ---- */

/* CU_MEMORYTYPE_, or 0 for memory that the driver does not know and no kernel reaches. */
static unsigned type_of(const void *addr)
{
    unsigned type = 0;
    CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type;
    CHECK(on_double()->attributes(1, &asked, &value, (CUdeviceptr)(uintptr_t)addr) == CUDA_SUCCESS);
    return type;
}

static void check_teams(const struct isthmus_device_state *state)
{
    nvshmem_team_t halves, swapped = NVSHMEM_TEAM_INVALID;
    const struct isthmus_device_team *world = &state->teams[NVSHMEM_TEAM_WORLD];
    CHECK(world->n == n_pes && world->me == me && world->start == 0 && world->stride == 1 && world->list == NULL);
    const struct isthmus_device_range *range = state->ranges;
    uint64_t flags = (uintptr_t)world->flags - range->base;
    CHECK(flags + ISTHMUS_DEVICE_FLAGS * sizeof(uint64_t) <= range->length_bytes && world->flags[0] == 0);
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (n_pes + 1) / 2, NULL, 0, &halves) == 0);
    if (me % 2 == 0) {
        const struct isthmus_device_team *team = &state->teams[halves];
        CHECK(team->n == (n_pes + 1) / 2 && team->me == me / 2 && (team->stride == 2 || team->n == 1));
        nvshmem_team_destroy(halves);
        CHECK(team->n == 0);
    }
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    uint64_t *id = nvshmem_calloc(1, sizeof *id);
    if (me == 0) CHECK(nvshmemx_team_get_uniqueid(id) == 0);
    nvshmem_uint64_broadcast(NVSHMEM_TEAM_WORLD, id, id, 1, 0);
    config.uniqueid = *id;
    int mine = me < 2 && n_pes > 1 ? 1 - me : me; /* of three PEs and more a set that needs a list */
    CHECK(nvshmemx_team_init(&swapped, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n_pes, mine) == 0);
    const struct isthmus_device_team *team = &state->teams[swapped];
    CHECK(team->n == n_pes && team->me == mine && (n_pes < 3 || team->list != NULL));
    CHECK(team->list == NULL || type_of(team->list) == CU_MEMORYTYPE_DEVICE);
    for (int i = 0; i < n_pes && team->list != NULL; i++) CHECK(team->list[i] == (i < 2 ? 1 - i : i));
    nvshmem_team_destroy(swapped);
    nvshmem_free(id);
}

/* What kernels read often or write alone is memory of the device. */
static void check_places(const struct isthmus_device_state *state)
{
    const struct isthmus_ring *ring = state->ring;
    const void *const on_device[] = {state->delta,
                                     state->ranges,
                                     state->ranges[0].delta,
                                     state->teams,
                                     state->teams[NVSHMEM_TEAM_WORLD].flags,
                                     ring != NULL ? ring : (const void *)state->delta,
                                     ring != NULL ? (void *)ring->tail : state->teams,
                                     ring != NULL ? (void *)ring->seen : state->teams,
                                     ring != NULL ? (void *)ring->quiet : state->teams,
                                     ring != NULL ? (void *)ring->turns : state->teams};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        CHECK(type_of(on_device[i]) == CU_MEMORYTYPE_DEVICE);
    if (ring == NULL) return;
    const void *const on_host[] = {ring->slots, ring->replies, ring->consumed, ring->quieted, state->stop};
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++) CHECK(type_of(on_host[i]) == CU_MEMORYTYPE_HOST);
}

static void check_state(bool is_direct)
{
    const struct isthmus_device_state *state = on_double_state();
    char *block = nvshmem_malloc(64);
    CHECK(state->struct_size == sizeof *state && state->me == me && state->n == n_pes);
    CHECK((uintptr_t)block - state->heap < state->heap_bytes);
    CHECK(state->delta[me] == 0 && state->ranges[0].delta[me] == 0 && state->ranges[1].length_bytes == 0);
    for (int pe = 0; pe < n_pes; pe++) CHECK(pe == me || ((state->delta[pe] & 1) == 0) == is_direct);
    CHECK(state->n_ring_pes == (is_direct ? 0 : (uint32_t)n_pes - 1));
    CHECK((state->ring != NULL) == (state->n_ring_pes > 0) && (state->stop != NULL) == (state->ring != NULL));
    if (state->ring != NULL) CHECK(state->ring->log2_n > 4 && *state->ring->tail == 0 && *state->stop == 0);
    check_places(state);
    check_teams(state);
    nvshmem_free(block);
}

/* ---- modules ---- */

static const struct isthmus_device_state *late_state;
static int n_looks;

static void *find_late(void)
{
    CUmodule module;
    if (late_state == NULL) late_state = on_double_load(&module);
    return (void *)(uintptr_t)late_state;
}

/* Its constructor came before the one that makes its variables known. */
static const struct isthmus_device_state *third_state;
static bool is_third_known;

static void *find_third(void)
{
    CUmodule module;
    n_looks++;
    if (is_third_known && third_state == NULL) third_state = on_double_load(&module);
    return (void *)(uintptr_t)third_state;
}

static void *find_never(void) { return NULL; }

static void check_late_modules(void)
{
    CHECK(isthmus_device_register_gpu_v1(0, find_late) != 0);
    CHECK(isthmus_device_register_gpu_v1(OF_CUDA, find_late) == 0);
    CHECK(late_state != NULL && is_equal(late_state));
    CHECK(isthmus_device_register_gpu_v1(OF_CUDA, find_third) == 0);
    CHECK(n_looks == 1 && third_state == NULL);
    is_third_known = true;
    CHECK((isthmus_device_launch_v1() != 0) == (on_double_state()->ring != NULL));
    CHECK(n_looks == 2 && third_state != NULL && is_equal(third_state));
    CHECK(isthmus_device_launch_v1() >= 0 && n_looks == 2);
    isthmus_device_unregister_gpu_v1(find_third);
}

static void make_current(void)
{
    CUcontext context;
    CHECK(on_double()->retain(&context, 0) == CUDA_SUCCESS && on_double()->push(context) == CUDA_SUCCESS);
}

static CUmodule load(const char *image)
{
    CUmodule module;
    CHECK(on_double()->load(&module, image) == CUDA_SUCCESS);
    return module;
}

static const struct isthmus_device_state *state_of_library(CUlibrary library)
{
    CUdeviceptr at = 0;
    size_t size;
    CHECK(on_double()->get_global_of_library(&at, &size, library, "isthmus_device_v1") == CUDA_SUCCESS);
    return (const struct isthmus_device_state *)(uintptr_t)at;
}

/* What the program has loaded itself. */
static void check_loaded_code(void)
{
    CUmodule module, stateless = load(code_without_state), old = load(code_of_other_version);
    CUlibrary library = code_library_load(on_double()->library, code_with_state);
    const struct isthmus_device_state *of_module = on_double_load(&module), *of_library = state_of_library(library);
    CHECK(is_empty(of_module) && is_empty(of_library));
    CHECK(nvshmemx_cumodule_init(module) == NVSHMEMX_SUCCESS && is_equal(of_module));
    CHECK(nvshmemx_cumodule_init(module) == NVSHMEMX_SUCCESS && is_equal(of_module));
    CHECK(nvshmemx_culibrary_init(library) == NVSHMEMX_SUCCESS && is_equal(of_library));
    CHECK(nvshmemx_cumodule_init(NULL) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_cumodule_init((CUmodule)(void *)library) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_culibrary_init((CUlibrary)(void *)module) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_cumodule_init(stateless) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_cumodule_init(old) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_cumodule_finalize(stateless) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_culibrary_finalize((CUlibrary)(void *)module) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_cumodule_finalize(module) == NVSHMEMX_SUCCESS && is_empty(of_module));
    CHECK(nvshmemx_cumodule_finalize(module) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_culibrary_finalize(library) == NVSHMEMX_SUCCESS && is_empty(of_library));
    CHECK(on_double()->unload(module) == CUDA_SUCCESS);
    code_library_unload(on_double()->library, library);
}

/* ---- kernels that know nothing but the state ---- */

struct words {
    uint64_t *counter, *data, *signal;
};

static void exchange(void *argument)
{
    const struct words *w = argument;
    int right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    uint64_t value = 100 * (uint64_t)me + isthmus_dev_block_rank();
    nvshmem_uint64_atomic_add(w->counter, 1, 0);
    if (isthmus_dev_block_rank() != 0) return;
    nvshmem_uint64_p(w->data + 1, value, me);
    nvshmemx_putmem_signal_block(w->data, w->data + 1, 8, w->signal, 1, NVSHMEM_SIGNAL_SET, right);
    nvshmem_signal_wait_until(w->signal, NVSHMEM_CMP_EQ, 1);
    if (nvshmem_uint64_g(w->data, me) != 100 * (uint64_t)left) isthmus_dev_trap();
    nvshmem_barrier_all();
    if (nvshmem_uint64_g(w->data, right) != value) isthmus_dev_trap();
}

static void check_kernels(void)
{
    enum { BLOCKS = 3 };
    uint64_t *words = nvshmem_calloc(8, sizeof *words);
    struct words w = {words, words + 1, words + 3};
    isthmus_device_v1 = *on_double_state();
    CHECK(isthmus_cpu_launch(BLOCKS, 1, exchange, &w) == 0);
    nvshmem_barrier_all();
    CHECK(me != 0 || nvshmem_uint64_g(w.counter, 0) == BLOCKS * (uint64_t)n_pes);
    if (on_double_state()->n_ring_pes > 0) CHECK(*on_double_state()->ring->tail > 0);
    nvshmem_free(words);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "direct";
    CHECK(nvshmemx_cumodule_init(NULL) == NVSHMEMX_ERROR_NOT_SUPPORTED);
    if (strcmp(how, "unfound") == 0) (void)isthmus_device_register_gpu_v1(OF_CUDA, find_never);
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    CHECK(on_double_state() != NULL);
    make_current();
    check_state(strcmp(how, "ring") != 0);
    check_late_modules();
    check_loaded_code();
    check_kernels();
    CUmodule left;
    const struct isthmus_device_state *of_left = on_double_load(&left);
    CHECK(nvshmemx_cumodule_init(left) == NVSHMEMX_SUCCESS);
    struct isthmus_device_state before = *of_left;
    nvshmem_finalize();
    me = before.me; /* for messages */
    if (!is_empty(on_double_state()) || !is_empty(late_state) || memcmp(of_left, &before, sizeof before) != 0) {
        fprintf(stderr, "PE %d: states after finalize\n", me);
        return 1;
    }
    return 0;
}

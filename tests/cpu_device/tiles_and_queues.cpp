/* tests/cpu_device/tiles_and_queues.cpp: calls of kernels that matrix.c leaves out, for a GPU (nvcc) and for the CPU
 * device: tiles by each scope, the names with a queue pair's handle, and the state of the library. tiles.cpp has all
 * layouts, names.c all names; here the memory may be a GPU's, so kernels fill it and check it. */
#include "kernel.h"

using nvshmemx::make_layout;
using nvshmemx::make_shape;
using nvshmemx::make_stride;
using nvshmemx::Tensor;

enum { ELEMENTS = 1024, CHECKED = 256, QUEUE_N = 48 };

ON_BOTH float *source, *dest; /* symmetric: [ELEMENTS] */
ON_BOTH uint64_t *signals;    /* symmetric: [2] */
ON_BOTH int me, n_pes, right, left, n_faults;

ON_DEVICE float value(int pe, int at) { return (float)((pe + 1) * 2048 + at); }

ON_DEVICE void expect(bool is_right, const char *what, int at, double seen)
{
    if (is_right) return;
    if (KERNEL_COUNT(&n_faults) < 20) printf("PE %d: %s: element %d is %g\n", me, what, at, seen);
}

/* By the block, which is alone. */
ON_DEVICE void fill(void)
{
    nvshmemx_barrier_all_block();
    for (uint32_t i = isthmus_dev_thread_rank(); i < ELEMENTS; i += isthmus_dev_thread_count())
        source[i] = value(me, (int)i), dest[i] = -1;
    nvshmemx_barrier_all_block();
}

/* ---- tiles: of floats in two dimensions, by the whole block, which is a group of the scope ---- */

enum routine { PUT, GET, BROADCAST, SUM, LEAST, GREATEST_AT_ROOT, N_ROUTINES };

struct tile_call {
    int scope, routine;
};

/* How a tile lies: elements i, j of n[0] by n[1], `from` and `to` apart; of those, moved[0] by moved[1] are inside the
 * boundary. */
struct numbers {
    int n[2], from[2], to[2], moved[2];
};

struct cut { /* the second dimension is dense, and the boundary cuts both */
    ON_DEVICE numbers tile() { return {{6, 7}, {11, 1}, {9, 1}, {4, 5}}; }
    ON_DEVICE auto from() { return make_layout(make_shape(6, 7), make_stride(11, 1)); }
    ON_DEVICE auto to() { return make_layout(make_shape(6, 7), make_stride(9, 1)); }
};

struct dense { /* elements that may be moved by 16 bytes */
    ON_DEVICE numbers tile() { return {{8, 4}, {1, 16}, {1, 12}, {8, 4}}; }
    ON_DEVICE auto from() { return make_layout(make_shape(ConstInt<8>{}, 4), make_stride(ConstInt<1>{}, 16)); }
    ON_DEVICE auto to() { return make_layout(make_shape(ConstInt<8>{}, 4), make_stride(ConstInt<1>{}, 12)); }
};

ON_DEVICE float expected_of(int routine, int at)
{
    float sum = 0;
    switch (routine) {
    case PUT: return value(left, at);
    case GET: return value(right, at);
    case BROADCAST: return value(n_pes - 1, at);
    case LEAST: return value(0, at);
    case GREATEST_AT_ROOT: return me == n_pes - 1 ? value(me, at) : -1;
    default:
        for (int pe = 0; pe < n_pes; pe++) sum += value(pe, at);
        return sum;
    }
}

ON_DEVICE void check_tile(const numbers &tile, int routine)
{
    for (int at = (int)isthmus_dev_thread_rank(); at < CHECKED; at += (int)isthmus_dev_thread_count()) {
        float expected = -1;
        for (int i = 0; i < tile.moved[0]; i++)
            for (int j = 0; j < tile.moved[1]; j++)
                if (i * tile.to[0] + j * tile.to[1] == at)
                    expected = expected_of(routine, i * tile.from[0] + j * tile.from[1]);
        expect(dest[at] == expected, "a tile", at, dest[at]);
    }
}

template <typename Layout> ON_DEVICE Tensor<float, Layout> tensor(float *data, Layout layout) { return {data, layout}; }

/* call(suffix) by the scope's threads; scope is constant. */
#define BY_SCOPE(call)                               \
    switch (scope) {                                 \
    case ISTHMUS_THREAD: call(); break;              \
    case ISTHMUS_WARP: call(_warp); break;           \
    case ISTHMUS_WARPGROUP: call(_warpgroup); break; \
    default: call(_block); break;                    \
    }

template <int scope, typename Case> struct routines {
    using from_t = decltype(tensor(source, Case::from()));
    using to_t = decltype(tensor(dest, Case::to()));
    using tuple_t = decltype(make_shape(0, 0));

    ON_DEVICE from_t from() { return tensor(source, Case::from()); }
    ON_DEVICE to_t to() { return tensor(dest, Case::to()); }
    ON_DEVICE tuple_t start() { return make_shape(0, 0); }
    ON_DEVICE tuple_t end() { return make_shape(Case::tile().moved[0], Case::tile().moved[1]); }

    ON_DEVICE void put(void)
    {
#define CALL(suffix)                                                                                               \
    nvshmemx::tile_put##suffix<from_t, to_t, tuple_t, nvshmemx::tile_algo_t::PEER_PUSH_NBI>(from(), to(), start(), \
                                                                                            end(), right, 0)
        BY_SCOPE(CALL)
#undef CALL
        nvshmem_quiet();
    }

    ON_DEVICE void get(void)
    {
#define CALL(suffix)                                                                                                 \
    nvshmemx::tile_get##suffix<from_t, to_t, tuple_t, nvshmemx::tile_algo_t::REMOTE_PULL_NBI>(from(), to(), start(), \
                                                                                              end(), right, 0)
        BY_SCOPE(CALL)
#undef CALL
        nvshmem_quiet();
    }

#define COLLECTIVE(name, suffix, algorithm, ...)                                                                  \
    nvshmemx::name##suffix<from_t, to_t, tuple_t, nvshmemx::algorithm>(NVSHMEM_TEAM_WORLD, from(), to(), start(), \
                                                                       end(), __VA_ARGS__);                       \
    nvshmemx::tile_collective_wait##suffix<nvshmemx::algorithm>(NVSHMEM_TEAM_WORLD, 0)

    ON_DEVICE void broadcast(void)
    {
#define CALL(suffix)                                                                         \
    if (me == n_pes - 1)                                                                     \
        nvshmemx::tile_broadcast##suffix<from_t, to_t, tuple_t, nvshmemx::ISTHMUS_PUSH_NBI>( \
            NVSHMEM_TEAM_WORLD, from(), to(), start(), end(), 0);                            \
    nvshmemx::tile_collective_wait##suffix<nvshmemx::ISTHMUS_PUSH_NBI>(NVSHMEM_TEAM_WORLD, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    ON_DEVICE void sum(void){
#define CALL(suffix) COLLECTIVE(tile_sum_reduce, suffix, ISTHMUS_PUSH_NBI, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    ON_DEVICE void least(void){
#define CALL(suffix) COLLECTIVE(tile_min_reduce, suffix, ISTHMUS_PULL_NBI, 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    ON_DEVICE void greatest_at_root(void){
#define CALL(suffix) COLLECTIVE(tile_max_rooted_reduce, suffix, ISTHMUS_PULL_NBI, n_pes - 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    ON_DEVICE void run(int routine)
    {
        switch (routine) {
        case PUT: put(); break;
        case GET: get(); break;
        case BROADCAST: broadcast(); break;
        case SUM: sum(); break;
        case LEAST: least(); break;
        default: greatest_at_root();
        }
        nvshmemx_barrier_all_block();
        check_tile(Case::tile(), routine);
    }
};

KERNEL tiles(void *argument)
{
    const tile_call *call = (const tile_call *)argument;
    fill();
    switch (call->scope) {
    case ISTHMUS_THREAD: routines<ISTHMUS_THREAD, cut>::run(call->routine); break;
    case ISTHMUS_WARP: routines<ISTHMUS_WARP, dense>::run(call->routine); break;
    case ISTHMUS_WARPGROUP: routines<ISTHMUS_WARPGROUP, cut>::run(call->routine); break;
    default: routines<ISTHMUS_BLOCK, dense>::run(call->routine);
    }
}

/* ---- the names with a handle: each call moves other elements, and all are checked at once ---- */

ON_DEVICE bool is_leader(void) { return isthmus_dev_thread_rank() == 0; }

ON_DEVICE void put_by_thread(void)
{
    nvshmemx_qp_float_p(dest, source[0], right, NVSHMEMX_QP_DEFAULT);
    nvshmemx_qp_float_put(dest + 1, source + 1, 3, right, NVSHMEMX_QP_ANY);
    nvshmemx_qp_float_put_nbi(dest + 4, source + 4, 4, right, 1);
    nvshmemx_qp_float_put_signal_nbi(dest + 8, source + 8, 4, signals, 1, NVSHMEM_SIGNAL_ADD, right, NVSHMEMX_QP_ANY);
    nvshmemx_qp_float_put_signal(dest + 12, source + 12, 4, signals, 1, NVSHMEM_SIGNAL_ADD, right, 1);
    nvshmemx_qp_fence(right, NULL, 0);
    nvshmemx_qp_signal_op(signals + 1, 9, NVSHMEM_SIGNAL_SET, right, NVSHMEMX_QP_ANY);
}

ON_DEVICE void get_by_thread(void)
{
    dest[QUEUE_N] = nvshmemx_qp_float_g(source + QUEUE_N, right, NVSHMEMX_QP_DEFAULT);
    nvshmemx_qp_float_get(dest + QUEUE_N + 1, source + QUEUE_N + 1, 3, right, NVSHMEMX_QP_ANY);
    nvshmemx_qp_float_get_nbi(dest + QUEUE_N + 4, source + QUEUE_N + 4, 4, right, 1);
    nvshmemx_qp_quiet(right, NULL, 0);
}

/* A block of one warp. */
KERNEL queues(void *unused)
{
    (void)unused;
    fill();
    if (is_leader()) put_by_thread();
    nvshmemx_qp_float_put_warp(dest + 16, source + 16, 8, right, NVSHMEMX_QP_ANY);
    nvshmemx_qp_float_put_nbi_warp(dest + 24, source + 24, 4, right, NVSHMEMX_QP_ANY);
    nvshmemx_qp_fence_warp(right, NULL, 0);
    nvshmemx_qp_float_put_block(dest + 28, source + 28, 4, right, 1);
    nvshmemx_qp_float_put_nbi_block(dest + 32, source + 32, 8, right, 1);
    nvshmemx_qp_float_put_signal_block(dest + 40, source + 40, QUEUE_N - 40, signals, 1, NVSHMEM_SIGNAL_ADD, right, 1);
    nvshmemx_qp_quiet_block(right, NULL, 0);
    if (is_leader()) get_by_thread();
    nvshmemx_qp_float_get_warp(dest + QUEUE_N + 8, source + QUEUE_N + 8, 24, right, NVSHMEMX_QP_ANY);
    nvshmemx_qp_float_get_nbi_block(dest + QUEUE_N + 32, source + QUEUE_N + 32, QUEUE_N - 32, right, 1);
    nvshmemx_qp_quiet_block(right, NULL, 0);
    nvshmem_signal_wait_until(signals, NVSHMEM_CMP_EQ, 3);
    nvshmem_signal_wait_until(signals + 1, NVSHMEM_CMP_EQ, 9);
    nvshmemx_barrier_all_block();
    for (int i = (int)isthmus_dev_thread_rank(); i < CHECKED; i += (int)isthmus_dev_thread_count()) {
        float expected = i < QUEUE_N ? value(left, i) : i < 2 * QUEUE_N ? value(right, i) : -1;
        expect(dest[i] == expected, "a name with a handle", i, dest[i]);
    }
}

/* ---- the host ---- */

static void run(uint32_t threads, kernel_function kernel, const void *argument, size_t bytes)
{
    nvshmem_barrier_all();
    if (kernel_launch(1, threads, kernel, argument, bytes) == 0) return;
    fprintf(stderr, "PE %d: a kernel was stopped\n", me);
    exit(1);
}

/* ---- the state, which kernels may look at before init, too ---- */

ON_BOTH int state_seen;

KERNEL look_at_state(void *unused)
{
    (void)unused;
    state_seen = nvshmemx_init_status();
}

static void expect_state(int state, const char *when)
{
    state_seen = -1;
    if (kernel_launch(1, 1, look_at_state, NULL, 0) == 0 && state_seen == state) return;
    fprintf(stderr, "PE %d: a kernel %s: nvshmemx_init_status is %d, expected %d\n", me, when, state_seen, state);
    exit(1);
}

int main()
{
    static const uint32_t threads[] = {1, 32, 128, 40};
    kernel_need_device();
    expect_state(NVSHMEM_STATUS_NOT_INITIALIZED, "before init");
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    expect_state(NVSHMEM_STATUS_IS_INITIALIZED, "after init");
    right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    source = static_cast<float *>(nvshmem_malloc(ELEMENTS * sizeof(float)));
    dest = static_cast<float *>(nvshmem_malloc(ELEMENTS * sizeof(float)));
    signals = static_cast<uint64_t *>(nvshmem_calloc(2, sizeof(uint64_t)));
    for (int scope = ISTHMUS_THREAD; scope <= ISTHMUS_BLOCK; scope++)
        for (int routine = 0; routine < N_ROUTINES; routine++) {
            tile_call call = {scope, routine};
            run(threads[scope], tiles, &call, sizeof call);
        }
    run(32, queues, NULL, 0);
    nvshmem_barrier_all();
    if (me == 0 && n_faults == 0) printf("tiles and handles on %d PEs\n", n_pes);
    nvshmem_finalize();
    expect_state(NVSHMEM_STATUS_NOT_INITIALIZED, "after finalize");
    return n_faults != 0;
}

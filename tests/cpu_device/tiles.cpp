/* tests/cpu_device/tiles.cpp: the tile interface on the CPU device, by threads, warps, warpgroups and blocks: tiles of
 * several layouts, inside of and beyond a boundary, against a model that goes through all elements of the matrix. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdio.h>

using nvshmemx::get;
using nvshmemx::make_layout;
using nvshmemx::make_shape;
using nvshmemx::make_stride;
using nvshmemx::Tensor;

enum { MATRIX = 1024, MOST_PES = 8 };

static float *source, *dest; /* symmetric: [MATRIX] and [MATRIX * MOST_PES] */
static int me, n_pes, right, left, n_faults;

static float value(int pe, size_t at) { return (float)((pe + 1) * 2048) + (float)at; }

static void fault(const char *what, int scope, size_t at, float seen, float expected)
{
    static const char *const names[] = {"thread", "warp", "warpgroup", "block"};
    if (__atomic_fetch_add(&n_faults, 1, __ATOMIC_RELAXED) < 20)
        fprintf(stderr, "PE %d: %s by a %s: element %zu is %g, expected %g\n", me, what, names[scope], at, (double)seen,
                (double)expected);
}

/* ---- layouts: how a tile lies in the source's matrix and in the destination's ---- */

struct columns { /* dense, of 8 elements that may be moved by 16 bytes */
    static auto from() { return make_layout(make_shape(ConstInt<8>{}, 4), make_stride(ConstInt<1>{}, 16)); }
    static auto to() { return make_layout(make_shape(ConstInt<8>{}, 4), make_stride(ConstInt<1>{}, 12)); }
    static auto start() { return make_shape(); }
    static auto boundary() { return make_shape(); }
};

struct rows { /* the second dimension is dense; cut in both */
    static auto from() { return make_layout(make_shape(6, 7), make_stride(11, 1)); }
    static auto to() { return make_layout(make_shape(6, 7), make_stride(9, 1)); }
    static auto start() { return make_shape(10, 20); }
    static auto boundary() { return make_shape(14, 25); }
};

struct scattered { /* no dimension is dense */
    static auto from() { return make_layout(make_shape(3, 5), make_stride(2, 8)); }
    static auto to() { return make_layout(make_shape(3, 5), make_stride(3, 10)); }
    static auto start() { return make_shape(0, 0); }
    static auto boundary() { return make_shape(3, 4); }
};

struct line {
    static auto from() { return make_layout(make_shape(9), make_stride(1)); }
    static auto to() { return make_layout(make_shape(9), make_stride(1)); }
    static auto start() { return make_shape(4L); }
    static auto boundary() { return make_shape(12L); }
};

struct cube {
    static auto from() { return make_layout(make_shape(2, 3, 4), make_stride(1, 4, 16)); }
    static auto to() { return make_layout(make_shape(2, 3, 4), make_stride(1, 2, 6)); }
    static auto start() { return make_shape(0, 0, 0); }
    static auto boundary() { return make_shape(2, 3, 3); }
};

struct single { /* a dimension of length 1, whose stride means nothing */
    static auto from() { return make_layout(make_shape(1, 5), make_stride(0, 8)); }
    static auto to() { return make_layout(make_shape(1, 5), make_stride(0, 6)); }
    static auto start() { return make_shape(); }
    static auto boundary() { return make_shape(); }
};

struct repeated { /* a dimension along which the same element is read */
    static auto from() { return make_layout(make_shape(3, 4), make_stride(0, 8)); }
    static auto to() { return make_layout(make_shape(3, 4), make_stride(2, 7)); }
    static auto start() { return make_shape(); }
    static auto boundary() { return make_shape(); }
};

struct outside { /* nothing is moved */
    static auto from() { return make_layout(make_shape(4, 4), make_stride(1, 4)); }
    static auto to() { return make_layout(make_shape(4, 4), make_stride(1, 4)); }
    static auto start() { return make_shape(8, 0); }
    static auto boundary() { return make_shape(8, 4); }
};

/* ---- the model ---- */

static void numbers(nvshmemx::shape<>, long *) {}
template <typename A> static void numbers(nvshmemx::shape<A> s, long *out) { out[0] = s.first; }
template <typename A, typename B> static void numbers(nvshmemx::shape<A, B> s, long *out)
{
    out[0] = s.first, out[1] = s.second;
}
template <typename A, typename B, typename C> static void numbers(nvshmemx::shape<A, B, C> s, long *out)
{
    out[0] = s.first, out[1] = s.second, out[2] = s.third;
}

/* Calls element(from, to) for the offsets of each element that a tile of this layout moves. */
template <typename Case, typename Element> static void each(Element element)
{
    long n[3] = {1, 1, 1}, from[3] = {}, to[3] = {}, start[3] = {}, end[3] = {1000, 1000, 1000};
    numbers(Case::from().shape(), n), numbers(Case::from().stride(), from), numbers(Case::to().stride(), to);
    numbers(Case::start(), start), numbers(Case::boundary(), end);
    for (long i = 0; i < n[0] && start[0] + i < end[0]; i++)
        for (long j = 0; j < n[1] && start[1] + j < end[1]; j++)
            for (long k = 0; k < n[2] && start[2] + k < end[2]; k++)
                element((size_t)(i * from[0] + j * from[1] + k * from[2]), (size_t)(i * to[0] + j * to[1] + k * to[2]));
}

static void fill(void)
{
    nvshmem_barrier_all();
    for (size_t i = 0; i < MATRIX; i++) source[i] = value(me, i);
    for (size_t i = 0; i < MATRIX * MOST_PES; i++) dest[i] = -1;
    nvshmem_barrier_all();
}

static float expected[MATRIX * MOST_PES];

static void forget(void)
{
    for (float &element : expected) element = -1;
}

static void compare(const char *what, int scope)
{
    nvshmem_barrier_all();
    for (size_t i = 0; i < MATRIX * MOST_PES; i++)
        if (dest[i] != expected[i]) fault(what, scope, i, dest[i], expected[i]);
}

/* ---- kernels: one of each scope, and as many threads as it takes ---- */

static const int threads_of[] = {1, 32, 128, 40};

template <typename Layout> static Tensor<float, Layout> tensor(float *data, Layout layout) { return {data, layout}; }

/* call(suffix) by the scope's threads. */
#define BY_SCOPE(call)                               \
    switch (scope) {                                 \
    case ISTHMUS_THREAD: call(); break;              \
    case ISTHMUS_WARP: call(_warp); break;           \
    case ISTHMUS_WARPGROUP: call(_warpgroup); break; \
    default: call(_block); break;                    \
    }

template <typename Case> struct tile {
    using from_t = decltype(tensor(source, Case::from()));
    using to_t = decltype(tensor(dest, Case::to()));
    using tuple_t = decltype(Case::start());
    static int scope;

    static from_t from() { return tensor(source, Case::from()); }
    static to_t to() { return tensor(dest, Case::to()); }

    static void put(void *)
    {
#define CALL(suffix)                                                                         \
    nvshmemx::tile_put##suffix<from_t, to_t, tuple_t, nvshmemx::tile_algo_t::PEER_PUSH_NBI>( \
        from(), to(), Case::start(), tuple_t(Case::boundary()), right, 0)
        BY_SCOPE(CALL)
#undef CALL
        nvshmem_quiet();
    }

    static void get(void *)
    {
#define CALL(suffix)                                                                           \
    nvshmemx::tile_get##suffix<from_t, to_t, tuple_t, nvshmemx::tile_algo_t::REMOTE_PULL_NBI>( \
        from(), to(), Case::start(), tuple_t(Case::boundary()), right, 0)
        BY_SCOPE(CALL)
#undef CALL
        nvshmem_quiet();
    }

#define ALGORITHM nvshmemx::ISTHMUS_PUSH_NBI
#define COLLECTIVE(name, suffix, ...)                                                                         \
    nvshmemx::name##suffix<from_t, to_t, tuple_t, ALGORITHM>(NVSHMEM_TEAM_WORLD, from(), to(), Case::start(), \
                                                             tuple_t(Case::boundary()), __VA_ARGS__);         \
    nvshmemx::tile_collective_wait##suffix<ALGORITHM>(NVSHMEM_TEAM_WORLD, 0)

    static void sum(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_sum_reduce, suffix, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void broadcast(void *)
    {
#define CALL(suffix)                                                                        \
    if (me == n_pes - 1)                                                                    \
        nvshmemx::tile_broadcast##suffix<from_t, to_t, tuple_t, ALGORITHM>(                 \
            NVSHMEM_TEAM_WORLD, from(), to(), Case::start(), tuple_t(Case::boundary()), 0); \
    nvshmemx::tile_collective_wait##suffix<ALGORITHM>(NVSHMEM_TEAM_WORLD, 0)
        BY_SCOPE(CALL)
#undef CALL
    }
#undef ALGORITHM
#define ALGORITHM nvshmemx::ISTHMUS_PULL_NBI

    static void least(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_min_reduce, suffix, 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void greatest_at_root(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_max_rooted_reduce, suffix, n_pes - 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    /* The other reductions. A root that is given to a form which is not rooted selects nothing. */
    static void sum_at_root(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_sum_reduce, suffix, n_pes - 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void sum_rooted(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_sum_rooted_reduce, suffix, n_pes - 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void greatest(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_max_reduce, suffix, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void greatest_given_root(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_max_reduce, suffix, n_pes - 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void least_without_root(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_min_reduce, suffix, 0)
        BY_SCOPE(CALL)
#undef CALL
    }

    static void least_at_root(void *)
    {
#define CALL(suffix) COLLECTIVE(tile_min_rooted_reduce, suffix, n_pes - 1, 0)
        BY_SCOPE(CALL)
#undef CALL
    }
#undef ALGORITHM

    static void run(const char *what, isthmus_cpu_kernel kernel)
    {
        if (isthmus_cpu_launch(1, (uint32_t)threads_of[scope], kernel, NULL) != 0) nvshmem_global_exit(1);
        compare(what, scope);
        fill();
        forget();
    }

    /* Every routine on tiles of this layout. */
    static void check(int by)
    {
        scope = by;
        fill();
        forget();
        each<Case>([](size_t from, size_t to) { expected[to] = value(left, from); });
        run("tile_put", put);
        each<Case>([](size_t from, size_t to) { expected[to] = value(right, from); });
        run("tile_get", get);
        each<Case>([](size_t from, size_t to) { expected[to] = value(n_pes - 1, from); });
        run("tile_broadcast", broadcast);
        each<Case>([](size_t from, size_t to) { expected[to] = value(0, from); });
        run("tile_min_reduce", least);
        if (me == n_pes - 1) each<Case>([](size_t from, size_t to) { expected[to] = value(me, from); });
        run("tile_max_rooted_reduce", greatest_at_root);
        each<Case>([](size_t from, size_t to) { expected[to] = sum_of(from); });
        run("tile_sum_reduce", sum);
    }

    static float sum_of(size_t from)
    {
        float total = 0;
        for (int pe = 0; pe < n_pes; pe++) total += value(pe, from);
        return total;
    }

    static void check_others(int by)
    {
        scope = by;
        fill();
        forget();
        each<Case>([](size_t from, size_t to) { expected[to] = sum_of(from); });
        run("tile_sum_reduce with a root", sum_at_root);
        if (me == n_pes - 1) each<Case>([](size_t from, size_t to) { expected[to] = sum_of(from); });
        run("tile_sum_rooted_reduce", sum_rooted);
        each<Case>([](size_t from, size_t to) { expected[to] = value(n_pes - 1, from); });
        run("tile_max_reduce", greatest);
        each<Case>([](size_t from, size_t to) { expected[to] = value(n_pes - 1, from); });
        run("tile_max_reduce with a root", greatest_given_root);
        each<Case>([](size_t from, size_t to) { expected[to] = value(0, from); });
        run("tile_min_reduce without a root", least_without_root);
        if (me == n_pes - 1) each<Case>([](size_t from, size_t to) { expected[to] = value(0, from); });
        run("tile_min_rooted_reduce", least_at_root);
    }
};
template <typename Case> int tile<Case>::scope;

/* ---- a gather has a shape of its own: along the second dimension, and along the first ---- */

template <int dimension, int scope> static void gather(void *)
{
    auto from = tensor(source, make_layout(make_shape(4, 3), make_stride(1, 6)));
    auto layout = dimension == 1 ? make_layout(make_shape(4, 3 * n_pes), make_stride(1, 8))
                                 : make_layout(make_shape(4 * n_pes, 3), make_stride(1, 4 * MOST_PES));
    auto to = tensor(dest, layout);
    auto start = make_shape(0, 0), boundary = make_shape(4, 2);
#define CALL(suffix)                                                                                                \
    nvshmemx::tile_allgather##suffix<decltype(from), decltype(to), decltype(boundary), nvshmemx::ISTHMUS_PUSH_NBI>( \
        NVSHMEM_TEAM_WORLD, from, to, start, boundary, 0);                                                          \
    nvshmemx::tile_collective_wait##suffix<nvshmemx::ISTHMUS_PUSH_NBI>(NVSHMEM_TEAM_WORLD, 0)
    BY_SCOPE(CALL)
#undef CALL
}

template <int dimension, int scope> static void check_gather(void)
{
    fill();
    forget();
    for (int pe = 0; pe < n_pes; pe++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++)
                expected[dimension == 1 ? i + 8 * (3 * pe + j) : 4 * pe + i + 4 * MOST_PES * j] = value(
                    pe, (size_t)(i + 6 * j));
    if (isthmus_cpu_launch(1, (uint32_t)threads_of[scope], gather<dimension, scope>, NULL) != 0) nvshmem_global_exit(1);
    compare("tile_allgather", scope);
}

int main()
{
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    source = static_cast<float *>(nvshmem_malloc(MATRIX * sizeof(float)));
    dest = static_cast<float *>(nvshmem_malloc(MATRIX * MOST_PES * sizeof(float)));
    for (int scope = ISTHMUS_THREAD; scope <= ISTHMUS_BLOCK; scope++) {
        tile<columns>::check(scope);
        tile<rows>::check(scope);
        tile<scattered>::check(scope);
        tile<line>::check(scope);
        tile<cube>::check(scope);
        tile<single>::check(scope);
        tile<repeated>::check(scope);
        tile<outside>::check(scope);
        tile<rows>::check_others(scope);
    }
    check_gather<1, ISTHMUS_THREAD>();
    check_gather<1, ISTHMUS_WARP>();
    check_gather<0, ISTHMUS_WARPGROUP>();
    check_gather<0, ISTHMUS_BLOCK>();
    nvshmem_barrier_all();
    nvshmem_finalize();
    return n_faults != 0;
}

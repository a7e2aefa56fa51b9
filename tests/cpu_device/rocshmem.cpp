/* tests/cpu_device/rocshmem.cpp: rocSHMEM's names in kernels, each family by one type or two: by threads, wavefronts
 * and work-groups, without a context, with one of a work-group and with one of a team. rows.rocshmem_device has the
 * types of all names; what the operations do at every length and alignment is in matrix.c. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <rocshmem/rocshmem.hpp>
#include <stdio.h>

using namespace rocshmem;

enum { THREADS = 80, N = 12 }; /* two wavefronts and a half; elements of a group's slice */
enum { THREAD = ISTHMUS_THREAD, WAVE = ISTHMUS_WARP, WG = ISTHMUS_BLOCK };

static struct {
    long *from, *to, *back; /* [THREADS][N] */
    uint64_t *signals;      /* [THREADS] */
    long *words;            /* [8] */
    unsigned *bits;
    float *real, *sum, *all;
} mem;
static rocshmem_ctx_t ctx, reversed_ctx; /* of the work-group */
static rocshmem_team_t reversed;         /* all PEs, the last one first */
static int me, n_pes, right, left, n_faults;

static void expect(bool is_right, const char *what)
{
    if (is_right || __atomic_fetch_add(&n_faults, 1, __ATOMIC_RELAXED) >= 20) return;
    fprintf(stderr, "PE %d, thread %u: %s\n", me, isthmus_dev_thread_rank(), what);
}

static bool is_first() { return isthmus_dev_thread_rank() == 0; }

static size_t slice_of(int scope) { return isthmus_dev_thread_rank() / isthmus_dev_group_threads(scope); }

static long value_of(int mark, int pe, size_t slice, int i)
{
    return mark * 1000000L + pe * 100000L + (long)slice * 100 + i;
}

static void everybody()
{
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    rocshmem_barrier_all_wg();
}

/* ---- put, get and signals: each group has a slice, and its left neighbour's fellow writes into it ---- */

static void begin(int mark, int scope)
{
    size_t slice = slice_of(scope);
    everybody();
    if (isthmus_dev_is_leader(scope))
        for (int i = 0; i < N; i++) {
            mem.from[slice * N + i] = value_of(mark, me, slice, i);
            mem.to[slice * N + i] = mem.back[slice * N + i] = -1;
        }
    everybody();
}

static void check(const long *seen, int mark, int pe, int scope, const char *what)
{
    for (int i = 0; i < N; i++) expect(seen[i] == value_of(mark, pe, slice_of(scope), i), what);
}

template <typename Call> static void put_case(const char *what, int mark, int scope, Call call)
{
    begin(mark, scope);
    call(mem.to + slice_of(scope) * N, mem.from + slice_of(scope) * N);
    everybody();
    check(mem.to + slice_of(scope) * N, mark, left, scope, what);
}

template <typename Call> static void get_case(const char *what, int mark, int scope, Call call)
{
    begin(mark, scope);
    call(mem.back + slice_of(scope) * N, mem.from + slice_of(scope) * N);
    rocshmem_quiet();
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    check(mem.back + slice_of(scope) * N, mark, right, scope, what);
}

/* The data is there once the signal is: no barrier of all PEs comes before the check. */
template <typename Call> static void signal_case(const char *what, int mark, int scope, Call call)
{
    uint64_t *signal = mem.signals + slice_of(scope);
    everybody(); /* has seen the signals of the case before */
    if (isthmus_dev_is_leader(scope)) *signal = (uint64_t)mark;
    begin(mark, scope);
    call(mem.to + slice_of(scope) * N, mem.from + slice_of(scope) * N, signal, (uint64_t)mark + 1);
    if (isthmus_dev_is_leader(scope))
        expect(rocshmem_signal_wait_until(signal, ROCSHMEM_CMP_GT, (uint64_t)mark) == (uint64_t)mark + 1, what);
    isthmus_dev_barrier(scope);
    check(mem.to + slice_of(scope) * N, mark, left, scope, what);
    expect(rocshmem_signal_fetch(signal) == (uint64_t)mark + 1, what);
    rocshmem_quiet();
}

#define PUT(scope, call) put_case(#call, __LINE__, scope, [&](long *to, const long *from) { call; })
#define GET(scope, call) get_case(#call, __LINE__, scope, [&](long *to, const long *from) { call; })
#define SIGNAL(scope, call)                                                                            \
    signal_case(#call, __LINE__, scope, [&](long *to, const long *from, uint64_t *at, uint64_t next) { \
        call;                                                                                          \
        (void)next;                                                                                    \
    })

static void puts_(void *)
{
    PUT(THREAD, rocshmem_long_put(to, from, N, right));
    PUT(THREAD, rocshmem_putmem_nbi(to, from, N * sizeof *to, right));
    PUT(THREAD, rocshmem_ctx_long_put_nbi(ctx, to, from, N, right));
    PUT(THREAD, rocshmem_ctx_long_put(reversed_ctx, to, from, N, n_pes - 1 - right));
    PUT(THREAD, for (int i = 0; i < N; i++) rocshmem_long_p(to + i, from[i], right));
    PUT(WAVE, rocshmem_long_put_wave(to, from, N, right));
    PUT(WAVE, rocshmem_ctx_putmem_nbi_wave(ROCSHMEM_CTX_DEFAULT, to, from, N * sizeof *to, right));
    PUT(WAVE, rocshmem_long_put_nbi_wave(to, from, N, right));
    PUT(WG, rocshmem_putmem_wg(to, from, N * sizeof *to, right));
    PUT(WG, rocshmem_ctx_long_put_nbi_wg(reversed_ctx, to, from, N, n_pes - 1 - right));
}

static void gets_(void *)
{
    GET(THREAD, rocshmem_long_get(to, from, N, right));
    GET(THREAD, rocshmem_getmem_nbi(to, from, N * sizeof *to, right));
    GET(THREAD, rocshmem_ctx_getmem(ctx, to, from, N * sizeof *to, right));
    GET(THREAD, for (int i = 0; i < N; i++) to[i] = rocshmem_ctx_long_g(reversed_ctx, from + i, n_pes - 1 - right));
    GET(WAVE, rocshmem_long_get_nbi_wave(to, from, N, right));
    GET(WAVE, rocshmem_ctx_getmem_wave(ctx, to, from, N * sizeof *to, right));
    GET(WG, rocshmem_long_get_wg(to, from, N, right));
    GET(WG, rocshmem_ctx_getmem_nbi_wg(ctx, to, from, N * sizeof *to, right));
}

static void signals_(void *)
{
    SIGNAL(THREAD, rocshmem_long_put_signal(to, from, N, at, 1, ROCSHMEM_SIGNAL_ADD, right));
    SIGNAL(THREAD, rocshmem_putmem_signal_nbi(to, from, N * sizeof *to, at, next, ROCSHMEM_SIGNAL_SET, right));
    SIGNAL(THREAD, rocshmem_long_put(to, from, N, right); rocshmem_fence(right); rocshmem_signal_add(at, 1, right));
    SIGNAL(THREAD, rocshmem_long_put_nbi(to, from, N, right); rocshmem_ctx_fence(ctx);
           rocshmem_ctx_signal_set(ctx, at, next, right));
    SIGNAL(WAVE, rocshmem_long_put_signal_wave(to, from, N, at, 1, ROCSHMEM_SIGNAL_ADD, right));
    SIGNAL(WAVE, rocshmem_ctx_putmem_signal_nbi_wave(ctx, to, from, N * sizeof *to, at, 1, ROCSHMEM_SIGNAL_ADD, right));
    SIGNAL(WG, rocshmem_putmem_signal_wg(to, from, N * sizeof *to, at, next, ROCSHMEM_SIGNAL_SET, right));
    SIGNAL(WG, rocshmem_ctx_long_put_signal_nbi_wg(reversed_ctx, to, from, N, at, 1, ROCSHMEM_SIGNAL_ADD,
                                                   n_pes - 1 - right));
}

/* ---- atomics: all threads of all PEs on words of PE 0, or of the last one, number 0 in the reversed team ---- */

static void atomics_(void *)
{
    long all = (long)n_pes * THREADS, last = n_pes - 1;
    if (is_first()) mem.words[0] = mem.words[1] = mem.words[2] = 0, *mem.bits = 0;
    everybody();
    long old = rocshmem_long_atomic_fetch_add(mem.words, 2, 0);
    expect(old >= 0 && old < 2 * all && old % 2 == 0, "atomic_fetch_add");
    rocshmem_ctx_long_atomic_inc(reversed_ctx, mem.words + 1, 0);
    rocshmem_ctx_uint_atomic_or(ctx, mem.bits, 1u << me, right);
    if (rocshmem_long_atomic_compare_swap(mem.words + 2, 0, me + 1, 0) == 0)
        rocshmem_long_atomic_add(mem.words + 2, 100, 0);
    everybody();
    expect(rocshmem_long_atomic_fetch(mem.words, 0) == 2 * all, "atomic_fetch");
    expect(rocshmem_long_g(mem.words + 1, (int)last) == all, "ctx_atomic_inc");
    expect(rocshmem_uint_atomic_fetch_and(mem.bits, ~0u, me) == 1u << left, "ctx_atomic_or");
    long first = rocshmem_long_atomic_fetch(mem.words + 2, 0);
    expect(first > 100 && first <= 100 + n_pes, "atomic_compare_swap");
    everybody();
    if (is_first()) {
        expect(rocshmem_long_atomic_swap(mem.words + 3, 7 + me, right) != 7 + left || n_pes == 1, "atomic_swap");
        rocshmem_uint_atomic_set(mem.bits, 12, me);
        expect(rocshmem_uint_atomic_fetch_xor(mem.bits, 5, me) == 12 && *mem.bits == 9, "atomic_fetch_xor");
    }
    everybody();
    expect(mem.words[3] == 7 + left, "atomic_swap");
}

/* ---- waits ---- */

static void waits_(void *)
{
    static const int comparisons[] = {ROCSHMEM_CMP_EQ, ROCSHMEM_CMP_NE, ROCSHMEM_CMP_GT,
                                      ROCSHMEM_CMP_GE, ROCSHMEM_CMP_LT, ROCSHMEM_CMP_LE};
    static const int holds[][3] = {{0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 1}, {1, 0, 0}, {1, 1, 0}}; /* of 4, 5, 6 */
    size_t found[2] = {9, 9};
    if (is_first())
        for (int i = 0; i < 8; i++) mem.words[i] = 4 + i % 3;
    everybody();
    for (int c = 0; c < 6; c++)
        for (int i = 0; i < 3; i++) expect(rocshmem_long_test(mem.words + i, comparisons[c], 5) == holds[c][i], "test");
    everybody();
    if (is_first()) rocshmem_long_p(mem.words + 1, 77, right);
    rocshmem_long_wait_until(mem.words + 1, ROCSHMEM_CMP_EQ, 77);
    const long wanted[2] = {4, 77};
    rocshmem_long_wait_until_all_vector(mem.words, 2, nullptr, ROCSHMEM_CMP_EQ, wanted);
    expect(rocshmem_long_wait_until_any(mem.words, 2, nullptr, ROCSHMEM_CMP_GT, 70) == 1, "wait_until_any");
    expect(rocshmem_long_wait_until_some(mem.words, 2, found, nullptr, ROCSHMEM_CMP_LT, 5) == 1 && found[0] == 0,
           "wait_until_some");
    everybody();
}

/* ---- collectives ---- */

static void fill(float mark)
{
    everybody();
    for (int i = (int)isthmus_dev_thread_rank(); i < N * n_pes; i += THREADS)
        mem.real[i] = mark + 100.0f * (float)me + (float)i, mem.all[i] = mem.sum[i] = -1;
    everybody();
}

static void collectives_(void *)
{
    fill(1);
    expect(rocshmem_ctx_float_broadcast_wg(ctx, reversed, mem.all, mem.real, N, 0) == 0, "broadcast");
    for (int i = 0; i < N; i++)
        expect(mem.all[i] == 1 + 100.0f * (float)(n_pes - 1) + (float)i, "broadcast of the root");
    fill(2);
    expect(rocshmem_ctx_float_fcollect_wg(ctx, ROCSHMEM_TEAM_WORLD, mem.all, mem.real, N) == 0, "fcollect");
    for (int i = 0; i < N * n_pes; i++)
        expect(mem.all[i] == 2 + 100.0f * (float)(i / N) + (float)(i % N), "fcollected");
    fill(3);
    expect(rocshmem_float_alltoall_wg(reversed, mem.all, mem.real, N) == 0, "alltoall");
    for (int i = 0; i < N * n_pes; i++)
        expect(mem.all[i] == 3 + 100.0f * (float)(n_pes - 1 - i / N) + (float)((n_pes - 1 - me) * N + i % N),
               "exchanged");
    fill(4);
    expect(rocshmem_ctx_float_sum_reduce_wg(ctx, reversed, mem.sum, mem.real, N) == 0, "sum_reduce");
    for (int i = 0; i < N; i++)
        expect(mem.sum[i] == (float)n_pes * (4 + (float)i) + 50.0f * (float)(n_pes * (n_pes - 1)), "sum");
    expect(rocshmem_ctx_float_max_reduce_wg(ctx, ROCSHMEM_TEAM_INVALID, mem.sum, mem.real, N) != 0, "an invalid team");
    fill(5);
}

/* What one wavefront or one thread wrote is seen after its barrier. */
static void meetings_(void *)
{
    if (is_first()) mem.words[0] = 0;
    everybody();
    if (slice_of(WAVE) == 0) {
        if (is_first()) rocshmem_long_p(mem.words, 5 + me, right);
        expect(rocshmem_ctx_barrier_wave(ctx, reversed) == 0, "ctx_barrier_wave");
        expect(rocshmem_long_g(mem.words, me) == 5 + left, "put before ctx_barrier_wave");
        rocshmem_sync_all_wave();
        rocshmem_barrier_wave();
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    if (is_first()) {
        rocshmem_long_p(mem.words, 6 + me, right);
        rocshmem_pe_quiet(&right, 1);
        rocshmem_threadfence_system();
        expect(rocshmem_ctx_sync(ctx, ROCSHMEM_TEAM_WORLD) == 0, "ctx_sync");
        expect(rocshmem_long_g(mem.words, me) == 6 + left, "put before pe_quiet and ctx_sync");
        rocshmem_barrier();
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    rocshmem_sync_all_wg();
}

static void queries_(void *)
{
    int provided = -1;
    rocshmem_wg_init_thread(ROCSHMEM_THREAD_SINGLE, &provided);
    expect(provided == ROCSHMEM_THREAD_MULTIPLE, "wg_init_thread");
    expect(rocshmem_my_pe() == me && rocshmem_ctx_my_pe(ctx) == me, "my_pe");
    expect(rocshmem_n_pes() == n_pes && rocshmem_ctx_n_pes(reversed_ctx) == n_pes, "n_pes");
    expect(rocshmem_team_my_pe(reversed) == n_pes - 1 - me && rocshmem_team_n_pes(reversed) == n_pes, "team_my_pe");
    expect(rocshmem_team_translate_pe(reversed, 0, ROCSHMEM_TEAM_WORLD) == n_pes - 1, "team_translate_pe");
    const long *own = (const long *)rocshmem_ptr(mem.words, me);
    expect(own == mem.words || isthmus_device_v1.ring != nullptr, "ptr");
    rocshmem_wg_finalize();
}

/* ---- contexts ---- */

static void create_(void *)
{
    static rocshmem_ctx_t none;
    expect(rocshmem_wg_ctx_create(0, &ctx) == 0 && ctx.handle != ROCSHMEM_CTX_INVALID.handle, "wg_ctx_create");
    expect(rocshmem_wg_team_create_ctx(reversed, 0, &reversed_ctx) == 0, "wg_team_create_ctx");
    expect(rocshmem_wg_team_create_ctx(ROCSHMEM_TEAM_INVALID, 0, &none) != 0, "wg_team_create_ctx of no team");
    expect(none.handle == ROCSHMEM_CTX_INVALID.handle, "a context of no team");
}

static void destroy_(void *)
{
    rocshmem_wg_ctx_destroy(&ctx);
    expect(ctx.handle == ROCSHMEM_CTX_INVALID.handle, "wg_ctx_destroy");
}

int main()
{
    static const isthmus_cpu_kernel kernels[] = {create_,  queries_, puts_,        gets_,     signals_,
                                                 atomics_, waits_,   collectives_, meetings_, destroy_};
    rocshmem_init();
    me = rocshmem_my_pe(), n_pes = rocshmem_n_pes();
    right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    rocshmem_team_split_strided(ROCSHMEM_TEAM_WORLD, n_pes - 1, -1, n_pes, nullptr, 0, &reversed);
    mem.from = (long *)rocshmem_malloc(THREADS * N * sizeof(long));
    mem.to = (long *)rocshmem_malloc(THREADS * N * sizeof(long));
    mem.back = (long *)rocshmem_malloc(THREADS * N * sizeof(long));
    mem.signals = (uint64_t *)rocshmem_malloc(THREADS * sizeof(uint64_t));
    mem.words = (long *)rocshmem_malloc(8 * sizeof(long));
    mem.bits = (unsigned *)rocshmem_malloc(sizeof(unsigned));
    mem.real = (float *)rocshmem_malloc((size_t)(N * n_pes) * sizeof(float));
    mem.sum = (float *)rocshmem_malloc((size_t)(N * n_pes) * sizeof(float));
    mem.all = (float *)rocshmem_malloc((size_t)(N * n_pes) * sizeof(float));
    expect(rocshmem_hipmodule_init(nullptr) != 0, "hipmodule_init where there is no GPU");
    for (isthmus_cpu_kernel kernel : kernels) {
        rocshmem_barrier_all(); /* outside of kernels a name that the host has is the host's */
        if (isthmus_cpu_launch(1, THREADS, kernel, nullptr) != 0) rocshmem_global_exit(1);
    }
    rocshmem_barrier_all();
    rocshmem_finalize();
    return n_faults != 0;
}

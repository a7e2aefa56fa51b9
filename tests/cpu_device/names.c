/* tests/cpu_device/names.c: names of nvshmem_device.h, each family by one type or two: that a name does what it says.
 * matrix.c has all lengths and scopes, rows.device_* every name with every type. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 32, N = 24 };

static struct {
    double *from, *to, *back;
    uint64_t *signal;
    int *words;
    unsigned *bits;
    int *in, *out;
    float *real, *sum;
    double2 *pair, *best;
} mem;

static int me, n_pes, right, left, n_faults;

static void expect(int is_right, const char *name)
{
    if (is_right) return;
    if (__atomic_fetch_add(&n_faults, 1, __ATOMIC_RELAXED) < 20) fprintf(stderr, "PE %d: %s\n", me, name);
}

static int is_leader(void) { return isthmus_dev_thread_rank() == 0; }

/* ---- puts: each writes at the right neighbour, and the left one's data is here after the barrier ---- */

static void begin(double mark)
{
    nvshmemx_barrier_all_block();
    if (is_leader())
        for (int i = 0; i < N; i++) mem.from[i] = mark + 100 * me + i, mem.to[i] = mem.back[i] = -1;
    nvshmemx_barrier_all_block();
}

/* Elements `first`, and `step` apart, are the left neighbour's; n of them. */
static void end(double mark, int n, int to_step, int from_step, const char *name)
{
    nvshmemx_barrier_all_block();
    for (int i = 0; i < n; i++) expect(mem.to[i * to_step] == mark + 100 * left + i * from_step, name);
    expect(n * to_step >= N || mem.to[(n - 1) * to_step + 1] == -1, name);
}

#define PUT(name, n, to_step, from_step, call)      \
    do {                                            \
        begin(__LINE__);                            \
        call;                                       \
        end(__LINE__, n, to_step, from_step, name); \
    } while (0)
#define ONE(name, n, to_step, from_step, call) PUT(name, n, to_step, from_step, if (is_leader()) call)

static void puts_(void *unused)
{
    double *to = mem.to, *from = mem.from;
    (void)unused;
    ONE("double_put", 5, 1, 1, nvshmem_double_put(to, from, 5, right));
    ONE("double_put_nbi", 6, 1, 1, nvshmem_double_put_nbi(to, from, 6, right));
    ONE("put64", 7, 1, 1, nvshmem_put64(to, from, 7, right));
    ONE("put8", 1, 1, 1, nvshmem_put8(to, from, 8, right));
    ONE("put128_nbi", 4, 1, 1, nvshmem_put128_nbi(to, from, 2, right));
    ONE("putmem", 3, 1, 1, nvshmem_putmem(to, from, 24, right));
    ONE("double_iput", 4, 3, 2, nvshmem_double_iput(to, from, 3, 2, 4, right));
    ONE("iput64", 4, 2, 3, nvshmem_iput64(to, from, 2, 3, 4, right));
    ONE("double_p", 1, 1, 1, nvshmem_double_p(to, from[0], right));
    ONE("qp_double_put", 5, 1, 1, nvshmemx_qp_double_put(to, from, 5, right, NVSHMEMX_QP_ANY));
    ONE("qp_double_p", 1, 1, 1, nvshmemx_qp_double_p(to, from[0], right, NVSHMEMX_QP_DEFAULT));
    PUT("double_put_warp", 9, 1, 1, nvshmemx_double_put_warp(to, from, 9, right));
    PUT("double_put_nbi_block", 10, 1, 1, nvshmemx_double_put_nbi_block(to, from, 10, right));
    PUT("put32_warp", 2, 1, 1, nvshmemx_put32_warp(to, from, 4, right));
    PUT("putmem_nbi_block", 8, 1, 1, nvshmemx_putmem_nbi_block(to, from, 64, right));
    PUT("double_iput_block", 5, 2, 4, nvshmemx_double_iput_block(to, from, 2, 4, 5, right));
    PUT("qp_double_put_nbi_warp", 3, 1, 1, nvshmemx_qp_double_put_nbi_warp(to, from, 3, right, 1);
        nvshmemx_qp_fence_block(right, NULL, 0); nvshmemx_qp_quiet_warp(right, NULL, 0));
}

/* ---- gets: from the right neighbour ---- */

#define GET(name, n, to_step, from_step, call)                                                 \
    do {                                                                                       \
        begin(__LINE__);                                                                       \
        call;                                                                                  \
        if (is_leader()) nvshmem_quiet();                                                      \
        isthmus_dev_barrier(ISTHMUS_BLOCK);                                                    \
        for (int i = 0; i < (n); i++)                                                          \
            expect(mem.back[i * (to_step)] == __LINE__ + 100 * right + i * (from_step), name); \
        expect(mem.back[((n)-1) * (to_step) + 1] == -1, name);                                 \
    } while (0)
#define GET_ONE(name, n, to_step, from_step, call) GET(name, n, to_step, from_step, if (is_leader()) call)

static void gets_(void *unused)
{
    double *to = mem.back, *from = mem.from;
    (void)unused;
    GET_ONE("double_get", 5, 1, 1, nvshmem_double_get(to, from, 5, right));
    GET_ONE("double_get_nbi", 6, 1, 1, nvshmem_double_get_nbi(to, from, 6, right));
    GET_ONE("get16", 2, 1, 1, nvshmem_get16(to, from, 8, right));
    GET_ONE("getmem_nbi", 3, 1, 1, nvshmem_getmem_nbi(to, from, 24, right));
    GET_ONE("double_iget", 4, 3, 2, nvshmem_double_iget(to, from, 3, 2, 4, right));
    GET_ONE("double_g", 1, 1, 1, to[0] = nvshmem_double_g(from, right));
    GET_ONE("qp_double_g", 1, 1, 1, to[0] = nvshmemx_qp_double_g(from, right, NVSHMEMX_QP_ANY));
    GET("double_get_warp", 9, 1, 1, nvshmemx_double_get_warp(to, from, 9, right));
    GET("get128_block", 8, 1, 1, nvshmemx_get128_block(to, from, 4, right));
    GET("getmem_nbi_warp", 7, 1, 1, nvshmemx_getmem_nbi_warp(to, from, 56, right));
    GET("iget64_warp", 4, 2, 3, nvshmemx_iget64_warp(to, from, 2, 3, 4, right));
    GET("qp_double_get_block", 4, 1, 1, nvshmemx_qp_double_get_block(to, from, 4, right, 1));
}

/* ---- puts with a signal ---- */

static void await_signal(uint64_t value)
{
    if (is_leader()) expect(nvshmem_signal_wait_until(mem.signal, NVSHMEM_CMP_EQ, value) == value, "signal_wait_until");
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    expect(nvshmem_signal_fetch(mem.signal) == value, "signal_fetch");
}

static void signals_(void *unused)
{
    double *to = mem.to, *from = mem.from;
    uint64_t *signal = mem.signal;
    (void)unused;
    ONE("double_put_signal", 5, 1, 1, nvshmem_double_put_signal(to, from, 5, signal, 5, NVSHMEM_SIGNAL_SET, right));
    await_signal(5);
    ONE("put32_signal_nbi", 3, 1, 1, nvshmem_put32_signal_nbi(to, from, 6, signal, 2, NVSHMEM_SIGNAL_ADD, right));
    await_signal(7);
    ONE("putmem_signal", 4, 1, 1, nvshmem_putmem_signal(to, from, 32, signal, 8, NVSHMEM_SIGNAL_SET, right));
    await_signal(8);
    PUT("double_put_signal_warp", 6, 1, 1,
        nvshmemx_double_put_signal_warp(to, from, 6, signal, 1, NVSHMEM_SIGNAL_ADD, right));
    await_signal(9);
    PUT("putmem_signal_nbi_block", 6, 1, 1,
        nvshmemx_putmem_signal_nbi_block(to, from, 48, signal, 1, NVSHMEM_SIGNAL_ADD, right));
    await_signal(10);
    PUT("qp_double_put_signal_block", 6, 1, 1,
        nvshmemx_qp_double_put_signal_block(to, from, 6, signal, 11, NVSHMEM_SIGNAL_SET, right, 1));
    await_signal(11);
    nvshmemx_barrier_all_block();
    if (is_leader()) nvshmemx_qp_signal_op(signal, 20, NVSHMEM_SIGNAL_SET, right, NVSHMEMX_QP_ANY);
    await_signal(20);
    nvshmemx_barrier_all_block();
}

/* ---- atomics on a word of the right neighbour that no other PE touches ---- */

static float number_of(half element)
{
    uint16_t bits;
    memcpy(&bits, &element, sizeof bits);
    return isthmus_dev_float_of_half(bits);
}

/* Names of NVSHMEM 3.8. Every thread adds to elements of PE 0, and half ones lie in one word. */
static void newer_(void *unused)
{
    half *halves = (half *)(void *)(mem.real + 2);
    nvshmemx_region_handle_t region = 0;
    int is_active = 1;
    (void)unused;
    if (is_leader()) mem.real[0] = 0.5f, mem.from[0] = 0.25, mem.real[2] = 0, *mem.signal = 7;
    nvshmemx_barrier_all_block();
    expect(nvshmemx_region_start_block(&region, NULL) == 0, "region_start_block");
    nvshmemx_float_atomic_add(mem.real, 1.5f, 0);
    expect(nvshmemx_double_atomic_fetch_add(mem.from, 2.0, 0) >= 0.25, "double_atomic_fetch_add");
    nvshmemx_half_atomic_add(halves, (half){0x3c00}, 0); /* 1 */
    half old = nvshmemx_half_atomic_fetch_add(halves + 1, (half){0x4000}, 0);
    expect(number_of(old) <= 2 * (float)(n_pes * THREADS), "half_atomic_fetch_add");
    nvshmemx_flush_warp();
    nvshmemx_flush_block();
    if (is_leader()) nvshmemx_flush();
    expect(nvshmemx_region_stop_block(region) == 0 && nvshmemx_region_stop_block(0) != 0, "region_stop_block");
    expect(nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_BATCH_RMA, &is_active) == 0 && !is_active, "is_active");
    expect(nvshmemx_ask_smem(NVSHMEMX_SMEM_MINIMUM) == 0, "ask_smem");
    nvshmemx_give_smem(NULL, 0);
    nvshmemx_release_smem();
    nvshmemx_barrier_all_block();
    if (!is_leader()) return;
    nvshmemx_signal_counted_reset(mem.signal);
    nvshmem_quiet();
    expect(*mem.signal == 0, "signal_counted_reset");
    float calls = (float)(n_pes * THREADS);
    if (me == 0) {
        expect(mem.real[0] == 0.5f + 1.5f * calls, "float_atomic_add");
        expect(mem.from[0] == 0.25 + 2.0 * (double)calls, "sum of doubles");
        expect(number_of(halves[0]) == calls, "half_atomic_add");
        expect(number_of(halves[1]) == 2 * calls, "sum of halves");
    }
}

static void atomics_(void *unused)
{
    unsigned *word = mem.bits;
    (void)unused;
    if (!is_leader()) return;
    nvshmem_uint_atomic_set(word, 0xf0, right);
    nvshmem_quiet();
    expect(nvshmem_uint_atomic_fetch(word, right) == 0xf0, "atomic_set, atomic_fetch");
    nvshmem_uint_atomic_and(word, 0x3c, right);
    nvshmem_quiet();
    expect(nvshmem_uint_atomic_fetch_or(word, 0x03, right) == 0x30, "atomic_and");
    expect(nvshmem_uint_atomic_fetch_xor(word, 0x11, right) == 0x33, "atomic_fetch_or");
    expect(nvshmem_uint_atomic_fetch_and(word, 0x0f, right) == 0x22, "atomic_fetch_xor");
    expect(nvshmem_uint_atomic_fetch_inc(word, right) == 0x02, "atomic_fetch_and");
    expect(nvshmem_uint_atomic_fetch_add(word, 4, right) == 0x03, "atomic_fetch_inc");
    expect(nvshmem_uint_atomic_compare_swap(word, 6, 1, right) == 7, "atomic_fetch_add");
    expect(nvshmem_uint_atomic_compare_swap(word, 7, 40, right) == 7, "atomic_compare_swap");
    nvshmem_uint_atomic_inc(word, right);
    nvshmem_uint_atomic_add(word, 100, right);
    nvshmem_uint_atomic_or(word, 0x100, right);
    nvshmem_quiet();
    nvshmem_uint_atomic_xor(word, 1, right);
    nvshmem_quiet();
    expect(nvshmem_uint_atomic_swap(word, 0, right) == (141 | 0x100) - 1, "atomic_inc, add, or, xor");
    expect(nvshmem_uint_atomic_fetch(word, right) == 0, "atomic_swap");
}

/* ---- waits and tests, on this PE's own words 0 to 7, whose values are their numbers ---- */

static int is_set_of(const size_t *indices, size_t n, size_t first)
{
    for (size_t i = 0; i < n; i++)
        if (indices[i] != first + i) return 0;
    return 1;
}

static void waits_(void *unused)
{
    int status[8] = {1, 0, 0, 0, 0, 0, 0, 0}, values[8] = {9, 1, 2, 3, 4, 5, 6, 7};
    int *w = mem.words;
    size_t some[8];
    (void)unused;
    if (!is_leader()) return;
    for (int i = 0; i < 8; i++) w[i] = i;
    nvshmem_int_wait_until(&w[3], NVSHMEM_CMP_LE, 3);
    expect(nvshmem_int_test(&w[3], NVSHMEM_CMP_GT, 2) && !nvshmem_int_test(&w[3], NVSHMEM_CMP_NE, 3), "test");
    nvshmem_int_wait_until_all(w, 8, status, NVSHMEM_CMP_GE, 1);
    nvshmem_int_wait_until_all_vector(w, 8, status, NVSHMEM_CMP_EQ, values);
    expect(nvshmem_int_wait_until_any(w, 8, NULL, NVSHMEM_CMP_EQ, 5) == 5, "wait_until_any");
    expect(nvshmem_int_wait_until_any_vector(w, 2, NULL, NVSHMEM_CMP_EQ, values) == 1, "wait_until_any_vector");
    expect(nvshmem_int_wait_until_some(w, 8, some, NULL, NVSHMEM_CMP_GT, 4) == 3 && is_set_of(some, 3, 5),
           "wait_until_some");
    expect(nvshmem_int_wait_until_some_vector(w, 8, some, NULL, NVSHMEM_CMP_EQ, values) == 7 && is_set_of(some, 7, 1),
           "wait_until_some_vector");
    expect(nvshmem_int_test_all(w, 8, status, NVSHMEM_CMP_GE, 1) &&
               !nvshmem_int_test_all(w, 8, NULL, NVSHMEM_CMP_GE, 1),
           "test_all");
    expect(nvshmem_int_test_all_vector(w, 8, status, NVSHMEM_CMP_EQ, values), "test_all_vector");
    expect(nvshmem_int_test_any(w, 8, NULL, NVSHMEM_CMP_LT, 0) == SIZE_MAX, "test_any");
    expect(nvshmem_int_test_any_vector(w, 8, NULL, NVSHMEM_CMP_NE, values) == 0, "test_any_vector");
    expect(nvshmem_int_test_some(w, 8, some, status, NVSHMEM_CMP_LT, 3) == 2 && is_set_of(some, 2, 1), "test_some");
    expect(nvshmem_int_test_some_vector(w, 8, some, NULL, NVSHMEM_CMP_LT, values) == 1 && some[0] == 0,
           "test_some_vector");
    expect(nvshmem_int_wait_until_any(w, 0, NULL, NVSHMEM_CMP_EQ, 5) == SIZE_MAX, "wait_until_any of nothing");
    expect(nvshmem_int_test_all(w, 0, NULL, NVSHMEM_CMP_EQ, 5) == 1, "test_all of nothing");
    int was_found = 0; /* an entry that satisfies is found sooner or later, whatever others do */
    for (int i = 0; i < 10000 && !was_found; i++) was_found = nvshmem_int_test_any(w, 8, NULL, NVSHMEM_CMP_GE, 0) == 7;
    expect(was_found, "test_any is fair");
}

/* ---- collectives ---- */

static int element(int pe, int i) { return (pe + 3) * 7 + i * (pe % 2 == 0 ? 1 : -1); }

static int combined(int op, int i)
{
    int result = element(0, i);
    for (int pe = 1; pe < n_pes; pe++) {
        int x = element(pe, i);
        switch (op) {
        case 0: result &= x; break;
        case 1: result |= x; break;
        case 2: result ^= x; break;
        case 3: result = result > x ? result : x; break;
        case 4: result = result < x ? result : x; break;
        case 5: result += x; break;
        default: result *= x; break;
        }
    }
    return result;
}

static void fill(void)
{
    nvshmemx_barrier_all_block();
    for (int i = (int)isthmus_dev_thread_rank(); i < N * n_pes; i += THREADS)
        mem.in[i] = element(me, i), mem.out[i] = -1, mem.real[i] = (float)element(me, i);
    nvshmemx_barrier_all_block();
}

#define REDUCE(name, op, first, call)                                                      \
    do {                                                                                   \
        fill();                                                                            \
        expect((call) == 0, name);                                                         \
        isthmus_dev_barrier(ISTHMUS_BLOCK);                                                \
        for (int i = 0; i < N; i++) expect(mem.out[i] == combined(op, (first) + i), name); \
    } while (0)
#define REDUCE_ONE(name, op, first, call) REDUCE(name, op, first, is_leader() ? (call) : 0)
#define WORLD NVSHMEM_TEAM_WORLD

static void reductions_(void *unused)
{
    unsigned *uout = (unsigned *)mem.out, *uin = (unsigned *)mem.in;
    int *out = mem.out, *in = mem.in;
    (void)unused;
    REDUCE_ONE("uint_and_reduce", 0, 0, nvshmem_uint_and_reduce(WORLD, uout, uin, N));
    REDUCE("uint_or_reduce_warp", 1, 0, nvshmemx_uint_or_reduce_warp(WORLD, uout, uin, N));
    REDUCE("uint_xor_reduce_block", 2, 0, nvshmemx_uint_xor_reduce_block(WORLD, uout, uin, N));
    REDUCE("int_max_reduce_block", 3, 0, nvshmemx_int_max_reduce_block(WORLD, out, in, N));
    REDUCE_ONE("int_min_reduce", 4, 0, nvshmem_int_min_reduce(WORLD, out, in, N));
    REDUCE("int_sum_reduce_warp", 5, 0, nvshmemx_int_sum_reduce_warp(WORLD, out, in, N));
    REDUCE_ONE("int_prod_reduce", 6, 0, nvshmem_int_prod_reduce(WORLD, out, in, N));
    REDUCE_ONE("uint_or_reducescatter", 1, me * N, nvshmem_uint_or_reducescatter(WORLD, uout, uin, N));
    REDUCE("int_min_reducescatter_warp", 4, me * N, nvshmemx_int_min_reducescatter_warp(WORLD, out, in, N));
    REDUCE("int_sum_reducescatter_block", 5, me * N, nvshmemx_int_sum_reducescatter_block(WORLD, out, in, N));
    fill();
    (void)nvshmemx_float_sum_reduce_block(WORLD, mem.sum, mem.real, N);
    for (int i = 0; i < N; i++) expect(mem.sum[i] == (float)combined(5, i), "float_sum_reduce_block");
}

static void movers_(void *unused)
{
    int *in = mem.in, *out = mem.out;
    (void)unused;
    fill();
    if (is_leader()) expect(nvshmem_int_broadcast(WORLD, out, in, N, n_pes - 1) == 0, "int_broadcast");
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    for (int i = 0; i < N; i++) expect(out[i] == element(n_pes - 1, i), "int_broadcast");
    fill();
    expect(nvshmemx_broadcastmem_block(WORLD, out, in, N * sizeof(int), 0) == 0, "broadcastmem_block");
    for (int i = 0; i < N; i++) expect(out[i] == element(0, i), "broadcastmem_block");
    fill();
    expect(nvshmemx_int_fcollect_warp(WORLD, out, in, N) == 0, "int_fcollect_warp");
    for (int i = 0; i < N * n_pes; i++) expect(out[i] == element(i / N, i % N), "int_fcollect_warp");
    fill();
    expect(nvshmemx_alltoallmem_block(WORLD, out, in, N * sizeof(int)) == 0, "alltoallmem_block");
    for (int i = 0; i < N * n_pes; i++) expect(out[i] == element(i / N, me * N + i % N), "alltoallmem_block");
    nvshmemx_barrier_all_block();
    if (is_leader())
        for (int i = 0; i < 3; i++) mem.pair[i].x = (me * 5 + i) % n_pes, mem.pair[i].y = me;
    nvshmemx_barrier_block(WORLD);
    expect(nvshmemx_double2_maxloc_reduce_block(WORLD, mem.best, mem.pair, 3) == 0, "maxloc_reduce");
    for (int i = 0; i < 3; i++) {
        int where = (int)mem.best[i].y;
        for (int pe = 0; pe < n_pes; pe++) expect((pe * 5 + i) % n_pes <= (int)mem.best[i].x, "maxloc_reduce");
        expect((where * 5 + i) % n_pes == (int)mem.best[i].x, "maxloc_reduce");
    }
    expect(nvshmemx_team_sync_warp(WORLD) == 0 && nvshmemx_barrier_warpgroup(WORLD) == 0, "team_sync, barrier");
    expect(nvshmemx_barrier_block(NVSHMEM_TEAM_INVALID) != 0, "barrier of no team");
}

static void numbers_(void *unused)
{
    int major = 0, minor = 0, patch = -1;
    char name[NVSHMEM_MAX_NAME_LEN];
    (void)unused;
    nvshmem_info_get_version(&major, &minor);
    nvshmem_info_get_name(name);
    expect(major == NVSHMEM_MAJOR_VERSION && strcmp(name, NVSHMEM_VENDOR_STRING) == 0, "info");
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    expect(major == NVSHMEM_VENDOR_MAJOR_VERSION && minor == NVSHMEM_VENDOR_MINOR_VERSION &&
               patch == NVSHMEM_VENDOR_PATCH_VERSION,
           "vendor_get_version_info");
    expect(nvshmem_my_pe() == me && nvshmem_n_pes() == n_pes, "my_pe, n_pes");
    expect(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED, "init_status");
    int *mine = nvshmem_ptr(mem.words, me), *theirs = nvshmem_ptr(mem.words, right);
    expect(mine == mem.words || (mine == NULL && isthmus_device_v1.n_ring_pes == (uint32_t)n_pes), "ptr");
    expect(theirs == NULL || theirs[0] == 0, "ptr of a peer");
    expect(nvshmemx_mc_ptr(WORLD, mem.words) == NULL, "mc_ptr");
}

/* ---- */

int main(void)
{
    static const isthmus_cpu_kernel kernels[] = {puts_,  gets_,       signals_, newer_,  atomics_,
                                                 waits_, reductions_, movers_,  numbers_};
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    size_t n = (size_t)N * (size_t)n_pes;
    mem.from = nvshmem_malloc(N * sizeof(double));
    mem.to = nvshmem_malloc(N * sizeof(double));
    mem.back = nvshmem_malloc(N * sizeof(double));
    mem.signal = nvshmem_calloc(1, sizeof(uint64_t));
    mem.words = nvshmem_calloc(8, sizeof(int));
    mem.bits = nvshmem_calloc(1, sizeof(unsigned));
    mem.in = nvshmem_malloc(n * sizeof(int));
    mem.out = nvshmem_malloc(n * sizeof(int));
    mem.real = nvshmem_malloc(n * sizeof(float));
    mem.sum = nvshmem_malloc(n * sizeof(float));
    mem.pair = nvshmem_malloc(3 * sizeof(double2));
    mem.best = nvshmem_malloc(3 * sizeof(double2));
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        nvshmem_barrier_all();
        if (isthmus_cpu_launch(1, THREADS, kernels[i], NULL) != 0) nvshmem_global_exit(1);
    }
    nvshmem_barrier_all();
    nvshmem_finalize();
    return n_faults != 0;
}

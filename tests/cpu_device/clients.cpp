/* tests/cpu_device/clients.cpp: kernels that call what the kernels of known users of NVSHMEM call, in the same way, on
 * the CPU device or compiled by nvcc for a GPU. docs/compatibility.md has the names of each user. PETSc's differ in
 * two points: they spell nvshmemx_signal_op as nvshmemx_uint64_signal, which NVSHMEM 3 has not either, and leave the
 * quiet after puts and gets to the host. */
#include "kernel.h"

enum { THREADS = 64, WARPS = THREADS / 32, MOST_PES = 16, PAGE = 48, TOKEN = 40 };

/* All symmetric. */
ON_BOTH struct {
    int64_t *splits;                /* [3][MOST_PES]: elements for each PE, from each PE, and where they begin there */
    int64_t *elements, *received;   /* [3 * MOST_PES] */
    signed char *tokens, *arrived;  /* [MOST_PES][WARPS][TOKEN] */
    unsigned char *pages, *results; /* [MOST_PES][PAGE] */
    uint64_t *signals;              /* [MOST_PES] */
    uint64_t *counters;             /* [4] */
    unsigned long *total;
    int *flag;
    double *values; /* [8] */
} mem;

ON_BOTH int me, n_pes, right, left, n_faults;

ON_DEVICE void expect(const char *what, long seen, long expected)
{
    if (seen != expected && KERNEL_COUNT(&n_faults) < 20)
        printf("PE %d: %s: %ld, expected %ld\n", me, what, seen, expected);
}

ON_DEVICE int thread(void) { return (int)isthmus_dev_thread_rank(); }
ON_DEVICE int block(void) { return (int)isthmus_dev_block_rank(); }
ON_DEVICE int lane(void) { return thread() % 32; }

/* ---- PyTorch: an exchange of parts of various lengths ---- */

ON_DEVICE int64_t split_of(int from, int to) { return 1 + (from + to) % 3; }

ON_DEVICE int64_t start_of(int from, int to)
{
    int64_t start = 0;
    for (int pe = 0; pe < to; pe++) start += split_of(from, pe);
    return start;
}

/* One thread for each peer; the barrier makes the elements visible. */
KERNEL exchange_splits(void *)
{
    int64_t *lengths = mem.splits + MOST_PES, *starts = mem.splits + 2 * MOST_PES;
    int peer = thread();
    if (peer < n_pes) {
        mem.splits[peer] = split_of(me, peer);
        for (int64_t i = 0; i < mem.splits[peer]; i++) mem.elements[start_of(me, peer) + i] = 1000 * me + 10 * peer + i;
        nvshmem_int64_p(starts + me, start_of(me, peer), peer);
        nvshmem_int64_p(lengths + me, mem.splits[peer], peer);
    }
    nvshmemx_barrier_all_block();
}

/* Blocks share out the peers, each beginning at another one. */
KERNEL all_to_all_v(void *)
{
    const int64_t *lengths = mem.splits + MOST_PES, *starts = mem.splits + 2 * MOST_PES;
    for (int i = block(); i < n_pes; i += (int)isthmus_dev_block_count()) {
        int peer = (me + i) % n_pes;
        nvshmemx_getmem_nbi_block((char *)(mem.received + 3 * peer), (char *)(mem.elements + starts[peer]),
                                  (size_t)lengths[peer] * sizeof(int64_t), peer);
    }
    nvshmem_quiet();
    isthmus_dev_meet(ISTHMUS_BLOCK);
    for (int peer = block(); thread() == 0 && peer < n_pes; peer++) {
        if ((peer - me + n_pes) % n_pes % (int)isthmus_dev_block_count() != block()) continue;
        expect("the length of a part", lengths[peer], split_of(peer, me));
        for (int64_t i = 0; i < lengths[peer]; i++)
            expect("an element of a part", mem.received[3 * peer + i], 1000 * peer + 10 * me + i);
    }
}

/* ---- PyTorch, in Triton: whole blocks call; collectives of bytes ---- */

KERNEL by_blocks(void *)
{
    unsigned char *page = mem.pages + me * PAGE;
    for (int i = thread(); i < n_pes * PAGE; i += THREADS) mem.pages[i] = (unsigned char)(10 * me + i / PAGE);
    isthmus_dev_meet(ISTHMUS_BLOCK);
    nvshmemx_sync_all_block();
    nvshmemx_alltoallmem_block(NVSHMEM_TEAM_WORLD, mem.results, mem.pages, PAGE);
    for (int pe = 0; pe < n_pes; pe++) expect("alltoallmem", mem.results[pe * PAGE + 5], 10 * pe + me);
    nvshmemx_barrier_all_block();
    nvshmemx_broadcastmem_block(NVSHMEM_TEAM_WORLD, mem.results, mem.pages, PAGE, n_pes - 1);
    expect("broadcastmem", mem.results[7], 10 * (n_pes - 1));
    nvshmemx_barrier_all_block();
    nvshmemx_putmem_block(mem.results, page, PAGE, right);
    nvshmemx_putmem_signal_block(mem.results + PAGE, page, PAGE, mem.counters, 3, NVSHMEM_SIGNAL_SET, right);
    nvshmem_signal_wait_until(mem.counters, NVSHMEM_CMP_EQ, 3);
    expect("putmem_signal_block", mem.results[PAGE], 11 * left);
    nvshmemx_barrier_all_block();
    expect("putmem_block", mem.results[0], 11 * left);
    nvshmemx_getmem_block(mem.results + me * PAGE, mem.pages + right * PAGE, PAGE, right);
    expect("getmem_block", mem.results[me * PAGE + 1], 11 * right);
    isthmus_dev_meet(ISTHMUS_BLOCK);
    if (thread() == 0) {
        nvshmem_int_p(mem.flag, 6, right);
        nvshmem_int_wait_until(mem.flag, NVSHMEM_CMP_EQ, 6);
        mem.values[0] = nvshmem_my_pe() + 0.5;
    }
    isthmus_dev_meet(ISTHMUS_BLOCK);
    nvshmemx_double_sum_reduce_block(NVSHMEM_TEAM_WORLD, mem.values + 1, mem.values, 1);
    expect("sum_reduce_block", (long)(2 * mem.values[1]), n_pes * n_pes);
}

/* ---- TVM: each warp puts a page, and its first thread completes it ---- */

KERNEL transfer_pages(void *)
{
    unsigned char *from = mem.pages + (thread() / 32) * PAGE, *to = mem.results + (thread() / 32) * PAGE;
    if (lane() < PAGE / 4) from[lane()] = (unsigned char)(me + lane());
    isthmus_dev_meet(ISTHMUS_WARP);
    nvshmemx_putmem_nbi_warp(to, from, PAGE / 4, right);
    if (lane() == 0) nvshmem_quiet();
}

KERNEL look_at_pages(void *)
{
    if (lane() < PAGE / 4) expect("a page", mem.results[(thread() / 32) * PAGE + lane()], left + lane());
}

/* ---- PETSc: signals to all, one wait for all of them, and data by one thread for each peer ---- */

KERNEL send_signals(void *)
{
    if (thread() < n_pes) nvshmemx_signal_op(mem.signals + me, 1, NVSHMEM_SIGNAL_SET, thread());
}

KERNEL wait_and_get(void *)
{
    if (block() == 0) {
        nvshmem_uint64_wait_until_all(mem.signals, (size_t)n_pes, NULL, NVSHMEM_CMP_EQ, 1);
        for (int i = 0; i < n_pes; i++) mem.signals[i] = 0;
    }
    const int64_t *peers = (const int64_t *)nvshmem_ptr(mem.elements, block());
    int64_t seen = 0;
    if (peers != NULL) {
        seen = peers[0];
    } else {
        nvshmem_getmem_nbi(mem.received + 3 * block(), mem.elements, sizeof seen, block());
        nvshmem_quiet();
        seen = mem.received[3 * block()];
    }
    expect("the first element of a peer", seen, 1000 * block());
}

KERNEL wait_and_put(void *)
{
    nvshmem_uint64_wait_until(mem.signals + block(), NVSHMEM_CMP_EQ, 0);
    mem.signals[block()] = 1; /* taken; the peer's kernel sets its own */
    nvshmem_putmem_nbi(mem.received + 3 * me, mem.elements + start_of(me, block()), sizeof(int64_t), block());
    nvshmem_quiet();
}

KERNEL look_at_received(void *)
{
    expect("an element that was put", mem.received[3 * block()], 1000 * block() + 10 * me);
    expect("a signal that was taken", (long)mem.signals[block()], 1);
}

/* ---- Kokkos Remote Spaces: operators of elements that lie elsewhere ---- */

#define ELEMENT(TYPENAME, TYPE)                                                                                       \
    ON_DEVICE void assign(TYPE *at, TYPE value, int pe) { nvshmem_##TYPENAME##_p(at, value, pe); }                    \
    ON_DEVICE TYPE read(TYPE *at, int pe) { return nvshmem_##TYPENAME##_g(at, pe); }                                  \
    ON_DEVICE void store(TYPE *at, TYPE value, int pe) { nvshmem_##TYPENAME##_atomic_set(at, value, pe); }            \
    ON_DEVICE TYPE load(TYPE *at, int pe) { return nvshmem_##TYPENAME##_atomic_fetch(at, pe); }                       \
    ON_DEVICE TYPE exchange(TYPE *at, TYPE value, int pe) { return nvshmem_##TYPENAME##_atomic_swap(at, value, pe); } \
    ON_DEVICE void copy(TYPE *to, TYPE *from, int pe)                                                                 \
    {                                                                                                                 \
        nvshmem_##TYPENAME##_put(to, from, 1, pe);                                                                    \
        nvshmem_##TYPENAME##_get(from, to, 1, pe);                                                                    \
    }
#define COUNTED_ELEMENT(TYPENAME, TYPE)                                                                           \
    ELEMENT(TYPENAME, TYPE)                                                                                       \
    ON_DEVICE TYPE count(TYPE *at, TYPE by, int pe)                                                               \
    {                                                                                                             \
        nvshmem_##TYPENAME##_atomic_add(at, by, pe);                                                              \
        nvshmem_##TYPENAME##_atomic_inc(at, pe);                                                                  \
        return nvshmem_##TYPENAME##_atomic_fetch_inc(at, pe) + nvshmem_##TYPENAME##_atomic_fetch_add(at, by, pe); \
    }                                                                                                             \
    ON_DEVICE TYPE change(TYPE *at, TYPE old, TYPE value, int pe)                                                 \
    {                                                                                                             \
        return nvshmem_##TYPENAME##_atomic_compare_swap(at, old, value, pe);                                      \
    }
COUNTED_ELEMENT(int, int)
COUNTED_ELEMENT(uint, unsigned)
COUNTED_ELEMENT(long, long)
COUNTED_ELEMENT(ulong, unsigned long)
COUNTED_ELEMENT(longlong, long long)
COUNTED_ELEMENT(ulonglong, unsigned long long)
ELEMENT(float, float)
ELEMENT(double, double)

template <typename T> ON_DEVICE void element(T *at, int pe)
{
    assign(at, T(7), pe);
    nvshmem_quiet();
    expect("p and g", (long)read(at, pe), 7);
    store(at, T(8), pe);
    expect("set and swap", (long)exchange(at, T(9), pe), 8);
    expect("fetch", (long)load(at, pe), 9);
    T *mine = (T *)(mem.values + 4);
    *mine = T(4);
    copy(at, mine, pe);
    expect("put and get", (long)*mine, 4);
    store(at, T(9), pe);
}

template <typename T> ON_DEVICE void counted_element(T *at, int pe)
{
    element(at, pe);
    expect("counts", (long)count(at, T(2), pe), 12 + 13);
    expect("compare_swap", (long)change(at, T(15), T(1), pe), 15);
}

/* The first word of the right neighbour is of this PE alone. */
KERNEL elements(void *)
{
    counted_element((int *)mem.values, right), counted_element((unsigned *)mem.values, right);
    counted_element((long *)mem.values, right), counted_element((unsigned long *)mem.values, right);
    counted_element((long long *)mem.values, right), counted_element((unsigned long long *)mem.values, right);
    element((float *)mem.values, right), element(mem.values, right);
}

/* ---- distribution to experts: warps put tokens, and count them where they arrive ---- */

KERNEL dispatch(void *)
{
    int warp = thread() / 32;
    for (int pe = 0; pe < n_pes; pe++) {
        signed char *token = mem.tokens + (pe * WARPS + warp) * TOKEN;
        for (int i = lane(); i < TOKEN; i += 32) token[i] = (signed char)(me + pe + i);
        isthmus_dev_meet(ISTHMUS_WARP);
        nvshmemx_int8_put_nbi_warp(mem.arrived + (me * WARPS + warp) * TOKEN, token, TOKEN, pe);
        if (lane() == 0) {
            nvshmem_fence();
            nvshmemx_signal_op(mem.counters + 1, 1, NVSHMEM_SIGNAL_ADD, pe);
            nvshmem_ulong_atomic_add(mem.total, 1, 0);
        }
        isthmus_dev_meet(ISTHMUS_WARP);
    }
    nvshmem_uint64_wait_until(mem.counters + 1, NVSHMEM_CMP_GE, (uint64_t)(WARPS * n_pes));
    for (int pe = 0; pe < n_pes; pe++)
        expect("a token", mem.arrived[(pe * WARPS + warp) * TOKEN + lane()], pe + me + lane());
    isthmus_dev_meet(ISTHMUS_BLOCK);
    if (thread() == 0) nvshmem_sync(NVSHMEM_TEAM_WORLD);
    isthmus_dev_meet(ISTHMUS_BLOCK);
    nvshmemx_putmem_signal_nbi_block(mem.arrived, mem.tokens, TOKEN, mem.counters + 2, 1, NVSHMEM_SIGNAL_ADD, right);
    if (thread() == 0) nvshmem_signal_wait_until(mem.counters + 2, NVSHMEM_CMP_EQ, 1);
    isthmus_dev_meet(ISTHMUS_BLOCK);
    expect("a token with its signal", mem.arrived[1], left + 1);
}

KERNEL look_at_total(void *)
{
    if (me == 0) expect("all tokens", (long)*mem.total, (long)n_pes * n_pes * WARPS);
}

/* ---- the host ---- */

static void run(uint32_t blocks, uint32_t threads, kernel_function kernel)
{
    if (kernel_launch(blocks, threads, kernel, NULL, 0) != 0) nvshmem_global_exit(1);
    nvshmem_barrier_all();
}

template <typename T> static void allocate(T **out, size_t n) { *out = static_cast<T *>(nvshmem_calloc(n, sizeof(T))); }

static void allocate_all()
{
    allocate(&mem.splits, 3 * MOST_PES);
    allocate(&mem.elements, 3 * MOST_PES);
    allocate(&mem.received, 3 * MOST_PES);
    allocate(&mem.tokens, MOST_PES * WARPS * TOKEN);
    allocate(&mem.arrived, MOST_PES * WARPS * TOKEN);
    allocate(&mem.pages, MOST_PES * PAGE);
    allocate(&mem.results, MOST_PES * PAGE);
    allocate(&mem.signals, MOST_PES);
    allocate(&mem.counters, 4);
    allocate(&mem.total, 1);
    allocate(&mem.flag, 1);
    allocate(&mem.values, 8);
}

int main()
{
    kernel_need_device();
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    if (n_pes > MOST_PES) nvshmem_global_exit(1);
    allocate_all();
    uint32_t n = static_cast<uint32_t>(n_pes);
    run(1, THREADS, exchange_splits);
    run(2, THREADS, all_to_all_v);
    run(1, THREADS, by_blocks);
    run(1, THREADS, transfer_pages);
    run(1, THREADS, look_at_pages);
    run(1, THREADS, send_signals);
    run(n, 1, wait_and_get);
    run(n, 1, wait_and_put);
    run(n, 1, look_at_received);
    run(1, 1, elements);
    run(1, THREADS, dispatch);
    run(1, THREADS, look_at_total);
    if (me == 0 && n_faults == 0) printf("clients' kernels on %d PEs\n", n_pes);
    nvshmem_finalize();
    return n_faults != 0;
}

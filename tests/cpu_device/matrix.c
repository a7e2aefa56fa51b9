/* tests/cpu_device/matrix.c: every operation of device.h from kernels, on the CPU device or compiled by nvcc for a GPU,
 * by threads, warps and blocks, against what plain loops expect. Which way the operations go, directly or through the
 * ring, is set from outside (ISTHMUS_DEVICE_DIRECT, ISTHMUS_ALIAS); the results are the same. ISTHMUS_TEST_PART=4: a
 * quarter of the rounds, and collectives by threads and blocks, where each call takes trips over a network. With an
 * argument: only collectives, of 65 PEs or more: more than synchronize at once (ISTHMUS_DEVICE_MEMBERS). */
#include "kernel.h"

enum { TEST_THREADS = 40, SLICE = 4096, MOST_SLICES = TEST_THREADS, ROUNDS = 3 };

/* All symmetric; one slice for each group of threads. */
ON_BOTH struct {
    unsigned char *source, *dest, *back;
    uint64_t *signals; /* [MOST_SLICES][2] */
    uint64_t *words;   /* [8] */
    int *ints, *results;
} mem;

ON_BOTH int me, n_pes, right, left;
ON_BOTH int part_of_rounds = 1;
ON_BOTH int n_faults;

ON_DEVICE void fault(const char *what, int scope, long at, long seen, long expected)
{
    static const char *const names[] = {"thread", "warp", "warpgroup", "block"};
    if (KERNEL_COUNT(&n_faults) < 20)
        printf("PE %d: %s by %s: at %ld: %ld, expected %ld\n", me, what, names[scope], at, seen, expected);
}

ON_DEVICE void expect(bool is_right, const char *what, int scope)
{
    if (!is_right) fault(what, scope, -1, 0, 1);
}

/* ---- the threads of a kernel ---- */

ON_DEVICE int rounds_of(int usual) { return usual / part_of_rounds; }

struct part {
    int scope;
    size_t slice; /* of the calling thread's group */
    unsigned char *source, *dest, *back;
    uint64_t *signal;
};

ON_DEVICE struct part part_of(int scope)
{
    struct part part = {.scope = scope};
    uint32_t threads = isthmus_dev_group_threads(scope);
    part.slice = isthmus_dev_thread_rank() / threads;
    part.source = mem.source + part.slice * SLICE;
    part.dest = mem.dest + part.slice * SLICE;
    part.back = mem.back + part.slice * SLICE;
    part.signal = mem.signals + 2 * part.slice;
    return part;
}

ON_DEVICE unsigned char byte_of(int pe, size_t slice, size_t i, int round)
{
    return (unsigned char)(31 * (unsigned)pe + 7 * slice + i + 101 * (unsigned)round);
}

/* By all threads of the group. */
ON_DEVICE void write_source(const struct part *part, int round)
{
    for (size_t i = isthmus_dev_rank(part->scope); i < SLICE; i += isthmus_dev_size(part->scope))
        part->source[i] = byte_of(me, part->slice, i, round);
    isthmus_dev_meet(part->scope);
}

ON_DEVICE void check_bytes(const struct part *part, const char *what, const unsigned char *at, int pe, size_t from,
                           size_t length, int round)
{
    for (size_t i = isthmus_dev_rank(part->scope); i < length; i += isthmus_dev_size(part->scope))
        if (at[i] != byte_of(pe, part->slice, from + i, round))
            fault(what, part->scope, (long)i, at[i], byte_of(pe, part->slice, from + i, round));
    isthmus_dev_meet(part->scope);
}

/* All groups of all PEs. */
ON_DEVICE void everybody(void)
{
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    nvshmemx_barrier_all_block();
}

/* ---- copies ---- */

/* Lengths and alignments that leave tails of every width. */
TABLE size_t lengths[] = {1, 2, 3, 8, 15, 16, 64, 255, 1000, 4000}, offsets[] = {0, 1, 2, 4, 8, 17};

KERNEL copies(void *argument)
{
    struct part part = part_of(*(int *)argument);
    for (size_t k = 0; k < 10; k++) {
        size_t length = lengths[k], at = offsets[k % 6];
        int round = (int)k;
        write_source(&part, round);
        everybody();
        isthmus_dev_put(part.dest + at, part.source + at, length, right, part.scope, k % 2 == 0);
        isthmus_dev_quiet(part.scope);
        everybody();
        check_bytes(&part, "put", part.dest + at, left, at, length, round);
        isthmus_dev_get(part.back, part.source + at, length, right, part.scope, k % 2 == 0);
        if (k % 2 == 0) isthmus_dev_quiet(part.scope);
        check_bytes(&part, "get", part.back, right, at, length, round);
        everybody();
    }
}

KERNEL strided(void *argument)
{
    struct part part = part_of(*(int *)argument);
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    for (int k = 0; k < 5; k++) {
        struct isthmus_dev_stride put = {3, 2, 20, sizes[k]}, get = {1, 4, 11, sizes[k]};
        write_source(&part, k);
        everybody();
        isthmus_dev_iput(part.dest, part.source, &put, right, part.scope);
        isthmus_dev_quiet(part.scope);
        everybody();
        for (size_t i = 0; i < put.nelems; i++)
            check_bytes(&part, "iput", part.dest + 3 * i * sizes[k], left, 2 * i * sizes[k], sizes[k], k);
        isthmus_dev_iget(part.back, part.source, &get, right, part.scope);
        for (size_t i = 0; i < get.nelems; i++)
            check_bytes(&part, "iget", part.back + i * sizes[k], right, 4 * i * sizes[k], sizes[k], k);
        everybody();
    }
}

/* Blocks of 3 elements, their beginnings 5 and 4 elements apart. */
KERNEL strided_blocks(void *argument)
{
    struct part part = part_of(*(int *)argument);
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    for (int k = 0; k < 5; k++) {
        size_t size = sizes[k];
        struct isthmus_dev_stride stride = {5, 4, 6, size};
        write_source(&part, k);
        everybody();
        isthmus_dev_ibput(part.dest, part.source, &stride, 3, right, part.scope);
        isthmus_dev_quiet(part.scope);
        everybody();
        for (size_t i = 0; i < stride.nelems; i++)
            check_bytes(&part, "ibput", part.dest + 5 * i * size, left, 4 * i * size, 3 * size, k);
        isthmus_dev_ibget(part.back, part.source, &stride, 3, right, part.scope);
        for (size_t i = 0; i < stride.nelems; i++)
            check_bytes(&part, "ibget", part.back + 5 * i * size, right, 4 * i * size, 3 * size, k);
        everybody();
    }
}

/* ---- elements ---- */

KERNEL elements(void *argument)
{
    struct part part = part_of(*(int *)argument);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t value = 0x0123456789abcdefu * (uint64_t)(me + 1) + (uint64_t)round + part.slice;
        if (isthmus_dev_is_leader(part.scope))
            for (size_t size = 1; size <= 8; size *= 2) isthmus_dev_p(part.dest + 8 * size, value, size, right);
        isthmus_dev_quiet(part.scope);
        everybody();
        uint64_t theirs = 0x0123456789abcdefu * (uint64_t)(left + 1) + (uint64_t)round + part.slice;
        for (size_t size = 1; size <= 8; size *= 2) {
            uint64_t bits = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
            expect(isthmus_dev_load(part.dest + 8 * size, size) == (theirs & bits), "p", part.scope);
            expect(isthmus_dev_g(part.dest + 8 * size, size, right) == (value & bits), "g", part.scope);
        }
        everybody();
    }
}

/* ---- signals ---- */

KERNEL signals(void *argument)
{
    struct part part = part_of(*(int *)argument);
    for (int round = 0; round < rounds_of(20); round++) {
        bool is_set = round % 2 == 0, is_nbi = round % 3 == 0;
        struct isthmus_dev_signal signal = {part.signal, is_set ? (uint64_t)round + 1 : 1,
                                            (uint32_t)(is_set ? ISTHMUS_DEV_AMO_SET : ISTHMUS_DEV_AMO_ADD)};
        write_source(&part, round);
        isthmus_dev_put_signal(part.dest, part.source, 500 + (size_t)round, signal, right, part.scope, is_nbi);
        if (isthmus_dev_is_leader(part.scope))
            expect(nvshmem_signal_wait_until(part.signal, NVSHMEM_CMP_GE, (uint64_t)round + 1) == (uint64_t)round + 1,
                   "signal", part.scope);
        isthmus_dev_meet(part.scope);
        check_bytes(&part, "put with signal", part.dest, left, 0, 500 + (size_t)round, round);
        isthmus_dev_quiet(part.scope);
        everybody();
    }
    if (isthmus_dev_is_leader(part.scope)) nvshmemx_signal_op(part.signal + 1, 5, NVSHMEM_SIGNAL_ADD, right);
    if (isthmus_dev_is_leader(part.scope)) (void)nvshmem_signal_wait_until(part.signal + 1, NVSHMEM_CMP_EQ, 5);
    everybody();
    if (isthmus_dev_is_leader(part.scope)) nvshmemx_signal_op(part.signal + 1, 0, NVSHMEM_SIGNAL_SET, right);
    if (isthmus_dev_is_leader(part.scope)) nvshmemx_signal_op(part.signal, 0, NVSHMEM_SIGNAL_SET, right);
    everybody();
}

/* ---- atomics: all threads of all PEs on words of PE 0 ---- */

KERNEL atomics(void *argument)
{
    int32_t *narrow = (int32_t *)(void *)(mem.words + 4);
    uint64_t bit = UINT64_C(1) << (isthmus_dev_thread_rank() % 40);
    (void)argument;
    for (int i = 0; i < rounds_of(20); i++) {
        nvshmem_uint64_atomic_inc(&mem.words[0], 0);
        (void)nvshmem_uint64_atomic_fetch_add(&mem.words[0], 2, 0);
        uint64_t seen = nvshmem_uint64_atomic_fetch(&mem.words[1], 0), expected;
        do {
            expected = seen;
            seen = nvshmem_uint64_atomic_compare_swap(&mem.words[1], expected, expected + 1, 0);
        } while (seen != expected);
        nvshmem_int32_atomic_add(narrow, -1, 0);
        (void)nvshmem_int32_atomic_fetch_inc(narrow + 1, 0);
    }
    nvshmem_uint64_atomic_or(&mem.words[2], bit, 0);
    nvshmem_uint64_atomic_xor(&mem.words[3], bit, 0);
    (void)nvshmem_uint64_atomic_fetch_and(&mem.words[6], ~bit, 0);
    everybody();
    if (me == 0 && isthmus_dev_thread_rank() == 0) {
        uint64_t calls = (uint64_t)(n_pes * TEST_THREADS * rounds_of(20)), all = (UINT64_C(1) << TEST_THREADS) - 1;
        expect(mem.words[0] == 3 * calls, "inc and fetch_add", ISTHMUS_THREAD);
        expect(mem.words[1] == calls, "compare_swap", ISTHMUS_THREAD);
        expect(narrow[0] == -(int32_t)calls && narrow[1] == (int32_t)calls, "atomics of 32 bits", ISTHMUS_THREAD);
        expect(mem.words[2] == all, "or", ISTHMUS_THREAD);
        expect(mem.words[3] == (n_pes % 2 == 1 ? all : 0), "xor", ISTHMUS_THREAD);
        expect(mem.words[6] == ~all, "fetch_and", ISTHMUS_THREAD);
    }
    everybody();
    if (isthmus_dev_thread_rank() == 0) {
        nvshmem_float_atomic_set((float *)(void *)(mem.words + 5), 1.5f + (float)me, right);
        nvshmem_quiet();
        nvshmem_barrier_all();
        float *mine = (float *)(void *)(mem.words + 5);
        expect(nvshmem_float_atomic_swap(mine, 9.0f, me) == 1.5f + (float)left, "set and swap", ISTHMUS_THREAD);
        expect(nvshmem_float_atomic_fetch(mine, me) == 9.0f, "fetch", ISTHMUS_THREAD);
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

/* ---- order: message passing without a signal ----
 * Some groups of threads fence while others quiet. */

KERNEL order(void *argument)
{
    struct part part = part_of(*(int *)argument);
    for (int round = 1; round <= rounds_of(20); round++) {
        write_source(&part, round);
        isthmus_dev_put(part.dest, part.source, 256, right, part.scope, 0);
        if ((round + (int)part.slice) % 2 == 0)
            isthmus_dev_order(part.scope);
        else
            isthmus_dev_quiet(part.scope);
        if (isthmus_dev_is_leader(part.scope)) {
            isthmus_dev_p(part.signal, (uint64_t)round, 8, right);
            (void)isthmus_dev_wait(ISTHMUS_WAIT_UNTIL, part.signal, ISTHMUS_DEV_EQUAL, (uint64_t)round, 8, 0);
        }
        isthmus_dev_meet(part.scope);
        check_bytes(&part, "put, order, flag", part.dest, left, 0, 256, round);
        isthmus_dev_quiet(part.scope);
        everybody();
    }
    if (isthmus_dev_is_leader(part.scope)) isthmus_dev_p(part.signal, 0, 8, right);
    everybody();
}

/* ---- collectives ---- */

struct collective {
    int scope;
    nvshmem_team_t team;
    int my_pe, n;
};

enum { NELEMS = 37 };

ON_DEVICE void fill_ints(const struct collective *c, int factor)
{
    for (int i = (int)isthmus_dev_rank(c->scope); i < NELEMS * c->n; i += (int)isthmus_dev_size(c->scope)) {
        mem.ints[i] = factor * (c->my_pe + 1) + i;
        mem.results[i] = -1;
    }
    isthmus_dev_meet(c->scope);
    (void)isthmus_dev_sync(c->team, c->scope);
}

ON_DEVICE void check_int(const struct collective *c, const char *what, int i, int expected)
{
    if (mem.results[i] != expected) fault(what, c->scope, i, mem.results[i], expected);
}

ON_DEVICE void move(const struct collective *c)
{
    size_t bytes = NELEMS * sizeof(int);
    int root = c->n - 1;
    fill_ints(c, 1000);
    expect(isthmus_dev_broadcast(c->team, mem.results, mem.ints, bytes, root, c->scope) == 0, "broadcast", c->scope);
    for (int i = 0; i < NELEMS; i++) check_int(c, "broadcast", i, 1000 * (root + 1) + i);
    (void)isthmus_dev_sync(c->team, c->scope);
    fill_ints(c, 2000);
    expect(isthmus_dev_fcollect(c->team, mem.results, mem.ints, bytes, c->scope) == 0, "fcollect", c->scope);
    for (int i = 0; i < NELEMS * c->n; i++) check_int(c, "fcollect", i, 2000 * (i / NELEMS + 1) + i % NELEMS);
    (void)isthmus_dev_sync(c->team, c->scope);
    fill_ints(c, 3000);
    expect(isthmus_dev_alltoall(c->team, mem.results, mem.ints, bytes, c->scope) == 0, "alltoall", c->scope);
    for (int i = 0; i < NELEMS * c->n; i++)
        check_int(c, "alltoall", i, 3000 * (i / NELEMS + 1) + c->my_pe * NELEMS + i % NELEMS);
    (void)isthmus_dev_sync(c->team, c->scope);
}

/* Member i has i elements, or none. */
ON_DEVICE void collect(const struct collective *c)
{
    for (int round = 0; round < 4; round++) {
        fill_ints(c, 1000);
        size_t mine = (c->my_pe + round) % 3 == 0 ? 0 : (size_t)c->my_pe + 1;
        expect(isthmus_dev_collect(c->team, mem.results, mem.ints, mine * sizeof(int), c->scope) == 0, "collect",
               c->scope);
        for (int pe = 0, at = 0; pe < c->n; pe++)
            for (int i = 0; i <= pe && (pe + round) % 3 != 0; i++, at++)
                check_int(c, "collect", at, 1000 * (pe + 1) + i);
        (void)isthmus_dev_sync(c->team, c->scope);
    }
}

/* Blocks of odd and even numbers of bytes: the places of the members are no multiples of a word. */
ON_DEVICE void collect_bytes(const struct collective *c)
{
    const unsigned char *results = (const unsigned char *)mem.results;
    unsigned char *source = (unsigned char *)mem.ints;
    for (int round = 0; round < 4; round++) {
        size_t mine = (size_t)(2 * c->my_pe + 1 + round % 2);
        fill_ints(c, 1000);
        for (size_t i = isthmus_dev_rank(c->scope); i < mine; i += isthmus_dev_size(c->scope))
            source[i] = byte_of(c->my_pe, 0, i, round);
        isthmus_dev_meet(c->scope);
        expect(isthmus_dev_collect(c->team, mem.results, source, mine, c->scope) == 0, "collect", c->scope);
        for (int pe = 0, at = 0; pe < c->n; pe++)
            for (int i = 0; i < 2 * pe + 1 + round % 2; i++, at++)
                if (results[at] != byte_of(pe, 0, (size_t)i, round))
                    fault("collect of bytes", c->scope, at, results[at], byte_of(pe, 0, (size_t)i, round));
        (void)isthmus_dev_sync(c->team, c->scope);
    }
}

/* Inclusive and exclusive, into another array and in place. */
ON_DEVICE void scan(const struct collective *c)
{
    struct isthmus_dev_reduce sum = {ISTHMUS_DEV_SUM, ISTHMUS_DEV_SIGNED, 4};
    for (int round = 0; round < 4; round++) {
        int is_inclusive = round % 2, n_sources = c->my_pe + is_inclusive;
        fill_ints(c, 10);
        for (int i = (int)isthmus_dev_rank(c->scope); i < NELEMS && round >= 2; i += (int)isthmus_dev_size(c->scope))
            mem.results[i] = mem.ints[i];
        isthmus_dev_meet(c->scope);
        const int *source = round < 2 ? mem.ints : mem.results;
        expect(isthmus_dev_scan(c->team, mem.results, source, NELEMS, sum, is_inclusive, c->scope) == 0, "scan",
               c->scope);
        for (int i = 0; i < NELEMS; i++) check_int(c, "scan", i, 10 * n_sources * (n_sources + 1) / 2 + n_sources * i);
        (void)isthmus_dev_sync(c->team, c->scope);
    }
}

ON_DEVICE int sum_of(const struct collective *c, int i) { return 10 * c->n * (c->n + 1) / 2 + c->n * i; }

ON_DEVICE void combine(const struct collective *c)
{
    struct isthmus_dev_reduce sum = {ISTHMUS_DEV_SUM, ISTHMUS_DEV_SIGNED, 4},
                              most = {ISTHMUS_DEV_MAX, ISTHMUS_DEV_SIGNED, 4};
    fill_ints(c, 10);
    expect(isthmus_dev_reduce(c->team, mem.results, mem.ints, NELEMS, sum, c->scope) == 0, "reduce", c->scope);
    for (int i = 0; i < NELEMS; i++) check_int(c, "sum_reduce", i, sum_of(c, i));
    (void)isthmus_dev_sync(c->team, c->scope);
    fill_ints(c, -10);
    (void)isthmus_dev_reduce(c->team, mem.results, mem.ints, NELEMS, most, c->scope);
    for (int i = 0; i < NELEMS; i++) check_int(c, "max_reduce", i, -10 + i);
    (void)isthmus_dev_sync(c->team, c->scope);
    fill_ints(c, 10);
    (void)isthmus_dev_reducescatter(c->team, mem.results, mem.ints, NELEMS, sum, c->scope);
    for (int i = 0; i < NELEMS; i++) check_int(c, "sum_reducescatter", i, sum_of(c, c->my_pe * NELEMS + i));
    (void)isthmus_dev_sync(c->team, c->scope);
    for (int in_place = 0; in_place < 2; in_place++) {
        fill_ints(c, 10);
        for (int i = (int)isthmus_dev_rank(c->scope); i < NELEMS * c->n; i += (int)isthmus_dev_size(c->scope))
            mem.results[i] = mem.ints[i];
        isthmus_dev_meet(c->scope);
        if (in_place == 0)
            (void)isthmus_dev_reduce(c->team, mem.results, mem.results, NELEMS, sum, c->scope);
        else
            (void)isthmus_dev_reducescatter(c->team, mem.results, mem.results, NELEMS, sum, c->scope);
        for (int i = 0; i < NELEMS; i++)
            check_int(c, "in place", i, in_place == 0 ? sum_of(c, i) : sum_of(c, c->my_pe * NELEMS + i));
        (void)isthmus_dev_sync(c->team, c->scope);
    }
}

KERNEL collectives(void *argument)
{
    const struct collective *c = (const struct collective *)argument;
    expect(nvshmem_team_my_pe(c->team) == c->my_pe && nvshmem_team_n_pes(c->team) == c->n, "team numbers", c->scope);
    if (c->my_pe < 0) {
        expect(isthmus_dev_barrier_of(c->team, c->scope) != 0, "a team of others", c->scope);
        return;
    }
    expect(nvshmem_team_translate_pe(c->team, c->my_pe, NVSHMEM_TEAM_WORLD) == me, "translate_pe", c->scope);
    for (int round = 0; round < rounds_of(30); round++)
        expect(isthmus_dev_sync(c->team, c->scope) == 0, "sync", c->scope);
    move(c);
    collect(c);
    collect_bytes(c);
    combine(c);
    scan(c);
}

/* ---- many blocks at once ---- */

KERNEL blocks(void *unused)
{
    (void)unused;
    uint64_t *counter = mem.words + 7;
    uint32_t block = isthmus_dev_block_rank();
    unsigned char *source = mem.source + block * SLICE, *dest = mem.dest + block * SLICE;
    for (int round = 0; round < rounds_of(30); round++) {
        for (uint32_t i = isthmus_dev_thread_rank(); i < 64; i += isthmus_dev_thread_count())
            source[i] = byte_of(me, block, i, round);
        nvshmemx_putmem_block(dest, source, 64, right);
        if (isthmus_dev_thread_rank() == 0) {
            nvshmem_quiet();
            nvshmem_uint64_atomic_inc(counter, right);
        }
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    if (isthmus_dev_thread_rank() == 0) nvshmem_uint64_wait_until(counter, NVSHMEM_CMP_GE, (uint64_t)rounds_of(30) * 4);
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

/* ---- */

static void run(uint32_t n_blocks, uint32_t threads, kernel_function kernel, const void *argument, size_t bytes)
{
    nvshmem_barrier_all();
    if (kernel_launch(n_blocks, threads, kernel, argument, bytes) != 0) {
        fprintf(stderr, "PE %d: a kernel was stopped\n", me);
        exit(1);
    }
    nvshmem_barrier_all();
}

static void run_collectives_by(int scope, uint32_t threads, nvshmem_team_t team)
{
    struct collective c = {scope, team, nvshmem_team_my_pe(team), nvshmem_team_n_pes(team)};
    run(1, threads, collectives, &c, sizeof c);
}

static void run_collectives(nvshmem_team_t team)
{
    static const int scopes[] = {ISTHMUS_THREAD, ISTHMUS_WARP, ISTHMUS_WARPGROUP, ISTHMUS_BLOCK};
    static const uint32_t threads[] = {1, 32, 128, 40};
    for (int i = 0; i < 4; i += part_of_rounds == 1 ? 1 : 3) run_collectives_by(scopes[i], threads[i], team);
}

/* The world, and a team of as many members as synchronize at once. */
static void run_large_teams(void)
{
    nvshmem_team_t team;
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, n_pes - ISTHMUS_DEVICE_MEMBERS, 1, ISTHMUS_DEVICE_MEMBERS, NULL, 0,
                               &team);
    run_collectives_by(ISTHMUS_BLOCK, 4, NVSHMEM_TEAM_WORLD);
    run_collectives_by(ISTHMUS_THREAD, 1, team);
    run_collectives_by(ISTHMUS_THREAD, 1, NVSHMEM_TEAM_WORLD);
    nvshmem_team_destroy(team);
}

static void run_operations(void)
{
    static const int scopes[] = {ISTHMUS_THREAD, ISTHMUS_WARP, ISTHMUS_BLOCK};
    for (int i = 0; i < 3; i++) {
        int scope = scopes[i];
        run(1, TEST_THREADS, copies, &scope, sizeof scope);
        run(1, TEST_THREADS, strided, &scope, sizeof scope);
        run(1, TEST_THREADS, strided_blocks, &scope, sizeof scope);
        run(1, TEST_THREADS, elements, &scope, sizeof scope);
        run(1, TEST_THREADS, signals, &scope, sizeof scope);
        run(1, TEST_THREADS, order, &scope, sizeof scope);
    }
    run(1, TEST_THREADS, atomics, NULL, 0);
    run(4, 8, blocks, NULL, 0);
}

static void allocate(void)
{
    mem.source = (unsigned char *)nvshmem_malloc(MOST_SLICES * SLICE);
    mem.dest = (unsigned char *)nvshmem_malloc(MOST_SLICES * SLICE);
    mem.back = (unsigned char *)nvshmem_malloc(MOST_SLICES * SLICE);
    mem.signals = (uint64_t *)nvshmem_calloc(2 * MOST_SLICES, sizeof *mem.signals);
    mem.words = (uint64_t *)nvshmem_calloc(8, sizeof *mem.words);
    mem.ints = (int *)nvshmem_malloc((size_t)NELEMS * (size_t)n_pes * sizeof *mem.ints);
    mem.results = (int *)nvshmem_malloc((size_t)NELEMS * (size_t)n_pes * sizeof *mem.results);
    nvshmem_uint64_p(&mem.words[6], UINT64_MAX, me); /* memory that the processor may not touch */
}

int main(int argc, char **argv)
{
    (void)argv;
    const char *part = getenv("ISTHMUS_TEST_PART");
    kernel_need_device();
    if (part != NULL && atoi(part) == 4) part_of_rounds = 4;
    nvshmem_init();
    me = nvshmem_my_pe(), n_pes = nvshmem_n_pes();
    right = (me + 1) % n_pes, left = (me + n_pes - 1) % n_pes;
    allocate();
    if (argc > 1) {
        run_large_teams();
    } else {
        nvshmem_team_t team;
        run_operations();
        run_collectives(NVSHMEM_TEAM_WORLD);
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (n_pes + 1) / 2, NULL, 0, &team);
        run_collectives(team);
        nvshmem_team_destroy(team);
    }
    nvshmem_barrier_all();
    if (me == 0 && n_faults == 0) printf("kernels on %d PEs\n", n_pes);
    nvshmem_finalize();
    return n_faults != 0;
}

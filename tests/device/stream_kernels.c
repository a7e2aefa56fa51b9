/* Collectives of teams whose members' devices reach one another are one kernel each, on a stream, and no thread of the
 * library takes part. Which bits they compute: tests/doubles/coll_kernel_test.c; here: which calls take kernels, on
 * which teams and memory, and in which order they run. With the argument forced: which take none, by the variables
 * ISTHMUS_COLL_. */
#include "cuda_stream.h"
#include "tests/pe/nv.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>

enum { LARGE = 150000, WORDS = LARGE * 5 }; /* LARGE words: more than a megabyte, in two steps */

static cudaStream_t streams[2];
static uint64_t *dest, *source, *host, turn;
static nvshmem_team_t world = NVSHMEM_TEAM_WORLD;

static void set(uint64_t *at, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++) host[i] = first + i;
    nvshmem_putmem(at, host, n * sizeof *at, pe.me);
    nvshmem_quiet();
}

static void get(const uint64_t *at, size_t n) { nvshmem_getmem(host, at, n * sizeof *at, pe.me); }

static uint64_t first_of(int of) { return 1000000u * (uint64_t)(of + 1); }

static void begin_case(size_t n)
{
    set(dest, n, 7);
    set(source, n, first_of(pe.me));
    nvshmem_barrier_all();
}

/* A call is `kernels` kernels and nothing else. */
static void expect_launches(int before, int kernels_before, int kernels)
{
    CHECK_EQ(cuda_kernels() - kernels_before, kernels);
    CHECK_EQ(cuda_launches() - before, kernels);
}

#define EXPECT_ONE(call)                                      \
    do {                                                      \
        int before_ = cuda_launches(), own_ = cuda_kernels(); \
        CHECK_EQ((call), 0);                                  \
        expect_launches(before_, own_, 1);                    \
    } while (0)

static bool has_worker(void)
{
    DIR *list = opendir("/proc/self/task");
    bool found = false;
    CHECK(list != NULL);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(name, sizeof name, file) != NULL) found |= strncmp(name, "isthmus stream", 14) == 0;
        (void)fclose(file);
    }
    closedir(list);
    return found;
}

/* ---- cases ---- */

static void broadcasts(void)
{
    static const size_t counts[] = {1, 77, 5000, LARGE};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int root = 0; root < pe.n; root++) {
            size_t n = counts[i];
            begin_case(n);
            EXPECT_ONE(nvshmemx_uint64_broadcast_on_stream(world, dest, source, n, root, streams[0]));
            stream_end(streams[0]);
            get(dest, n);
            for (size_t k = 0; k < n; k++) CHECK_EQ(host[k], first_of(root) + k);
        }
}

static void gather_and_exchange(void)
{
    static const size_t counts[] = {1, 333, 9000};
    size_t members = (size_t)pe.n;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t n = counts[i];
        begin_case(n * members);
        EXPECT_ONE(nvshmemx_uint64_fcollect_on_stream(world, dest, source, n, streams[0]));
        stream_end(streams[0]);
        get(dest, n * members);
        for (size_t k = 0; k < n * members; k++) CHECK_EQ(host[k], first_of((int)(k / n)) + k % n);
        nvshmem_barrier_all();
        EXPECT_ONE(nvshmemx_uint64_alltoall_on_stream(world, dest, source, n, streams[0]));
        stream_end(streams[0]);
        get(dest, n * members);
        for (size_t k = 0; k < n * members; k++) CHECK_EQ(host[k], first_of((int)(k / n)) + (size_t)pe.me * n + k % n);
        nvshmem_barrier_all();
    }
}

static uint64_t sum_at(size_t k)
{
    uint64_t sum = 0;
    for (int i = 0; i < pe.n; i++) sum += first_of(i) + k;
    return sum;
}

static void reductions(void)
{
    static const size_t counts[] = {1, 100, 5000, LARGE};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int in_place = 0; in_place < 2; in_place++) {
            size_t n = counts[i];
            uint64_t *to = in_place ? source : dest;
            begin_case(n);
            EXPECT_ONE(nvshmemx_uint64_sum_reduce_on_stream(world, to, source, n, streams[0]));
            stream_end(streams[0]);
            get(to, n);
            for (size_t k = 0; k < n; k++) CHECK_EQ(host[k], sum_at(k));
            begin_case(n * (size_t)pe.n);
            EXPECT_ONE(nvshmemx_uint64_sum_reducescatter_on_stream(world, to, source, n, streams[0]));
            stream_end(streams[0]);
            get(to, n);
            for (size_t k = 0; k < n; k++) CHECK_EQ(host[k], sum_at((size_t)pe.me * n + k));
            nvshmem_barrier_all();
        }
}

/* No elements, an odd address, an address that no kernel loads whole; barrier and sync. */
static void corners(void)
{
    begin_case(100);
    int before = cuda_launches(), kernels = cuda_kernels();
    CHECK_EQ(nvshmemx_uint64_sum_reduce_on_stream(world, dest, source, 0, streams[0]), 0);
    CHECK_EQ(nvshmemx_uint64_fcollect_on_stream(world, NULL, NULL, 0, streams[0]), 0);
    expect_launches(before, kernels, 0);
    char *odd_dest = (char *)dest + 3, *odd_source = (char *)source + 1;
    EXPECT_ONE(nvshmemx_uchar_fcollect_on_stream(world, (unsigned char *)odd_dest, (unsigned char *)odd_source, 19,
                                                 streams[0]));
    EXPECT_ONE(nvshmemx_uchar_max_reduce_on_stream(world, (unsigned char *)odd_dest, (unsigned char *)odd_source, 5,
                                                   streams[0]));
    before = cuda_launches(), kernels = cuda_kernels();
    nvshmemx_barrier_all_on_stream(streams[0]);
    nvshmemx_sync_all_on_stream(streams[0]);
    expect_launches(before, kernels, pe.n > 1 ? 2 : 0);
    CHECK(nvshmemx_uint64_fcollect_on_stream(NVSHMEM_TEAM_INVALID, dest, source, 1, streams[0]) != 0);
    stream_end(streams[0]);
    nvshmem_barrier_all();
}

/* One after another, each on the result of the one before, behind a gate: nothing happens before it opens. */
static void late_and_in_order(void)
{
    begin_case(100);
    if (pe.me == 0) stream_hold(streams[0], ++turn);
    CHECK_EQ(nvshmemx_uint64_broadcast_on_stream(world, dest, source, 10, pe.n - 1, streams[0]), 0);
    CHECK_EQ(nvshmemx_uint64_sum_reduce_on_stream(world, dest + 10, dest, 10, streams[0]), 0);
    CHECK_EQ(nvshmemx_uint64_fcollect_on_stream(world, dest + 20, dest + 10, 1, streams[0]), 0);
    CHECK_EQ(nvshmem_uint64_g(dest, 0), 7);
    CHECK_EQ(nvshmem_uint64_g(dest + 20, pe.me), 27);
    nvshmem_barrier_all();
    if (pe.me == 0) gate_open();
    stream_end(streams[0]);
    get(dest, 20 + (size_t)pe.n);
    CHECK_EQ(host[0], first_of(pe.n - 1));
    for (size_t k = 10; k < 20 + (size_t)pe.n; k++)
        CHECK_EQ(host[k], (uint64_t)pe.n * (first_of(pe.n - 1) + (k < 20 ? k - 10 : 0)));
    nvshmem_barrier_all();
}

/* Two teams on two streams at once, one of them numbered backwards; both end while their work is queued, and the next
 * ones get their flags. */
static void teams(void)
{
    begin_case(200);
    for (int round = 0; round < 3; round++) {
        nvshmem_team_t backwards = nv_team_backwards(), all = NVSHMEM_TEAM_INVALID;
        CHECK_EQ(nvshmem_team_split_strided(world, 0, 1, pe.n, NULL, 0, &all), 0);
        for (int i = 0; i < 5; i++) {
            EXPECT_ONE(nvshmemx_uint64_fcollect_on_stream(backwards, dest, source, 1, streams[0]));
            EXPECT_ONE(nvshmemx_uint64_fcollect_on_stream(all, dest + 100, source, 1, streams[1]));
        }
        nvshmem_team_destroy(backwards);
        nvshmem_team_destroy(all);
        get(dest, 200);
        for (int i = 0; i < pe.n; i++) {
            CHECK_EQ(host[i], first_of(pe.n - 1 - i));
            CHECK_EQ(host[100 + i], first_of(i));
        }
        nvshmem_barrier_all();
    }
}

/* Alone, the host copies by itself. */
#define EXPECT_KERNEL(call)                        \
    do {                                           \
        int own_ = cuda_kernels();                 \
        CHECK_EQ((call), 0);                       \
        CHECK_EQ(cuda_kernels() - own_, pe.n > 1); \
    } while (0)

/* Calls without stream take the same kernels, and wait for them; also while one of the same team waits in a stream. */
static void called_by_the_host(void)
{
    size_t members = (size_t)pe.n;
    begin_case(100 * members);
    if (pe.me == 0) stream_hold(streams[0], ++turn);
    CHECK_EQ(nvshmemx_uint64_max_reduce_on_stream(world, dest + 90, source, 5, streams[0]), 0);
    EXPECT_KERNEL(nvshmem_uint64_sum_reduce(world, dest, source, 80));
    get(dest, 80);
    for (size_t k = 1; k < 80; k++) CHECK_EQ(host[k], sum_at(k));
    EXPECT_KERNEL(nvshmem_uint64_broadcast(world, dest, source + 1, 10, 0));
    EXPECT_KERNEL(nvshmem_uint64_fcollect(world, dest + 10, dest, 1));
    EXPECT_KERNEL(nvshmem_uint64_alltoall(world, dest + 20, dest + 10, 1));
    EXPECT_KERNEL(nvshmem_uint64_sum_reducescatter(world, dest + 40, source, 2));
    if (pe.me == 0) gate_open();
    stream_end(streams[0]);
    get(dest, 95);
    for (size_t k = 0; k < members; k++) CHECK_EQ(host[20 + k], first_of(0) + 1);
    CHECK_EQ(host[41], sum_at((size_t)pe.me * 2 + 1));
    for (size_t k = 1; k < 5; k++) CHECK_EQ(host[90 + k], first_of(pe.n - 1) + k);
    nvshmem_barrier_all();
}

/* Operands of many magnitudes: any other order of them gives other bits. */
static float float_of(int of, size_t k) { return (float)(k % 97 + 1) * (of % 2 ? 1e-7f : 3.1f) * (float)(of + 1) / 7; }

static void expect_bits(size_t n, float *from)
{
    const float *seen = (const float *)(const void *)host;
    for (int member = 0; member < pe.n; member++) {
        nvshmem_getmem(host, from, n * sizeof *from, member);
        for (size_t k = 0; k < n; k++) {
            float sum = float_of(0, k);
            for (int of = 1; of < pe.n; of++) sum += float_of(of, k);
            CHECK(memcmp(&seen[k], &sum, sizeof sum) == 0);
        }
    }
}

/* All members get the bits of the sum in their order, by one step and by two, in each repetition, in a stream and for
 * the host. */
static void same_bits(void)
{
    static const size_t counts[] = {3, 20000};
    float *to = (float *)(void *)dest, *from = (float *)(void *)source, *mine = (float *)(void *)host;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t n = counts[i];
        for (size_t k = 0; k < n; k++) mine[k] = float_of(pe.me, k);
        nvshmem_putmem(from, mine, n * sizeof *mine, pe.me);
        for (int round = 0; round < 4; round++) {
            begin_case(0);
            if (round < 3) {
                EXPECT_ONE(nvshmemx_float_sum_reduce_on_stream(world, to, from, n, streams[0]));
                stream_end(streams[0]);
            } else {
                EXPECT_KERNEL(nvshmem_float_sum_reduce(world, to, from, n));
            }
            nvshmem_barrier_all();
            expect_bits(n, to);
        }
    }
    nvshmem_barrier_all();
}

/* What a variable names is no kernel's algorithm: those collectives are none, in streams and for the host. The results
 * are right either way. */
static int kernels_of(const char *variable) { return getenv(variable) == NULL; }

#define EXPECT_KERNELS(call, kernels)               \
    do {                                            \
        int own_ = cuda_kernels();                  \
        (void)(call);                               \
        CHECK_EQ(cuda_kernels() - own_, (kernels)); \
    } while (0)

static void forced(void)
{
    size_t members = (size_t)pe.n;
    int broadcast = kernels_of("ISTHMUS_COLL_BROADCAST"), fcollect = kernels_of("ISTHMUS_COLL_FCOLLECT");
    int alltoall = kernels_of("ISTHMUS_COLL_ALLTOALL"), reduce = kernels_of("ISTHMUS_COLL_REDUCE");
    int barrier = kernels_of("ISTHMUS_COLL_BARRIER");
    uint64_t *more = dest + 50, *last = dest + 60;
    begin_case(100);
    EXPECT_KERNELS(nvshmemx_uint64_broadcast_on_stream(world, dest, source, 10, 0, streams[0]), broadcast);
    EXPECT_KERNELS(nvshmemx_uint64_fcollect_on_stream(world, dest + 10, dest, 1, streams[0]), fcollect);
    EXPECT_KERNELS(nvshmemx_uint64_alltoall_on_stream(world, dest + 20, source, 1, streams[0]), alltoall);
    EXPECT_KERNELS(nvshmemx_uint64_sum_reduce_on_stream(world, dest + 30, source, 10, streams[0]), reduce);
    EXPECT_KERNELS(nvshmemx_uint64_sum_reducescatter_on_stream(world, dest + 40, source, 1, streams[0]), 1);
    EXPECT_KERNELS(nvshmemx_barrier_all_on_stream(streams[0]), barrier);
    EXPECT_KERNELS(nvshmemx_sync_all_on_stream(streams[0]), barrier);
    stream_end(streams[0]);
    EXPECT_KERNELS(nvshmem_uint64_broadcast(world, more, source, 1, 0), broadcast);
    EXPECT_KERNELS(nvshmem_uint64_sum_reduce(world, last, source, 1), reduce);
    get(dest, 61);
    for (size_t k = 0; k < 10; k++) CHECK_EQ(host[k], first_of(0) + k);
    for (size_t k = 0; k < members; k++) CHECK_EQ(host[10 + k], first_of(0));
    for (size_t k = 0; k < members; k++) CHECK_EQ(host[20 + k], first_of((int)k) + (size_t)pe.me);
    for (size_t k = 0; k < 10; k++) CHECK_EQ(host[30 + k], sum_at(k));
    CHECK_EQ(host[40], sum_at((size_t)pe.me));
    CHECK(host[50] == first_of(0) && host[60] == sum_at(0));
    CHECK(has_worker()); /* each of the tests forces one algorithm of the processors at least */
    nvshmem_barrier_all();
}

/* A graph repeats a launch with the same parameters. */
static void repeated(void)
{
    begin_case(100);
    EXPECT_ONE(nvshmemx_uint64_sum_reduce_on_stream(world, source, source, 10, streams[0]));
    for (int i = 0; i < 3; i++) cuda_repeat();
    stream_end(streams[0]);
    get(source, 10);
    for (size_t k = 0; k < 10; k++) CHECK_EQ(host[k], sum_at(k) * (uint64_t)(pe.n * pe.n * pe.n));
    nvshmem_barrier_all();
}

static void all_cases(void)
{
    broadcasts();
    gather_and_exchange();
    reductions();
    corners();
    late_and_in_order();
    teams();
    repeated();
    called_by_the_host();
    same_bits();
    CHECK(!has_worker());
}

int main(int argc, char **argv)
{
    bool is_forced = argc > 1 && strcmp(argv[1], "forced") == 0;
    nv_begin();
    cuda_begin();
    for (int i = 0; i < 2; i++) streams[i] = stream_new();
    dest = nvshmem_malloc(WORDS * sizeof *dest);
    source = nvshmem_malloc(WORDS * sizeof *source);
    host = malloc(WORDS * sizeof *host);
    CHECK(dest != NULL && source != NULL && host != NULL);
    turn = gate_turn();
    if (is_forced)
        forced();
    else
        all_cases();
    for (int i = 0; i < 2; i++) stream_free(streams[i]);
    nvshmem_free(source);
    nvshmem_free(dest);
    free(host);
    nvshmem_finalize();
    cuda_end();
    return 0;
}

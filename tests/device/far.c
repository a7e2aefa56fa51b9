/* R26, R62, R67, R102, R139, R143: data from near and far PEs is in memory of a device when quiet, a barrier, a wait or
 * a test returns, whichever mixture of transports carried it: data and flags on the device, on the host, and one on
 * each.
 * far visible: in rounds between all pairs. far large: more than may be in flight at a time, from all PEs to all at
 * once. */
#include "device.h"

enum { ROUNDS = 6, BYTES = 70000, LARGE = 24 << 20 };

static struct on_device {
    char data[BYTES];
    uint64_t flag, signal, count;
} * device;
static struct on_host {
    char data[BYTES];
    uint64_t flag;
} host;
static char wanted[BYTES], source[BYTES];

/* What PE `from` sends in this round. */
static void make_round(char *out, int from, int round) { make_pattern(out, BYTES, 100 * from + round); }

static void expect_on_device(int from, int round)
{
    make_round(wanted, from, round);
    expect_in_heap(device->data, wanted, BYTES);
}

static void expect_on_host(int from, int round)
{
    make_round(wanted, from, round);
    CHECK_BYTES(host.data, wanted, BYTES);
}

/* ---- a sender, and a PE that learns of the data ---- */

static void data_and_flag_on_device(int to, int from, int round)
{
    shmem_putmem_nbi(device->data, source, BYTES, to);
    shmem_fence();
    shmem_uint64_p(&device->flag, (uint64_t)round, to);
    shmem_uint64_wait_until(&device->flag, SHMEM_CMP_EQ, (uint64_t)round);
    expect_on_device(from, round);
}

static void flag_on_host(int to, int from, int round)
{
    shmem_putmem(device->data, source, BYTES, to);
    shmem_fence();
    shmem_uint64_p(&host.flag, (uint64_t)round, to);
    while (!shmem_uint64_test(&host.flag, SHMEM_CMP_GE, (uint64_t)round)) {}
    expect_on_device(from, round);
}

static void data_on_host(int to, int from, int round)
{
    shmem_putmem_nbi(host.data, source, BYTES, to);
    shmem_fence();
    shmem_uint64_atomic_set(&device->flag, (uint64_t)round, to);
    while (!shmem_uint64_test(&device->flag, SHMEM_CMP_EQ, (uint64_t)round)) {}
    expect_on_host(from, round);
}

static void signalled(int to, int from, int round)
{
    shmem_putmem_signal_nbi(device->data, source, BYTES, &device->signal, (uint64_t)round, SHMEM_SIGNAL_SET, to);
    CHECK_EQ(shmem_signal_wait_until(&device->signal, SHMEM_CMP_EQ, (uint64_t)round), round);
    expect_on_device(from, round);
    shmem_quiet();
}

static void after_quiet(int to, int from, int round)
{
    shmem_putmem_nbi(device->data, source, BYTES, to);
    shmem_putmem_nbi(host.data, source, BYTES, to);
    shmem_quiet();
    shmem_uint64_atomic_set(&host.flag, (uint64_t)round, to);
    shmem_uint64_wait_until(&host.flag, SHMEM_CMP_EQ, (uint64_t)round);
    expect_on_device(from, round);
    expect_on_host(from, round);
}

static void after_barrier(int to, int from, int round)
{
    shmem_putmem_nbi(device->data, source, BYTES, to);
    shmem_putmem_nbi(host.data, source, BYTES, to);
    shmem_barrier_all();
    expect_on_device(from, round);
    expect_on_host(from, round);
}

/* A third PE reads, where there is one: an update that quiet has completed is visible to all. */
static void seen_by_others(int to, int from, int round)
{
    int third = (to + 1) % pe.n, its_target = (pe.me + pe.n - 1) % pe.n;
    char *seen = malloc(BYTES);
    CHECK(seen != NULL);
    shmem_putmem(device->data, source, BYTES, to);
    shmem_quiet();
    shmem_uint64_atomic_set(&host.flag, (uint64_t)round, third);
    shmem_uint64_wait_until(&host.flag, SHMEM_CMP_EQ, (uint64_t)round);
    shmem_getmem(seen, device->data, BYTES, its_target);
    make_round(wanted, (its_target + pe.n - (to - pe.me + pe.n) % pe.n) % pe.n, round);
    CHECK_BYTES(seen, wanted, BYTES);
    free(seen);
    (void)from;
}

static void (*const ways[])(int to, int from, int round) = {
    data_and_flag_on_device, flag_on_host, data_on_host, signalled, after_quiet, after_barrier, seen_by_others,
};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* Each PE sends to the one `distance` further on: to near ones and far ones. */
static void visible(void)
{
    int round = 0;
    for (int repeat = 0; repeat < ROUNDS; repeat++)
        for (int way = 0; way < N_WAYS; way++)
            for (int distance = 1; distance <= pe.n; distance++) {
                make_round(source, pe.me, ++round);
                ways[way]((pe.me + distance) % pe.n, (pe.me + pe.n - distance % pe.n) % pe.n, round);
                shmem_barrier_all();
            }
}

/* All PEs, over all transports, on one word. */
static void atomics(void)
{
    for (int to = 0; to < pe.n; to++)
        for (int i = 0; i < ROUNDS; i++) {
            shmem_uint64_atomic_add(&device->count, 1, to);
            (void)shmem_uint64_atomic_fetch_inc(&device->count, to);
        }
    shmem_barrier_all();
    CHECK_EQ(shmem_uint64_atomic_fetch(&device->count, pe.me), 2 * ROUNDS * pe.n);
}

static void large(void)
{
    char *mine = malloc(LARGE), *seen = malloc(LARGE), *heap = shmem_malloc((size_t)LARGE * (size_t)pe.n);
    CHECK(mine != NULL && seen != NULL && heap != NULL);
    make_pattern(mine, LARGE, pe.me);
    for (int i = 1; i <= pe.n; i++)
        shmem_putmem_nbi(heap + (size_t)pe.me * (size_t)LARGE, mine, LARGE, (pe.me + i) % pe.n);
    shmem_barrier_all();
    for (int i = 0; i < pe.n; i++) {
        memset(seen, 0, LARGE);
        shmem_getmem_nbi(seen, heap + (size_t)i * (size_t)LARGE, LARGE, pe.right);
        shmem_quiet();
        make_pattern(mine, LARGE, i);
        CHECK_BYTES(seen, mine, LARGE);
    }
    shmem_barrier_all();
    shmem_free(heap);
    free(seen);
    free(mine);
}

int main(int argc, char **argv)
{
    pe_begin();
    device = shmem_calloc(1, sizeof *device);
    CHECK(device != NULL);
    if (argc > 1 && strcmp(argv[1], "large") == 0) {
        large();
    } else {
        visible();
        atomics();
    }
    shmem_free(device);
    shmem_finalize();
    return 0;
}

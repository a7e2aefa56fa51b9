/* R101, R102: arrivals DOUBLE flushed|never: data in memory of a device, put there past the device's driver, is there
 * when a wait for a flag in host memory ends; each wait that ends has flushed once, and no other call has. With
 * `never`: nothing is written past the driver, or the driver orders it, and nothing is flushed. DOUBLE: the library
 * that counts flushes (kinds, or the driver). */
#include "device.h"

#include <dlfcn.h>

enum { BYTES = 5000, FLAGS = 3 };

static uint64_t flags[FLAGS];
static long lock;
static char source[BYTES], wanted[BYTES], *device;
static uint64_t turn;
static bool is_flushed;

/* ---- the count ---- */

static uint64_t (*kinds_flushes)(void);
static const char *(*driver_call)(int number, int *uses);

static void find_count(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    CHECK(library != NULL);
    *(void **)(void *)&kinds_flushes = dlsym(library, "kinds_n_flushes");
    *(void **)(void *)&driver_call = dlsym(library, "gpu_double_call");
    CHECK(kinds_flushes != NULL || driver_call != NULL);
}

static uint64_t n_flushes(void)
{
    const char *name;
    int uses = 0;
    if (kinds_flushes != NULL) return kinds_flushes();
    for (int i = 0; (name = driver_call(i, &uses)) != NULL; i++)
        if (strcmp(name, "cuFlushGPUDirectRDMAWrites") == 0) return (uint64_t)uses;
    return 0;
}

/* ---- one wait ---- */

static void send(void)
{
    make_pattern(source, BYTES, 1000 * pe.me + (int)turn);
    shmem_putmem(device, source, BYTES, pe.right);
    shmem_fence();
    for (int i = 0; i < FLAGS; i++) shmem_uint64_p(&flags[i], turn, pe.right);
}

static void expect_from(int sender)
{
    make_pattern(wanted, BYTES, 1000 * sender + (int)turn);
    expect_in_heap(device, wanted, BYTES);
}

static void by_wait_until(void) { shmem_uint64_wait_until(flags, SHMEM_CMP_GE, turn); }
static void by_wait_all(void) { shmem_uint64_wait_until_all(flags, FLAGS, NULL, SHMEM_CMP_EQ, turn); }
static void by_wait_any(void) { (void)shmem_uint64_wait_until_any(flags, FLAGS, NULL, SHMEM_CMP_EQ, turn); }
static void by_signal(void) { (void)shmem_signal_wait_until(flags, SHMEM_CMP_EQ, turn); }

static void by_wait_some(void)
{
    size_t indices[FLAGS];
    (void)shmem_uint64_wait_until_some(flags, FLAGS, indices, NULL, SHMEM_CMP_EQ, turn);
}

static void by_wait_vector(void)
{
    uint64_t values[FLAGS] = {turn, turn, turn};
    shmem_uint64_wait_until_all_vector(flags, FLAGS, NULL, SHMEM_CMP_EQ, values);
}

/* Failed tests flush nothing: the whole loop flushes once. */
static void by_test(void)
{
    while (!shmem_uint64_test(flags, SHMEM_CMP_EQ, turn)) {}
}

static void by_test_all(void)
{
    while (!shmem_uint64_test_all(flags, FLAGS, NULL, SHMEM_CMP_EQ, turn)) {}
}

static void by_test_any(void)
{
    while (shmem_uint64_test_any(flags, FLAGS, NULL, SHMEM_CMP_EQ, turn) == SIZE_MAX) {}
}

static void by_test_some(void)
{
    size_t indices[FLAGS];
    while (shmem_uint64_test_some(flags, FLAGS, indices, NULL, SHMEM_CMP_EQ, turn) == 0) {}
}

/* On a flag that a plain load has seen: each fetch counts. */
static void by_fetch(void)
{
    while (__atomic_load_n(flags, __ATOMIC_ACQUIRE) != turn) sched_yield();
    CHECK_EQ(shmem_signal_fetch(flags), turn);
}

static void by_barrier(void) { shmem_barrier_all(); }

static void by_sync(void)
{
    shmem_quiet();
    shmem_sync_all();
}

static const struct way {
    const char *name;
    void (*wait)(void);
} ways[] = {
    {"wait_until", by_wait_until},
    {"wait_until_all", by_wait_all},
    {"wait_until_any", by_wait_any},
    {"wait_until_some", by_wait_some},
    {"wait_until_all_vector", by_wait_vector},
    {"test", by_test},
    {"test_all", by_test_all},
    {"test_any", by_test_any},
    {"test_some", by_test_some},
    {"signal_wait_until", by_signal},
    {"signal_fetch", by_fetch},
    {"barrier", by_barrier},
    {"sync", by_sync},
};

static void check_way(const struct way *way)
{
    turn++;
    send();
    uint64_t before = n_flushes();
    way->wait();
    uint64_t n = n_flushes() - before;
    if (n != (is_flushed ? 1 : 0))
        check_fail(__FILE__, __LINE__, "%s has flushed %llu times", way->name, (unsigned long long)n);
    expect_from(pe.left);
    shmem_barrier_all();
}

/* ---- locks: one PE waits for it, or tries until it has it ---- */

static void check_lock(bool is_tried)
{
    turn++;
    if (pe.me == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (pe.me == 0) {
        make_pattern(source, BYTES, (int)turn);
        shmem_putmem(device, source, BYTES, pe.right);
        shmem_clear_lock(&lock);
    }
    if (pe.me == 1) {
        uint64_t before = n_flushes();
        if (!is_tried) shmem_set_lock(&lock);
        while (is_tried && shmem_test_lock(&lock) != 0) {}
        CHECK_EQ(n_flushes() - before, is_flushed ? 1 : 0);
        expect_from(0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
}

/* A get whose dest an adapter writes reports its completion to the host in another way. */
static void check_gets(void)
{
    char *dest = shmem_malloc(BYTES);
    CHECK(dest != NULL);
    for (int is_nbi = 0; is_nbi < 2; is_nbi++) {
        uint64_t before = n_flushes();
        (is_nbi ? shmem_getmem_nbi : shmem_getmem)(dest, device, BYTES, pe.right);
        shmem_quiet();
        CHECK_EQ(n_flushes() - before, is_flushed ? 1 : 0);
    }
    shmem_free(dest);
}

int main(int argc, char **argv)
{
    pe_begin();
    CHECK(argc == 3);
    is_flushed = strcmp(argv[2], "flushed") == 0;
    find_count(argv[1]);
    device = shmem_malloc(BYTES);
    CHECK(device != NULL);
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) check_way(&ways[i]);
    check_lock(false);
    check_lock(true);
    check_gets();
    pe_end();
    return 0;
}

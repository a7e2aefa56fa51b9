/* tests/cpu_device/arrivals.c: arrivals flushed|never: kernels with the state of the double of CUDA wait for what an
 * adapter writes past the driver. Where the device does not order such writes, each wait that has ended has flushed
 * once, and each test that holds; a test that does not hold has not, and neither has any other call. */
#define ISTHMUS_DEVICE_CPU
#define ISTHMUS_NO_CUDA_HEADERS /* plugins/nvlink/cuda_api.h has the types of the driver */
#include "on_double.h"

#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 3000, FLAGS = 3, THREADS = 4 };

static struct {
    char *data;
    uint64_t *flags;
} mem;
static int me, n_faults;
static uint64_t turn;
static bool is_flushed;
static const char *(*driver_call)(int number, int *uses);

static uint64_t n_flushes(void)
{
    const char *name;
    int uses = 0;
    for (int i = 0; (name = driver_call(i, &uses)) != NULL; i++)
        if (strcmp(name, "cuFlushGPUDirectRDMAWrites") == 0) return (uint64_t)uses;
    return 0;
}

/* ---- each way to wait: for all flags to be `turn` ---- */

static void by_wait_until(void) { nvshmem_uint64_wait_until(mem.flags, NVSHMEM_CMP_GE, turn); }
static void by_signal_wait(void) { (void)nvshmem_signal_wait_until(mem.flags, NVSHMEM_CMP_EQ, turn); }
static void by_wait_all(void) { nvshmem_uint64_wait_until_all(mem.flags, FLAGS, NULL, NVSHMEM_CMP_EQ, turn); }
static void by_wait_any(void) { (void)nvshmem_uint64_wait_until_any(mem.flags, FLAGS, NULL, NVSHMEM_CMP_EQ, turn); }

static void by_wait_some(void)
{
    size_t indices[FLAGS];
    (void)nvshmem_uint64_wait_until_some(mem.flags, FLAGS, indices, NULL, NVSHMEM_CMP_EQ, turn);
}

static void by_wait_vector(void)
{
    uint64_t values[FLAGS] = {turn, turn, turn};
    nvshmem_uint64_wait_until_all_vector(mem.flags, FLAGS, NULL, NVSHMEM_CMP_EQ, values);
}

static void by_test(void)
{
    while (!nvshmem_uint64_test(mem.flags, NVSHMEM_CMP_EQ, turn)) isthmus_dev_pause();
}

static void by_test_all(void)
{
    while (!nvshmem_uint64_test_all(mem.flags, FLAGS, NULL, NVSHMEM_CMP_EQ, turn)) isthmus_dev_pause();
}

static void by_test_any(void)
{
    while (nvshmem_uint64_test_any(mem.flags, FLAGS, NULL, NVSHMEM_CMP_EQ, turn) == SIZE_MAX) isthmus_dev_pause();
}

static void by_test_some(void)
{
    size_t indices[FLAGS];
    while (nvshmem_uint64_test_some(mem.flags, FLAGS, indices, NULL, NVSHMEM_CMP_EQ, turn) == 0) isthmus_dev_pause();
}

/* Of a flag that a plain load has seen: each fetch flushes. */
static void by_signal_fetch(void)
{
    while (isthmus_dev_load_acquire(mem.flags, 8) != turn) isthmus_dev_pause();
    (void)nvshmem_signal_fetch(mem.flags);
}

static const struct way {
    const char *name;
    void (*wait)(void);
} ways[] = {
    {"wait_until", by_wait_until},
    {"signal_wait_until", by_signal_wait},
    {"wait_until_all", by_wait_all},
    {"wait_until_any", by_wait_any},
    {"wait_until_some", by_wait_some},
    {"wait_until_all_vector", by_wait_vector},
    {"test", by_test},
    {"test_all", by_test_all},
    {"test_any", by_test_any},
    {"test_some", by_test_some},
    {"signal_fetch", by_signal_fetch},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static void expect_flushes(uint64_t before, const char *what)
{
    uint64_t n = n_flushes() - before;
    if (n == (is_flushed ? 1 : 0)) return;
    fprintf(stderr, "PE %d: %s has flushed %llu times\n", me, what, (unsigned long long)n);
    n_faults++;
}

static void wait_kernel(void *argument)
{
    const struct way *way = argument;
    uint64_t before = n_flushes();
    way->wait();
    expect_flushes(before, way->name);
    for (int i = 0; i < BYTES; i++) n_faults += mem.data[i] != (char)(turn + (uint64_t)i);
}

/* By a block, whose threads flush together. */
static void barrier_kernel(void *unused)
{
    (void)unused;
    uint64_t before = n_flushes();
    isthmus_dev_barrier(ISTHMUS_BLOCK);
    nvshmemx_barrier_all_block();
    if (isthmus_dev_thread_rank() == 0) expect_flushes(before, "barrier_all_block");
}

/* ---- PE 0 puts, PE 1 waits ---- */

static void send(void)
{
    static char source[BYTES];
    for (int i = 0; i < BYTES; i++) source[i] = (char)(turn + (uint64_t)i);
    nvshmem_putmem(mem.data, source, BYTES, 1);
    nvshmem_fence();
    for (int i = 0; i < FLAGS; i++) nvshmem_uint64_p(&mem.flags[i], turn, 1);
    nvshmem_quiet();
}

static void launch(uint32_t threads, void (*kernel)(void *argument), const void *argument)
{
    if (isthmus_cpu_launch(1, threads, kernel, (void *)(uintptr_t)argument) != 0) n_faults++;
}

int main(int argc, char **argv)
{
    on_double_init();
    me = nvshmem_my_pe();
    is_flushed = argc > 1 && strcmp(argv[1], "flushed") == 0;
    *(void **)(void *)&driver_call = dlsym(on_double()->library, "gpu_double_call");
    mem.data = nvshmem_malloc(BYTES);
    mem.flags = nvshmem_calloc(FLAGS, sizeof *mem.flags);
    nvshmem_barrier_all();
    for (int i = 0; i < N_WAYS; i++) {
        turn++;
        if (me == 0) send();
        if (me == 1) launch(1, wait_kernel, &ways[i]);
        nvshmem_barrier_all();
    }
    launch(THREADS, barrier_kernel, NULL);
    nvshmem_barrier_all();
    if (n_faults > 0) fprintf(stderr, "PE %d: %d faults\n", me, n_faults);
    nvshmem_finalize();
    return n_faults != 0;
}

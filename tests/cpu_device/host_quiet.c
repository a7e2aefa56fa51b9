/* tests/cpu_device/host_quiet.c: the host's quiet and barrier, called and in a stream, cover the requests of kernels
 * that have ended.
 *     host_quiet values    each PE reads what its left neighbour's kernel has put without a quiet of its own
 *     host_quiet gate      a put of PE 0 that is incomplete (gate.c) holds up each of these calls of the host */
#define ISTHMUS_DEVICE_CPU
#include "gate.h"

#include <dlfcn.h>
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 2, THREADS = 4, PER_THREAD = 5, WORDS = BLOCKS * THREADS * PER_THREAD, ROUNDS = 3 };

static struct gate gate;
static uint64_t *words, *source; /* symmetric */
static int me, n, n_faults;

static void quiet(void) { nvshmem_quiet(); }
static void barrier_all(void) { nvshmem_barrier_all(); }
static void barrier(void) { (void)nvshmem_barrier(NVSHMEM_TEAM_WORLD); }
/* On the double of CUDA's driver streams run beside the host: returns its function of that name. */
static void *of_driver(const char *name)
{
    const char *path = getenv("ISTHMUS_NVLINK_LIBRARY");
    void *driver = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return driver != NULL ? dlsym(driver, name) : NULL;
}

static void end_stream(void)
{
    static int (*synchronize)(void *stream);
    int (*retain)(void **context, int device), (*push)(void *context);
    void *at = of_driver("cuDevicePrimaryCtxRetain"), *at_push = of_driver("cuCtxPushCurrent_v2"), *context;
    if (at == NULL) return;
    if (synchronize == NULL) {
        memcpy(&retain, &at, sizeof at);
        memcpy(&push, &at_push, sizeof at_push);
        n_faults += retain(&context, 0) != 0 || push(context) != 0;
        at = of_driver("cuStreamSynchronize");
        memcpy(&synchronize, &at, sizeof at);
    }
    n_faults += synchronize(NULL) != 0;
}

static void quiet_on_stream(void)
{
    nvshmemx_quiet_on_stream(0);
    end_stream();
}

static void barrier_all_on_stream(void)
{
    nvshmemx_barrier_all_on_stream(0);
    end_stream();
}

static const struct {
    const char *name;
    void (*call)(void);
    bool meets;
} calls[] = {{"nvshmem_quiet", quiet, false},
             {"nvshmem_barrier_all", barrier_all, true},
             {"nvshmem_barrier", barrier, true},
             {"nvshmemx_quiet_on_stream", quiet_on_stream, false},
             {"nvshmemx_barrier_all_on_stream", barrier_all_on_stream, true}};

/* ---- values ---- */

static uint64_t value(int pe, uint64_t number, int i) { return number << 32 | (uint64_t)pe << 16 | (uint64_t)i; }

static void put_all(void *argument)
{
    const uint64_t number = *(const uint64_t *)argument;
    const int first = (int)(isthmus_dev_block_rank() * THREADS + isthmus_dev_thread_rank()) * PER_THREAD,
              right = (me + 1) % n;
    for (int i = first; i < first + PER_THREAD; i++) {
        source[i] = value(me, number, i);
        if (i % 2 == 0)
            nvshmem_uint64_p(&words[i], source[i], right);
        else
            nvshmem_uint64_put_nbi(&words[i], &source[i], 1, right);
    }
}

static void read_all(const char *routine, uint64_t number)
{
    const int left = (me + n - 1) % n;
    for (int i = 0; i < WORDS; i++) {
        if (words[i] == value(left, number, i)) continue;
        n_faults++;
        fprintf(stderr, "PE %d: word %d after a kernel of PE %d and %s: expected %#llx, seen %#llx\n", me, i, left,
                routine, (unsigned long long)value(left, number, i), (unsigned long long)words[i]);
        return;
    }
}

static void test_values(void)
{
    uint64_t number = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            number++;
            n_faults += isthmus_cpu_launch(BLOCKS, THREADS, put_all, &number) != 0;
            calls[k].call();
            if (!calls[k].meets) nvshmem_sync_all();
            read_all(calls[k].name, number);
            nvshmem_sync_all();
        }
    }
}

/* ---- gate ---- */

static void put_gated(void *unused)
{
    (void)unused;
    nvshmem_uint64_p(&words[0], GATED, 1);
}

/* Ends when the call waits for the put, or has not. */
static void *open_gate(void *has_returned)
{
    while (__atomic_load_n(&gate.is_awaited, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n((const int *)has_returned, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    __atomic_store_n(&gate.is_open, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void test_gate(const char *routine, void (*call)(void))
{
    pthread_t opener;
    int has_returned = 0;
    gate = (struct gate){0, 0};
    n_faults += isthmus_cpu_launch(1, 1, put_gated, NULL) != 0;
    n_faults += pthread_create(&opener, NULL, open_gate, &has_returned) != 0;
    call();
    if (__atomic_load_n(&gate.is_open, __ATOMIC_ACQUIRE) == 0) {
        fprintf(stderr, "%s returned before the put of a kernel that had ended was complete\n", routine);
        n_faults++;
    }
    __atomic_store_n(&has_returned, 1, __ATOMIC_RELEASE);
    pthread_join(opener, NULL);
}

static void test_gates(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            if (me == 0)
                test_gate(calls[k].name, calls[k].call);
            else if (calls[k].meets)
                calls[k].call();
        }
    }
}

int main(int argc, char **argv)
{
    char address[32];
    snprintf(address, sizeof address, "%llx", (unsigned long long)(uintptr_t)&gate);
    setenv("GATE", address, 1);
    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    words = nvshmem_calloc(WORDS, sizeof *words);
    source = nvshmem_calloc(WORDS, sizeof *source);
    if (argc > 1 && strcmp(argv[1], "gate") == 0)
        test_gates();
    else
        test_values();
    nvshmem_finalize();
    return n_faults != 0;
}

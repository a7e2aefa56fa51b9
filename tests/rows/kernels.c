/* The face of nvshmem.h once more, for routines that kernels call: each call is a kernel on the CPU device, and so are
 * the stores and the completion that a check needs beside it. Not those of face_nvshmem.c, which it replaces.
 *
 * A group's call is made by all threads of one group; others of the block make none. So a routine that takes a wider
 * group than its name says waits for them or leaves elements to them, and one that takes a narrower group sends more
 * requests than one, where they go through the ring. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>

#include "check_rows.h"

#include <string.h>

enum { MOST_THREADS = 192 };

/* A launch of `threads` threads, of which those from `first` on call. */
struct launch {
    const struct row *row;
    struct row_call *call;
    uint32_t first, threads;
    long long returned[MOST_THREADS];
};

struct store {
    void *dest;
    const void *value;
    size_t size_bytes;
    int pe;
};

static bool is_by(const struct row *row, const char *scope)
{
    size_t length = strlen(row->name), n = strlen(scope);
    return length > n && strcmp(row->name + length - n, scope) == 0;
}

static struct launch launch_of(const struct row *row, struct row_call *call)
{
    struct launch launch = {.row = row, .call = call, .first = 1, .threads = 2};
    if (is_by(row, "_warp")) launch.first = 32, launch.threads = 40;
    if (is_by(row, "_block")) launch.first = 0, launch.threads = 40;
    if (is_by(row, "_warpgroup")) launch.first = 128, launch.threads = 192;
    return launch;
}

static void kernel(void *argument)
{
    struct launch *launch = argument;
    uint32_t rank = isthmus_dev_thread_rank();
    if (rank < launch->first) return;
    struct row_call mine = *launch->call;
    launch->row->call(&mine);
    launch->returned[rank] = mine.returned;
    if (rank == launch->first) *launch->call = mine;
}

static void start(uint32_t threads, isthmus_cpu_kernel run, void *argument)
{
    if (isthmus_cpu_launch(1, threads, run, argument) != 0) fail("the kernel was stopped");
}

static uint64_t requests(void)
{
    const struct isthmus_ring *ring = isthmus_device_v1.ring;
    return ring != NULL ? __atomic_load_n(ring->tail, __ATOMIC_RELAXED) : 0;
}

static void run(const struct row *row, struct row_call *call)
{
    struct launch launch = launch_of(row, call);
    bool is_of_group = launch.threads > 2, is_collective = (row->flags & ROW_TEAM) != 0;
    uint64_t before = requests();
    start(launch.threads, kernel, &launch);
    uint64_t n = requests() - before;
    if (is_of_group && !is_collective && strcmp(row->check, "meet") != 0)
        CHECK_THAT(n <= 1, "%llu requests of one call", (unsigned long long)n);
    for (uint32_t i = launch.first; i < launch.threads; i++)
        CHECK_THAT(launch.returned[i] == call->returned, "thread %u returned %lld, the first one %lld", (unsigned)i,
                   launch.returned[i], call->returned);
}

static void store_kernel(void *argument)
{
    const struct store *store = argument;
    switch (store->size_bytes) {
    case 2: nvshmem_uint16_p(store->dest, *(const uint16_t *)store->value, store->pe); break;
    case 4: nvshmem_uint32_atomic_set(store->dest, *(const uint32_t *)store->value, store->pe); break;
    default: nvshmem_uint64_atomic_set(store->dest, *(const uint64_t *)store->value, store->pe); break;
    }
}

static void store(void *dest, const void *value, size_t size_bytes, int pe)
{
    struct store what = {dest, value, size_bytes, pe};
    start(1, store_kernel, &what);
}

static void complete_kernel(void *unused)
{
    (void)unused;
    nvshmem_quiet();
}

static void complete(void) { start(1, complete_kernel, NULL); }

__attribute__((constructor)) static void replace(void)
{
    face.run = run;
    face.store = store;
    face.complete = complete;
}

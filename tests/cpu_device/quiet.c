/* tests/cpu_device/quiet.c: a quiet of one block holds up no other block, and does not end early. The transport
 * (gate.c) completes the first block's put only when the second block has had replies to its own requests: a proxy that
 * waits for the quiet never ends. A second thread waits only where the transport has no commit_start. */
#define ISTHMUS_DEVICE_CPU
#include "gate.h"
#include "process.h"

#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, WORDS = 4 };

static struct gate gate;
static uint64_t *words; /* symmetric */
static int n_faults;

static void expect(bool is_right, const char *what)
{
    if (is_right) return;
    fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
    __atomic_fetch_add(&n_faults, 1, __ATOMIC_RELAXED);
}

/* A fence orders what all blocks fetch behind the put; with a second thread, all requests. */
static bool has_fence(uint64_t round) { return round % 2 == 0 && getenv("GATE_BLOCKS") == NULL; }

static void wait_for_quiet(uint64_t round)
{
    nvshmem_uint64_p(&words[0], GATED, 1);
    if (has_fence(round)) nvshmem_fence();
    nvshmem_quiet();
    expect(__atomic_load_n(&gate.is_open, __ATOMIC_ACQUIRE) == 1, "a quiet ended before its put was complete");
}

static uint64_t n_added; /* to words[1] of PE 1 */
static uint64_t source[WORDS];

static void go_on_meanwhile(uint64_t round)
{
    while (__atomic_load_n(&gate.is_awaited, __ATOMIC_ACQUIRE) == 0) isthmus_dev_pause();
    if (!has_fence(round)) {
        expect(nvshmem_uint64_atomic_fetch_add(&words[1], 1, 1) == n_added, "a fetch_add returned another value");
        n_added++;
        expect(nvshmem_uint64_g(&words[1], 1) == n_added, "a g returned another value");
    }
    source[0] = round;
    nvshmem_uint64_put(&words[2], source, 1, 1);
    __atomic_store_n(&gate.is_open, 1, __ATOMIC_RELEASE);
}

static void kernel(void *argument)
{
    uint64_t round = *(const uint64_t *)argument;
    if (isthmus_dev_block_rank() == 0)
        wait_for_quiet(round);
    else
        go_on_meanwhile(round);
}

int main(void)
{
    char address[32];
    snprintf(address, sizeof address, "%llx", (unsigned long long)(uintptr_t)&gate);
    setenv("GATE", address, 1);
    nvshmem_init();
    words = nvshmem_calloc(WORDS, sizeof *words);
    for (uint64_t round = 0; nvshmem_my_pe() == 0 && round < ROUNDS; round++) {
        gate = (struct gate){0, 0};
        expect(isthmus_cpu_launch(2, 1, kernel, &round) == 0, "the launch failed");
    }
    expect(nvshmem_my_pe() != 0 || count_threads("isthmus closer") == (getenv("GATE_BLOCKS") != NULL),
           "a second thread is there without need, or is missing");
    nvshmem_barrier_all();
    expect(nvshmem_my_pe() != 1 || (words[1] >= ROUNDS / 2 && words[2] == ROUNDS - 1), "something has not arrived");
    nvshmem_finalize();
    return n_faults != 0;
}

/* tests/cpu_device/hang.c: a job that hangs because of kernels, for a report of the reason.
 *     hang CASE: PE 0's kernel requests what PE 1, which is stopped, does not reply to: fetch, quiet, or connect: a
 *                nonblocking put, which has to connect first, and does that once
 *     hang wait_CASE: PE 0's kernels wait for what does not come: kinds, many; or over: when
 *                all are noted the kernel ends them, and the host waits for its own reason */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../pe/stop_peer.h"

static long *word;

static void fetch(void *unused)
{
    (void)unused;
    for (;;) (void)nvshmem_long_g(word, 1);
}

static void put_and_quiet(void *unused)
{
    (void)unused;
    for (;;) {
        nvshmem_long_atomic_add(word, 1, 1);
        nvshmem_quiet();
    }
}

static void put_nbi(void *unused)
{
    (void)unused;
    nvshmem_putmem_nbi(word, word + 1, sizeof *word, 1);
    nvshmem_quiet();
}

/* The contexts that serve kernels connect: a call that connects is no wait for a completion. */
static void connect_all(void *unused)
{
    (void)unused;
    (void)nvshmem_long_g(word, 1 - nvshmem_my_pe());
    nvshmem_long_atomic_add(word, 1, 1 - nvshmem_my_pe());
    nvshmem_quiet();
}

/* ---- waits of kernels ---- */

static uint64_t *signals;

/* Each block in another routine. */
static void wait_in_each(void *unused)
{
    long values[] = {7, 8};
    size_t indices[2];
    (void)unused;
    switch (isthmus_dev_block_rank()) {
    case 0:
    case 1: nvshmem_signal_wait_until(signals + 1, NVSHMEM_CMP_GE, 5); break;
    case 2: nvshmem_long_wait_until_all(word, 2, NULL, NVSHMEM_CMP_NE, -3); break; /* the second one is -3 */
    case 3: nvshmem_long_wait_until_any(word, 2, NULL, NVSHMEM_CMP_LT, -3); break;
    case 4: nvshmem_long_wait_until_some_vector(word, 2, indices, NULL, NVSHMEM_CMP_EQ, values); break;
    default: nvshmemx_sync_all_block();
    }
}

/* Even threads wait for one word, odd ones for another. */
static void wait_for_one_of_two(void *unused)
{
    (void)unused;
    (void)nvshmem_signal_wait_until(signals + isthmus_dev_thread_rank() % 2, NVSHMEM_CMP_NE, 0);
}

enum { MANY = 34 }; /* more than there are slots for */

static uint64_t n_noted(void)
{
    uint64_t n = isthmus_dev_load_device(isthmus_device_v1.waiters);
    for (int i = 1; i <= ISTHMUS_WAIT_SLOTS; i++) n += isthmus_dev_load_device(isthmus_device_v1.waiters + i);
    return n;
}

/* The last thread ends the waits of the others. */
static void wait_for_last(void *unused)
{
    if (isthmus_dev_thread_rank() < MANY) {
        wait_for_one_of_two(unused);
        return;
    }
    while (n_noted() < MANY) isthmus_dev_pause();
    for (int i = 0; i < 2; i++) nvshmemx_signal_op(signals + i, 9, NVSHMEM_SIGNAL_SET, nvshmem_my_pe());
}

static const struct {
    const char *name;
    isthmus_cpu_kernel kernel;
    uint32_t blocks, threads;
} waits[] = {
    {"kinds", wait_in_each, 6, 1},
    {"many", wait_for_one_of_two, 1, MANY},
    {"over", wait_for_last, 1, MANY + 1},
};

static int wait_in_kernels(const char *name)
{
    signals = nvshmem_calloc(2, sizeof *signals);
    signals[1] = strcmp(name, "kinds") == 0 ? 4 : 0;
    word[1] = -3;
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 1) raise(SIGSTOP);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strcmp(name, waits[i].name) == 0 &&
            isthmus_cpu_launch(waits[i].blocks, waits[i].threads, waits[i].kernel, NULL) != 0)
            return 1;
    nvshmem_barrier_all();
    return 0;
}

int main(int argc, char **argv)
{
    nvshmem_init();
    word = nvshmem_calloc(2, sizeof *word);
    if (argc > 1 && strncmp(argv[1], "wait_", 5) == 0) return wait_in_kernels(argv[1] + 5);
    const char *which = argc > 1 ? argv[1] : "quiet";
    isthmus_cpu_kernel kernel = strcmp(which, "fetch") == 0     ? fetch
                                : strcmp(which, "connect") == 0 ? put_nbi
                                                                : put_and_quiet;
    if (kernel != put_nbi && isthmus_cpu_launch(1, 1, connect_all, NULL) != 0) return 1;
    if (nvshmem_my_pe() == 1) nvshmem_long_p(word + 1, (long)getpid(), 0);
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 1) raise(SIGSTOP);
    stop_peer_wait(word[1]);
    return isthmus_cpu_launch(1, 1, kernel, NULL);
}

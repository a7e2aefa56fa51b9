/* tests/cpu_device/life.c: kernels beside the end of their process, and in a child of fork.
 *     life CASE: exit, leave, fork, or with the transport of gate.c held, on two PEs */
#define ISTHMUS_DEVICE_CPU
#include "gate.h"

#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10, PUTS = 1000 };

static long *word;
static char *block; /* [2 * BLOCK_BYTES] */

static void put_to_other(void *unused)
{
    (void)unused;
    nvshmem_long_p(word, 1, 1 - nvshmem_my_pe());
    nvshmem_quiet();
}

static int has_put;

static void put_for_ever(void *unused)
{
    for (;;) {
        put_to_other(unused);
        __atomic_store_n(&has_put, 1, __ATOMIC_RELEASE);
    }
}

static void *launch_for_ever(void *unused)
{
    (void)isthmus_cpu_launch(2, 2, put_for_ever, NULL);
    return unused;
}

/* The process ends in good order although its kernels still send requests. The other PE has its value by then. */
static int exit_beside_kernels(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, launch_for_ever, NULL) != 0) return 2;
    nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 1);
    while (__atomic_load_n(&has_put, __ATOMIC_ACQUIRE) == 0) sched_yield();
    exit(0); /* no finalize */
}

static void put_much(void *unused)
{
    (void)unused;
    for (int i = 0; i < PUTS; i++) nvshmem_putmem_nbi(block, block + BLOCK_BYTES, BLOCK_BYTES, 1);
    nvshmem_fence();
    nvshmem_long_p(word, 1, 1);
}

/* The kernel has ended, but the requests that it has left behind have not: the end of the process waits for them. */
static int leave_requests_behind(void)
{
    if (nvshmem_my_pe() == 0 && isthmus_cpu_launch(1, 1, put_much, NULL) != 0) return 2;
    if (nvshmem_my_pe() == 1) nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 1);
    exit(0); /* no finalize */
}

/* ---- held: requests behind a fence, which waits for a completion that takes longer than a second ---- */

static struct gate gate;
static int is_left; /* all requests are in the ring */

static void put_behind_fence(void *unused)
{
    (void)unused;
    if (isthmus_dev_block_rank() == 0) {
        nvshmem_uint64_p((uint64_t *)(void *)block, GATED, 1);
        nvshmem_quiet();
        return;
    }
    while (__atomic_load_n(&gate.is_awaited, __ATOMIC_ACQUIRE) == 0) isthmus_dev_pause();
    nvshmem_fence();
    nvshmem_long_p(word, 1, 1);
    __atomic_store_n(&is_left, 1, __ATOMIC_RELEASE);
}

static void *launch_behind_fence(void *unused)
{
    (void)isthmus_cpu_launch(2, 1, put_behind_fence, NULL);
    return unused;
}

/* The end takes requests for lost that have not come for a second. The longer this sleep, the surer is the test. */
static void *open_late(void *unused)
{
    const struct timespec longer = {.tv_sec = 1, .tv_nsec = 400000000};
    nanosleep(&longer, NULL);
    __atomic_store_n(&gate.is_open, 1, __ATOMIC_RELEASE);
    return unused;
}

/* Requests that the server may not take yet are not lost, however long that lasts. */
static int leave_requests_held_back(void)
{
    pthread_t threads[2];
    if (nvshmem_my_pe() == 0) {
        if (pthread_create(&threads[0], NULL, launch_behind_fence, NULL) != 0) return 2;
        while (__atomic_load_n(&is_left, __ATOMIC_ACQUIRE) == 0) sched_yield();
        if (pthread_create(&threads[1], NULL, open_late, NULL) != 0) return 2;
    } else {
        nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 1);
    }
    exit(0); /* no finalize */
}

/* A child is no PE: a kernel stops there, and stores nothing on other PEs. */
static int launch_in_child(void)
{
    pid_t child = fork();
    if (child == 0) _exit(isthmus_cpu_launch(1, 1, put_to_other, NULL) == -1 ? 0 : 3);
    int status = -1;
    if (waitpid(child, &status, 0) != child) return 2;
    nvshmem_barrier_all();
    long got = *word;
    nvshmem_finalize();
    return status != 0 || got != 0;
}

int main(int argc, char **argv)
{
    char address[32];
    snprintf(address, sizeof address, "%llx", (unsigned long long)(uintptr_t)&gate);
    setenv("GATE", address, 1);
    nvshmem_init();
    word = nvshmem_calloc(1, sizeof *word);
    block = nvshmem_calloc(2, BLOCK_BYTES);
    const char *which = argc > 1 ? argv[1] : "";
    if (strcmp(which, "exit") == 0) return exit_beside_kernels();
    if (strcmp(which, "held") == 0) return leave_requests_held_back();
    return strcmp(which, "leave") == 0 ? leave_requests_behind() : launch_in_child();
}

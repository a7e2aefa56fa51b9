/* bench_device [REQUESTS]: kernels on the CPU device against their goals: requests through the ring a second, from 8
 * blocks; and the time of p with quiet, of g and of a fetching atomic, by one thread. PE 0 measures, towards PE 1.
 * Meant for the ring (ISTHMUS_DEVICE_DIRECT=0); without that the same calls go directly. Not part of the table of
 * run.py: the figures need idle processors for the blocks, the thread that serves them, and PE 1. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 8, ROUNDS = 5 };

static struct {
    long *words; /* symmetric: one for each block */
    int peer;
    long requests; /* of all blocks */
} run;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void many_p(void *unused)
{
    (void)unused;
    for (long i = 0; i < run.requests / BLOCKS; i++) nvshmem_long_p(&run.words[isthmus_dev_block_rank()], i, run.peer);
    nvshmem_quiet();
}

static void p_quiet(void *unused)
{
    (void)unused;
    for (long i = 0; i < run.requests / 50; i++) {
        nvshmem_long_p(run.words, i, run.peer);
        nvshmem_quiet();
    }
}

static void g(void *unused)
{
    (void)unused;
    for (long i = 0; i < run.requests / 50; i++) (void)nvshmem_long_g(run.words, run.peer);
}

static void fetch_add(void *unused)
{
    (void)unused;
    for (long i = 0; i < run.requests / 50; i++) (void)nvshmem_long_atomic_fetch_add(run.words, 1, run.peer);
}

/* The shortest time of several. */
static double shortest_s(uint32_t blocks, isthmus_cpu_kernel kernel)
{
    double least = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_s();
        if (isthmus_cpu_launch(blocks, 1, kernel, NULL) != 0) exit(1);
        double taken = now_s() - begin;
        if (taken < least) least = taken;
    }
    return least;
}

static void measure(void)
{
    long n = run.requests / 50;
    printf("%d PEs, %u through the ring\n", nvshmem_n_pes(), isthmus_device_v1.n_ring_pes);
    printf("p from 8 blocks   %6.2f million a second (goal: 2)\n",
           1e-6 * (double)run.requests / shortest_s(BLOCKS, many_p));
    printf("p + quiet         %6.2f us (goal: 3)\n", 1e6 * shortest_s(1, p_quiet) / (double)n);
    printf("g                 %6.2f us\n", 1e6 * shortest_s(1, g) / (double)n);
    printf("fetch_add         %6.2f us\n", 1e6 * shortest_s(1, fetch_add) / (double)n);
}

int main(int argc, char **argv)
{
    nvshmem_init();
    run.words = nvshmem_calloc(BLOCKS, sizeof *run.words);
    run.peer = nvshmem_n_pes() > 1;
    run.requests = argc > 1 ? atol(argv[1]) : 400000;
    if (nvshmem_my_pe() == 0) measure();
    nvshmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

/* tests/cpu_device/room.cpp: on every PE a kernel that fills the GPU waits for what PEs of other hosts add to a word in
 * its memory: the GPU has room left for the kernel that adds. With ISTHMUS_PRETEND_HOSTS=01 the PEs are on several
 * hosts. Built by nvcc for a GPU, and for the double of CUDA, on which GPU_DOUBLE_BLOCKS is the room.
 *     room [all]; all, of the double: launched with a block more than the query allows, and not by the library */
#ifndef __CUDACC__
#include "tests/doubles/cuda/runtime.h"
#define __launch_bounds__(threads)
#endif

#include "kernel.h"

#ifdef __CUDACC__
enum { THREADS = 1024 };
#else
enum { THREADS = 2 };
#endif

ON_BOTH struct waited {
    uint64_t *signal, awaited;
    int n_running, n_seen; /* blocks; those that have seen it */
} room;

KERNEL __launch_bounds__(THREADS) wait_for_all(void *)
{
    if (isthmus_dev_thread_rank() == 0) {
        KERNEL_COUNT(&room.n_running);
        nvshmem_signal_wait_until(room.signal, NVSHMEM_CMP_EQ, room.awaited);
        KERNEL_COUNT(&room.n_seen);
    }
    isthmus_dev_barrier(ISTHMUS_BLOCK);
}

static void check(bool is_right, const char *what)
{
    if (is_right) return;
    fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
    nvshmem_global_exit(1);
}

int main(int argc, char **)
{
    int grid = 0;
    void *none = nullptr, *args[] = {&none};
    kernel_need_device();
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    room.signal = (uint64_t *)nvshmem_calloc(1, sizeof *room.signal);
    room.awaited = (uint64_t)n - 1;
    const void *kernel = (const void *)wait_for_all;
    check(nvshmemx_collective_launch_query_gridsize(kernel, dim3(THREADS), args, 0, &grid) == 0 && grid > 0,
          "the query");
    check(nvshmemx_collective_launch(kernel, dim3(grid + 1), dim3(THREADS), args, 0, 0) ==
              NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED,
          "a larger grid was launched");
    if (argc > 1)
        check(cudaLaunchCooperativeKernel(kernel, dim3(grid + 1), dim3(THREADS), args, 0, 0) == cudaSuccess,
              "there is no more room than for the grid of the query");
    else
        check(nvshmemx_collective_launch(kernel, dim3(0, 0, 0), dim3(THREADS), args, 0, 0) == 0, "the launch");
    int n_blocks = argc > 1 ? grid + 1 : grid;
    while (*(volatile int *)&room.n_running < n_blocks) {} /* on all PEs the kernels are there before the signals */
    nvshmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        if (pe != me) nvshmemx_signal_op(room.signal, 1, NVSHMEM_SIGNAL_ADD, pe);
    nvshmem_quiet();
    check(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
    check(room.n_seen == n_blocks, "not all blocks have seen the signal");
    nvshmem_finalize();
    return 0;
}

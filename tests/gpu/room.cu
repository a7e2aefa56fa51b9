/* tests/gpu/room.cu: a kernel that fills the GPU waits for what other hosts add to a word in its memory: the GPU has
 * room left for the kernel that adds. With ISTHMUS_PRETEND_HOSTS=0111 the PEs are on several hosts. */
#include "../cpu_device/kernel.h"

enum { THREADS = 1024 };

__global__ void __launch_bounds__(THREADS) wait_for_all(uint64_t *signal, unsigned long long *n_blocks)
{
    if (threadIdx.x == 0) {
        nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, (uint64_t)nvshmem_n_pes() - 1);
        atomicAdd(n_blocks, 1ull);
    }
    __syncthreads();
}

static void check(bool is_right, const char *what)
{
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    nvshmem_global_exit(1);
}

int main(void)
{
    int grid = 0;
    kernel_need_device();
    nvshmem_init();
    uint64_t *signal = (uint64_t *)nvshmem_calloc(1, sizeof *signal);
    unsigned long long *counted = (unsigned long long *)nvshmem_calloc(1, sizeof *counted);
    void *args[] = {&signal, &counted};
    check(nvshmemx_collective_launch_query_gridsize((const void *)wait_for_all, dim3(THREADS), args, 0, &grid) == 0 &&
              grid > 0,
          "the query");
    if (nvshmem_my_pe() == 0)
        check(nvshmemx_collective_launch((const void *)wait_for_all, dim3(0, 0, 0), dim3(THREADS), args, 0, 0) == 0,
              "the launch");
    else
        nvshmemx_signal_op(signal, 1, NVSHMEM_SIGNAL_ADD, 0);
    nvshmem_quiet();
    check(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
    nvshmem_barrier_all();
    unsigned long long seen = nvshmem_ulonglong_g(counted, 0);
    check(seen == (unsigned long long)grid, "not all blocks have seen the signal");
    nvshmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

/* tests/gpu/wrong.cu: a kernel of PE 0 puts to a PE that does not exist: the GPU stops it, and the job ends with a line
 * that names the call. */
#include <nvshmem.h>
#include <stdio.h>

__global__ void put_to_no_pe(long *word)
{
    if (threadIdx.x == 3 && blockIdx.x == 1) nvshmem_long_p(word, 1, nvshmem_n_pes() + 7);
}

int main(void)
{
    int n_devices = 0;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0) {
        printf("skipped: no GPU\n");
        return 77;
    }
    nvshmem_init();
    long *word = (long *)nvshmem_calloc(1, sizeof *word);
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 0) {
        put_to_no_pe<<<2, 32>>>(word);
        printf("the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    nvshmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

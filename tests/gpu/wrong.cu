/* tests/gpu/wrong.cu: a kernel of PE 0 calls wrongly: the GPU stops it, and the job ends with a line that names the
 * call.
 *     wrong CASE: pe: a PE that does not exist; address: memory that is not symmetric; state: before init */
#include "../cpu_device/kernel.h"

__global__ void put_wrongly(long *word, int pe)
{
    if (threadIdx.x == 3 && blockIdx.x == 1) nvshmem_long_p(word, 1, pe);
}

static void run(long *word, int pe)
{
    put_wrongly<<<2, 32>>>(word, pe);
    printf("the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "pe";
    long *elsewhere = NULL;
    kernel_need_device();
    if (cudaMalloc((void **)&elsewhere, sizeof *elsewhere) != cudaSuccess) return 2;
    if (strcmp(which, "state") == 0) {
        run(elsewhere, 9);
        return 1;
    }
    nvshmem_init();
    long *word = (long *)nvshmem_calloc(1, sizeof *word);
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 0) {
        if (strcmp(which, "pe") == 0)
            run(word, 9);
        else
            run(elsewhere, 1);
    }
    nvshmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

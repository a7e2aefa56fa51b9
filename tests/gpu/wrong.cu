/* tests/gpu/wrong.cu: a kernel of PE 0 calls wrongly: the GPU stops it, and the job ends with a line that names the
 * call.
 *     wrong CASE: pe: a PE that does not exist; address: memory that is not symmetric; state: before init;
 *     killed: it waits for a PE that dies; exit: it ends the job */
#include "../cpu_device/kernel.h"

#include <csignal>

__global__ void put_wrongly(long *word, int pe)
{
    if (threadIdx.x == 3 && blockIdx.x == 1) nvshmem_long_p(word, 1, pe);
}

__global__ void wait_for_ever(long *word)
{
    nvshmem_long_p(word + 1, 1, 1);
    nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 1);
}

/* The other threads wait until the job's end ends them. */
__global__ void end_the_job(long *word)
{
    if (threadIdx.x == 3 && blockIdx.x == 1) nvshmem_global_exit(7);
    nvshmem_long_wait_until(word, NVSHMEM_CMP_EQ, 1);
}

/* The kernel of PE 0 is there by the time that PE 1 dies: its put says so. */
static void wait_or_die(long *word)
{
    if (nvshmem_my_pe() == 0) {
        wait_for_ever<<<1, 1>>>(word);
        printf("the kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    } else {
        while (nvshmem_long_g(word + 1, 1) != 1) {}
        raise(SIGKILL);
    }
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
    long *word = (long *)nvshmem_calloc(2, sizeof *word);
    nvshmem_barrier_all();
    if (strcmp(which, "killed") == 0) {
        wait_or_die(word);
    } else if (strcmp(which, "exit") == 0 && nvshmem_my_pe() == 0) {
        end_the_job<<<2, 32>>>(word);
        (void)cudaDeviceSynchronize();
    } else if (nvshmem_my_pe() == 0) {
        if (strcmp(which, "pe") == 0)
            run(word, 9);
        else
            run(elsewhere, 1);
    }
    nvshmem_barrier_all();
    nvshmem_finalize();
    return 0;
}

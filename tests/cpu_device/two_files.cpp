/* tests/cpu_device/two_files.cpp: a program in C++ and C: both files have kernels, and share the state of the
 * module. */
#define ISTHMUS_DEVICE_CPU
#include <isthmus/device_cpu_launch.h>
#include <nvshmem.h>

extern "C" void add_in_c(long *counter); /* two_files.c */

static void add(void *counter)
{
    nvshmem_long_atomic_add(static_cast<long *>(counter), 1, 0);
    add_in_c(static_cast<long *>(counter));
    nvshmemx_barrier_all_block();
}

int main()
{
    nvshmem_init();
    long *counter = static_cast<long *>(nvshmem_calloc(1, sizeof(long)));
    int status = isthmus_cpu_launch(1, 8, add, counter);
    if (nvshmem_my_pe() == 0 && *counter != 8 * 3L * nvshmem_n_pes()) status = 1;
    nvshmem_barrier_all();
    nvshmem_finalize();
    return status;
}

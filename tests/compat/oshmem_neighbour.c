/* A library that is compiled with our shmem.h, in one process with oshmem_client.c, which is compiled with Open MPI's:
 * each has the constants of its own header understood. */
#include <shmem.h>

__attribute__((visibility("default"))) int neighbour_is_at_least(int *cell, int value);
int neighbour_is_at_least(int *cell, int value)
{
    return shmem_int_test(cell, SHMEM_CMP_GE, value) && !shmem_int_test(cell, SHMEM_CMP_LE, value - 1);
}

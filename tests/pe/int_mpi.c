/* tests/pe/int_mpi.c: an MPI library whose handles are int, as MPICH's are: as much of it as nvshmemx_init_attr needs.
 * Its processes are those of uid_job.h; a broadcast goes through the memory and the pipe that they share. */
#include "int_mpi.h"

#include <string.h>
#include <unistd.h>

enum { BYTE = 0x4c00010d, COMM = 0x44000000 };

struct uid_job *int_mpi_job;
int int_mpi_rank, int_mpi_size;

int MPI_Initialized(int *flag)
{
    *flag = int_mpi_job != NULL;
    return 0;
}

int MPI_Comm_rank(int comm, int *rank)
{
    if (comm != COMM) return 5;
    *rank = int_mpi_rank;
    return 0;
}

int MPI_Comm_size(int comm, int *size)
{
    if (comm != COMM) return 5;
    *size = int_mpi_size;
    return 0;
}

int MPI_Bcast(void *buffer, int count, int type, int root, int comm)
{
    char byte = 0;
    if (comm != COMM || type != BYTE || root != 0) return 5;
    if (int_mpi_rank == 0) memcpy(int_mpi_job->id, buffer, (size_t)count);
    if (int_mpi_rank == 0)
        for (int i = 1; i < int_mpi_size; i++)
            if (write(int_mpi_job->ready[1], &byte, 1) != 1) return 6;
    if (int_mpi_rank == 0) return 0;
    if (read(int_mpi_job->ready[0], &byte, 1) != 1) return 6;
    memcpy(buffer, int_mpi_job->id, (size_t)count);
    return 0;
}

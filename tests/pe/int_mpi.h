/* tests/pe/int_mpi.h: see int_mpi.c. */
#ifndef TESTS_PE_INT_MPI_H
#define TESTS_PE_INT_MPI_H

#include "uid_job.h"

extern struct uid_job *int_mpi_job; /* NULL: not initialised */
extern int int_mpi_rank, int_mpi_size;

int MPI_Initialized(int *flag);
int MPI_Comm_rank(int comm, int *rank);
int MPI_Comm_size(int comm, int *size);
int MPI_Bcast(void *buffer, int count, int type, int root, int comm);

#endif

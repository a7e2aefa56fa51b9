/* R16: works beside MPI in one process, whichever is initialised or finalised first. beside_mpi INIT_FIRST
 * FINALIZE_FIRST, each "mpi" or "shmem". */
#include "check.h"

#include <mpi.h>

static int cell = -1;

int main(int argc, char **argv)
{
    int mpi_first = argc > 1 && strcmp(argv[1], "mpi") == 0, mpi_ends_first = argc > 2 && strcmp(argv[2], "mpi") == 0;
    if (mpi_first) MPI_Init(&argc, &argv);
    pe_begin();
    if (!mpi_first) MPI_Init(&argc, &argv);

    int rank = -1, got = -1, n_ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    CHECK_EQ(n_ranks, pe.n);
    shmem_int_p(&cell, pe.me, pe.right);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % n_ranks, 0, &got, 1, MPI_INT, (rank + n_ranks - 1) % n_ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(got, (rank + n_ranks - 1) % n_ranks);
    shmem_barrier_all();
    CHECK_EQ(cell, pe.left);

    if (mpi_ends_first) MPI_Finalize();
    shmem_finalize();
    if (!mpi_ends_first) MPI_Finalize();
    return 0;
}

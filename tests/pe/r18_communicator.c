/* R18: nvshmemx_init_attr with an MPI communicator makes a job of its members; PE numbers are ranks in it. The argument
 * selects it: world, reordered, half. With "ishmem" in front through ishmemx_init_attr (R19). */
#include "check.h"

#include <ishmemx.h>
#include <mpi.h>
#include <nvshmem.h>

static long slots[64];

static MPI_Comm make_communicator(const char *which)
{
    int rank, size;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(which, "reordered") == 0) MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
    if (strcmp(which, "half") == 0) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    return comm;
}

static void start(const char *face, MPI_Comm *comm)
{
    if (strcmp(face, "ishmem") == 0) {
        ishmemx_attr_t attr = ISHMEMX_ATTR_INITIALIZER;
        attr.runtime = ISHMEMX_RUNTIME_MPI;
        attr.initialize_runtime = false;
        attr.mpi_comm = comm;
        ishmemx_init_attr(&attr);
        CHECK_EQ(ishmemx_runtime_get_type(), ISHMEMX_RUNTIME_MPI);
        return;
    }
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    CHECK_EQ(nvshmemx_set_attr_mpi_comm_args(comm, &attr), 0);
    CHECK_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr), 0);
}

int main(int argc, char **argv)
{
    const char *face = argc > 1 ? argv[1] : "nvshmem", *which = argc > 2 ? argv[2] : "world";
    int rank, size;
    MPI_Init(&argc, &argv);
    pe_deadline(PE_DEADLINE_S);
    MPI_Comm comm = make_communicator(which);
    start(face, &comm);
    pe_know();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK_EQ(pe.me, rank);
    CHECK_EQ(pe.n, size);
    for (int to = 0; to < pe.n; to++) shmem_long_p(&slots[pe.me], 100 * to + pe.me, to);
    shmem_barrier_all();
    for (int from = 0; from < pe.n; from++) CHECK_EQ(slots[from], 100 * pe.me + from);
    if (strcmp(face, "ishmem") == 0)
        ishmem_finalize();
    else
        nvshmem_finalize();
    MPI_Barrier(MPI_COMM_WORLD); /* MPI is as before */
    MPI_Finalize();
    return 0;
}

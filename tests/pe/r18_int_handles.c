/* R18: nvshmemx_init_attr with a communicator of an MPI whose handles are int. */
#include "int_mpi.h"

enum { PES = 3 };
static long sum;

static int member(struct uid_job *job, int number)
{
    int comm = 0x44000000, wrong = 17;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    pe_deadline(PE_DEADLINE_S);
    CHECK_EQ(nvshmemx_set_attr_mpi_comm_args(&comm, &attr), 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != 0); /* MPI is not initialised */
    int_mpi_job = job;
    int_mpi_rank = PES - 1 - number;
    int_mpi_size = PES;
    CHECK_EQ(nvshmemx_set_attr_mpi_comm_args(&wrong, &attr), 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != 0);
    CHECK_EQ(nvshmemx_set_attr_mpi_comm_args(&comm, &attr), 0);
    CHECK_EQ(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr), 0);
    pe_know();
    CHECK_EQ(pe.me, PES - 1 - number);
    CHECK_EQ(pe.n, PES);
    for (int to = 0; to < PES; to++) shmem_long_atomic_add(&sum, 1, to);
    shmem_barrier_all();
    CHECK_EQ(sum, PES);
    nvshmem_finalize();
    return 0;
}

int main(void)
{
    struct uid_job job;
    uid_job_init(&job);
    for (int i = 0; i < PES; i++) uid_job_fork(&job, member, i);
    for (int i = 0; i < PES; i++) CHECK_EQ(uid_job_wait_one(&job, i), 0);
    return 0;
}

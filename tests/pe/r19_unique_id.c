/* R19: ishmemx_get_uniqueid and use_uid make a job of processes that no launcher has started. */
#include "check.h"

#include <ishmemx.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PES = 3 };

static long flag;

static int member(int rank, int from, int to)
{
    ishmemx_uniqueid_t id;
    ishmemx_attr_t attr = ISHMEMX_ATTR_INITIALIZER;
    CHECK_EQ(attr.use_uid, false);
    if (rank == 0) CHECK_EQ(ishmemx_get_uniqueid(&id), 0);
    if (rank != 0) CHECK_EQ(read(from, &id, sizeof id), (int)sizeof id);
    for (int i = 1; rank == 0 && i < PES; i++) CHECK_EQ(write(to, &id, sizeof id), (int)sizeof id);
    attr.use_uid = true;
    attr.nranks = PES;
    attr.rank = rank;
    attr.uid = &id;
    pe_deadline(PE_DEADLINE_S);
    ishmemx_init_attr(&attr);
    pe_know();
    CHECK_EQ(ishmem_my_pe(), rank);
    CHECK_EQ(ishmem_n_pes(), PES);
    ishmem_long_p(&flag, pe.me + 1, pe.right);
    ishmem_barrier_all();
    CHECK_EQ(flag, pe.left + 1);
    ishmem_finalize();
    return 0;
}

int main(void)
{
    int ends[2], failures = 0;
    pid_t pids[PES];
    CHECK_EQ(pipe(ends), 0);
    for (int rank = 0; rank < PES; rank++) {
        pids[rank] = fork();
        CHECK(pids[rank] >= 0);
        if (pids[rank] == 0) return member(rank, ends[0], ends[1]);
    }
    for (int rank = 0; rank < PES; rank++) {
        int status = 0;
        CHECK_EQ(waitpid(pids[rank], &status, 0), pids[rank]);
        failures += status != 0;
    }
    return failures;
}

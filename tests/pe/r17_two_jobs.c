/* R17: two jobs with ids of their own at once on one host do not see each other. */
#include "uid_job.h"

enum { PES = 3 };
static long sum;

static int member(struct uid_job *job, int number)
{
    nvshmemx_uniqueid_t id;
    if (number == 0) uid_job_serve(job);
    uid_job_receive(job, &id);
    CHECK_EQ(uid_job_join(&id, number, PES), 0);
    for (int to = 0; to < PES; to++) shmem_long_atomic_add(&sum, 1, to);
    shmem_barrier_all();
    CHECK_EQ(sum, PES);
    nvshmem_finalize();
    return 0;
}

int main(void)
{
    struct uid_job jobs[2];
    for (int j = 0; j < 2; j++) uid_job_init(&jobs[j]);
    for (int i = 0; i < PES; i++)
        for (int j = 0; j < 2; j++) uid_job_fork(&jobs[j], member, i);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < PES; i++) CHECK_EQ(uid_job_wait_one(&jobs[j], i), 0);
    return 0;
}

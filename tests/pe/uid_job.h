/* tests/pe/uid_job.h: jobs without a launcher: processes that are forked here and share a unique id. */
#ifndef TESTS_PE_UID_JOB_H
#define TESTS_PE_UID_JOB_H

#include "check.h"

#include <nvshmem.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* What the processes of a job share from before they are forked: the place of the id, and a pipe that is closed when it
 * is there. */
struct uid_job {
    nvshmemx_uniqueid_t *id;
    int ready[2];
    int n_processes;
    pid_t pids[64];
};

static inline void uid_job_init(struct uid_job *job)
{
    memset(job, 0, sizeof *job);
    job->id = mmap(NULL, sizeof *job->id, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(job->id != MAP_FAILED);
    CHECK_EQ(pipe(job->ready), 0);
}

/* Make the id, for all. */
static inline void uid_job_serve(struct uid_job *job)
{
    CHECK_EQ(nvshmemx_get_uniqueid(job->id), 0);
    CHECK_EQ(write(job->ready[1], job->id, sizeof *job->id), (int)sizeof *job->id);
}

/* Wait for the id, and leave it for the next one. */
static inline void uid_job_receive(struct uid_job *job, nvshmemx_uniqueid_t *id)
{
    CHECK_EQ(read(job->ready[0], id, sizeof *id), (int)sizeof *id);
    CHECK_EQ(write(job->ready[1], id, sizeof *id), (int)sizeof *id);
}

/* Become PE `rank` of `n`: what nvshmemx_init_attr returns. */
static inline int uid_job_join(const nvshmemx_uniqueid_t *id, int rank, int n)
{
    nvshmemx_init_attr_t attr;
    memset(&attr, 0xa5, sizeof attr); /* programs initialise what they use (R18) */
    CHECK_EQ(nvshmemx_set_attr_uniqueid_args(rank, n, id, &attr), 0);
    pe_deadline(PE_DEADLINE_S);
    int failure = nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr);
    if (failure == 0) pe_know();
    return failure;
}

/* Start one process of the job; its exit status is what `body` returns. */
static inline void uid_job_fork(struct uid_job *job, int (*body)(struct uid_job *, int), int number)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) exit(body(job, number));
    job->pids[job->n_processes++] = pid;
}

/* As a shell reports it: 128 plus the signal. */
static inline int uid_job_wait_one(struct uid_job *job, int number)
{
    int status = 0;
    CHECK_EQ(waitpid(job->pids[number], &status, 0), job->pids[number]);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif

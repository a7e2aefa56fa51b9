/* The processes of bench_kernels.c: a parent that never touches the GPU starts the PEs, hands them a unique id
 * (docs/unique-id.md), and ends them if one of them dies or a row takes too long, so that no kernel spins on. Barriers
 * of the host are in memory that they share, since a barrier of the library may run kernels of its own. Not about what
 * is measured. */
#ifndef ISTHMUS_BENCH_KERNEL_JOB_H
#define ISTHMUS_BENCH_KERNEL_JOB_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOB_PES = 2, JOB_ID_BYTES = 128, JOB_SKIPPED = 77, JOB_ROW_FAILED = 3, JOB_FAULT_BYTES = 200 };
enum { JOB_STARTS = -1 }; /* no row yet */

/* Shared by all processes. */
struct job {
    char id[JOB_ID_BYTES];
    uint32_t has_id, arrived, generation;
    int32_t row;           /* that is measured, or JOB_STARTS */
    uint64_t row_began_ns; /* of CLOCK_MONOTONIC */
    uint32_t has_fault;
    char fault[JOB_FAULT_BYTES]; /* the first one of the row */
};

static inline uint64_t job_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void job_nap(long ns)
{
    struct timespec length = {0, ns};
    nanosleep(&length, NULL);
}

static inline struct job *job_create(void)
{
    void *memory = mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "bench_kernels: mmap: %s\n", strerror(errno));
        exit(1);
    }
    struct job *job = (struct job *)memory;
    job->row = JOB_STARTS;
    job->row_began_ns = job_now_ns();
    return job;
}

/* All PEs. The last one to arrive begins the next generation; its release covers what all of them have written. */
static inline void job_barrier(struct job *job)
{
    uint32_t generation = __atomic_load_n(&job->generation, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&job->arrived, 1, __ATOMIC_ACQ_REL) == JOB_PES) {
        __atomic_store_n(&job->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&job->generation, generation + 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&job->generation, __ATOMIC_ACQUIRE) == generation) job_nap(20000);
}

/* PE 0 passes the id, the others receive it. */
static inline void job_share_id(struct job *job, int me, void *id, size_t bytes)
{
    if (me == 0) {
        memcpy(job->id, id, bytes);
        __atomic_store_n(&job->has_id, 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&job->has_id, __ATOMIC_ACQUIRE) == 0) job_nap(1000000);
    memcpy(id, job->id, bytes);
}

/* The first fault of a row counts. */
static inline void job_fault(struct job *job, const char *text)
{
    if (__atomic_exchange_n(&job->has_fault, 1, __ATOMIC_ACQ_REL) == 0)
        snprintf(job->fault, sizeof job->fault, "%s", text);
}

/* One PE, before all of them pass a barrier. */
static inline void job_begin_row(struct job *job, int row)
{
    __atomic_store_n(&job->row_began_ns, job_now_ns(), __ATOMIC_RELEASE);
    __atomic_store_n(&job->row, row, __ATOMIC_RELEASE);
    __atomic_store_n(&job->has_fault, 0, __ATOMIC_RELEASE);
}

/* ---- the parent ---- */

typedef int job_pe_function(struct job *job, int me, void *argument);

/* Starts the PEs. They die with the parent. */
static inline void job_start(struct job *job, pid_t *pids, job_pe_function *pe, void *argument)
{
    pid_t parent = getpid();
    fflush(NULL);
    for (int i = 0; i < JOB_PES; i++) {
        pids[i] = fork();
        if (pids[i] != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        exit(pe(job, i, argument));
    }
}

/* Looks once. Returns false if all is well. Otherwise the reason is in the text, or `status` is that of a PE without a
 * GPU. */
static inline bool job_has_failed(struct job *job, pid_t *pids, int limit_s, int *status, char *text)
{
    for (int i = 0; i < JOB_PES; i++) {
        if (pids[i] <= 0) continue;
        pid_t ended = waitpid(pids[i], status, WNOHANG);
        if (ended == 0) continue;
        pids[i] = 0;
        if (ended > 0 && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) continue;
        bool is_signal = ended > 0 && WIFSIGNALED(*status);
        snprintf(text, JOB_FAULT_BYTES, "PE %d ended with %s %d", i, is_signal ? "signal" : "status",
                 is_signal ? WTERMSIG(*status) : WEXITSTATUS(*status));
        *status = is_signal ? 1 : WEXITSTATUS(*status);
        return true;
    }
    *status = 0;
    uint64_t taken_ns = job_now_ns() - __atomic_load_n(&job->row_began_ns, __ATOMIC_ACQUIRE);
    if ((int64_t)taken_ns < (int64_t)limit_s * 1000000000) return false;
    snprintf(text, JOB_FAULT_BYTES, "no end within %d s", limit_s);
    return true;
}

/* Waits for the PEs. Returns the exit status of the program: that of a PE without a GPU; JOB_ROW_FAILED if the PEs were
 * ended, and `text` has the reason; or 0. */
static inline int job_watch(struct job *job, pid_t *pids, int limit_s, char *text)
{
    int status = 0;
    bool has_failed = false;
    while (!has_failed && (pids[0] > 0 || pids[1] > 0)) {
        has_failed = job_has_failed(job, pids, limit_s, &status, text);
        job_nap(5000000);
    }
    for (int i = 0; i < JOB_PES; i++)
        if (pids[i] > 0 && kill(pids[i], SIGKILL) == 0) waitpid(pids[i], NULL, 0);
    if (!has_failed) return 0;
    return status == JOB_SKIPPED ? JOB_SKIPPED : JOB_ROW_FAILED;
}

#endif

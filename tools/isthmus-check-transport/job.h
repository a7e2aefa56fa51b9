/* tools/isthmus-check-transport/job.h: the checker as a job: a launcher has started it on several hosts. PE 0 checks
 * and reports; the processes of a case are spread over all PEs, whose other ones start processes when it requests
 * that. */
#ifndef CHECK_TRANSPORT_JOB_H
#define CHECK_TRANSPORT_JOB_H

#include "contract.h"
#include "core/boot/uid.h"

/* Where a PE starts processes: a host, an address and a secret. */
struct job_place {
    struct isthmus_host_id host;
    struct ist_uid uid;
};

struct job {
    int pe, n_pes; /* n_pes: of those that take part, at most CT_MAX_PROCESSES */
    struct job_place places[CT_MAX_PROCESSES];
};

/* Calls check(), which returns the exit status, in the only process, or on PE 0 of a job; `job` is what check() then
 * passes to ct_run_case(). Returns the exit status of this process. */
typedef int job_check(const struct job *job, const void *argument);
int job_run(job_check *check, const void *argument, const char *plugin);

/* remote.c: starts processes for PE 0, until this process is killed. */
_Noreturn void job_serve(const struct job *job, int listener, const char *plugin);

#endif

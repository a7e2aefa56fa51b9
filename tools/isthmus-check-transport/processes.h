/* tools/isthmus-check-transport/processes.h: the processes of a case, for the files that start them: processes.c here,
 * remote.c on another PE of a job. */
#ifndef CHECK_TRANSPORT_PROCESSES_H
#define CHECK_TRANSPORT_PROCESSES_H

#include "contract.h"
#include "job.h"

#include <sys/types.h>

struct child {
    pid_t pid;
    int socket, status;     /* socket -1: it has ended, with this status of waitpid */
    int kick_fd;            /* of its progress thread */
    bool has_sent, was_cut; /* it was killed by the parent */
    struct ct_blob blob;
};

struct run {
    const struct ct_case *c;
    const char *plugin;
    int n, patience_s;
    struct isthmus_host_id hosts[CT_MAX_PROCESSES];
    struct child children[CT_MAX_PROCESSES];
    int printed; /* descriptor of what the processes printed */
    struct ct_board *board;
    struct ct_report *report;
};

/* Forks process `pe`, or, with a job, what stands in for it if it runs on another PE of the job. */
bool ct_start_process(struct run *run, const struct job *job, int pe);

/* remote.c. The stand-in does for its parent what the process does elsewhere: it sends and receives the same, and ends
 * in the same way. */
_Noreturn void ct_stand_in(const struct run *run, const struct job_place *place, int pe, int to_parent);

#endif

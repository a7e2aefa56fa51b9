/* The job: its PEs, their state, and the phase of its end.
 * Not their start (start.h) and not the waiting (loop.h): here are the reactions to events.
 * Read on in job.c. */
#ifndef ISTHMUS_RUN_JOB_H
#define ISTHMUS_RUN_JOB_H

#include "options.h"
#include "server.h"

#include <sys/types.h>

struct pe {
    pid_t pid;
    pid_t *group; /* process group, 0 once it is empty; the place is shared with the guardian */
    bool running;
    bool connected;    /* has called PMIx_Init */
    bool finalized;    /* has called PMIx_Finalize since */
    bool was_replaced; /* see start_stand_in() */
    int wait_status;   /* once it does not run */
    int stop_signal;   /* the signal that has stopped it; 0: none */
    int stopped_ticks; /* for so long, while others ran */
};

enum job_phase {
    JOB_RUNNING,
    JOB_LINGERING,   /* all PEs have ended, something that they started has not */
    JOB_TERMINATING, /* SIGTERM has been sent */
    JOB_KILLING,     /* SIGKILL has been sent */
    JOB_OVER,
};

struct job {
    struct pe *pes;
    int n_pes, n_running;
    enum job_phase phase;
    int64_t phase_ends_ns; /* when the next phase begins; 0: when something happens */
    int64_t times_out_ns;  /* --timeout; 0: never */
    double timeout_s;
    uint64_t stop_limit_s;    /* a PE that is stopped for longer is lost; 0: none is */
    int64_t stop_tick_ns;     /* when stopped PEs are checked next; 0: there are none */
    int suspect;              /* a PE that has failed, perhaps only because another is dying; -1: none */
    int64_t suspect_until_ns; /* when it is reported as the cause */
    bool was_interrupted;     /* a signal that ends programs has been passed on */
    bool has_stuck_fence;
    int exit_status; /* of isthmus-run */
};

/* `groups`: the guardian's places. */
void job_init(struct job *job, const struct options *options, pid_t *groups);
void job_fini(struct job *job);

/* Events. Each may move the job on. */
void job_child_ended(struct job *job, pid_t pid, int wait_status);
void job_child_stopped(struct job *job, pid_t pid, int wait_status); /* or continued */
void job_server_event(struct job *job, const struct server_event *event);
void job_signal(struct job *job, int signal_number);
void job_time_passed(struct job *job, int64_t now_ns);

/* After all of the above: sees whether the job is over. */
void job_settle(struct job *job);

/* Ends the job with this status: SIGTERM to all PEs but `spared` (-1: none), SIGKILL two seconds later. */
void job_end(struct job *job, int exit_status, int spared);

/* When job_time_passed() must be called next; 0: not at all. */
int64_t job_next_time_ns(const struct job *job);

/* True if a PE that never connected has ended well while others are connected: those would wait for it for ever in
 * their first fence. *pe: which. */
bool job_lacks_pe(const struct job *job, int *pe);

#endif

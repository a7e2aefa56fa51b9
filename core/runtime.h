/* core/runtime.h: init and finalize of the whole library, and the state that the APIs read.
 * The composition root is runtime.c; start_report.c reports failing starts, exit.c handles unusual ends. */
#ifndef IST_RUNTIME_H
#define IST_RUNTIME_H

#include "core/base/config.h"
#include "core/boot/boot.h"
#include "core/boot/card.h"

enum ist_thread_level { IST_THREAD_SINGLE, IST_THREAD_FUNNELED, IST_THREAD_SERIALIZED, IST_THREAD_MULTIPLE };

struct ist_runtime {
    struct ist_config config;
    struct ist_boot_request request; /* the program's description of its job */
    ist_boot *boot;
    struct ist_card card; /* this PE's own; its blobs point into card_room */
    struct ist_card_room card_lists;
    uint8_t *card_room;
    char agreement[1024]; /* what must be equal on all PEs */
    int nesting;          /* inits without a finalize so far */
    int thread_level;
    bool arrivals_wake;    /* every arrival from a network wakes this PE */
    unsigned generation;   /* how often the library was initialised before */
    bool finalize_at_exit; /* start_pes: the exit of the program is the finalize */
};

extern struct ist_runtime ist_runtime;

/* Joins the job, or nests one level deeper. `routine` is the program's call, for messages. A failure has been reported,
 * once for the job, when this returns it. */
isthmus_status ist_init(const char *routine, enum ist_face face, int thread_level);

/* The same for the faces' init_thread: chooses the nearest level available; *provided (may be NULL) is set on success
 * only. */
isthmus_status ist_init_thread(const char *routine, enum ist_face face, int requested, int *provided);

/* The same for a program that describes its job: the request is kept for later messages. If the library is initialised
 * already, the request has to match the running job. */
isthmus_status ist_init_job(const char *routine, enum ist_face face, int thread_level,
                            const struct ist_boot_request *request);
void ist_finalize(const char *routine);

_Noreturn void ist_global_exit(int exit_code);

/* Returns true between the first init and the last finalize. Any thread. */
bool ist_is_initialised(void);

/* ---- parts ---- */

/* start_report.c: the agreement on the start, and one report for the job. `failure` not OK: this PE cannot start. Does
 * not return if any PE failed and `routine` is not allowed to fail. */
isthmus_status ist_start_agree(isthmus_status failure);
void ist_start_report_alone(isthmus_status failure);

/* A child after fork is no PE, whatever it inherits. Called before anything is opened ahead of the first init. */
void ist_runtime_watch_forks(void);

/* runtime.c: the steps after the exchange. */
isthmus_status ist_start_together(uint64_t heap_limit_bytes);

/* explain.c: from the first init on, isthmus-run or a signal may request what this PE waits for. */
void ist_explain_begin(const struct ist_config *config);
void ist_explain_after_fork(void);

/* processes.c: called from long waits, from time to time. Returns a PE of this host whose process is known to have
 * ended; -1 if there is none. Ends the job if one has been stopped for longer than ISTHMUS_PULSE_TIMEOUT. */
int ist_host_pes_look(void);
void ist_host_pes_look_in_exchange(void); /* the same in waits for the bootstrap, before PEs have synchronized */
/* Kills a stopped PE for which the job has been ended, because no launcher ends it. */
void ist_host_pes_end_stopped(void);
void ist_host_pes_forget(void);

/* launch_watch.c: around the calls that wait for the launcher's server. */
void ist_launch_watch_begin(void);
void ist_launch_watch_end(void);

/* exit.c: called from long waits of any kind. */
void ist_exit_look(void);

/* Handles the end of the process before the destructors of libraries that were loaded after the program's start, for
 * jobs whose transports load such. Exit handlers that the program registered before shmem_init then run after it,
 * without a SHMEM session. */
void ist_exit_before_destructors(void);
void ist_exit_after_fork(void); /* in a child: its exit is not the PE's */

#endif

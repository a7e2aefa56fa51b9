/* core/runtime.h: init and finalize of the whole library, and its state as the APIs ask for it.
 * The composition root is runtime.c; failing starts are reported by start_report.c, unusual ends are in exit_paths.c. */
#ifndef IST_RUNTIME_H
#define IST_RUNTIME_H

#include "core/base/config.h"
#include "core/boot/boot.h"
#include "core/boot/card.h"

enum ist_thread_level { IST_THREAD_SINGLE, IST_THREAD_FUNNELED, IST_THREAD_SERIALIZED, IST_THREAD_MULTIPLE };

struct ist_runtime {
    struct ist_config config;
    struct ist_boot_request request; /* what the program said about its job */
    ist_boot *boot;
    struct ist_card card; /* this PE's own; its blobs point into card_room */
    struct ist_card_room card_lists;
    uint8_t *card_room;
    char agreement[1024]; /* what must be equal on all PEs */
    int nesting;          /* inits that have no finalize so far */
    int thread_level;
    bool arrivals_wake;    /* whatever comes through a network wakes this PE */
    unsigned generation;   /* how many times the library was initialised before */
    bool finalize_at_exit; /* start_pes: the end of the program is the finalize */
};

extern struct ist_runtime ist_runtime;

/* Join the job, or nest one deeper. `routine` is the program's call, for messages. A failure has been reported, once for
 * the job, when this returns it. */
isthmus_status ist_init(const char *routine, enum ist_face face, int thread_level);

/* The same for the faces' init_thread: the nearest level that there is; *provided (may be NULL) on success only. */
isthmus_status ist_init_thread(const char *routine, enum ist_face face, int requested, int *provided);

/* The same for a program that says which job it means: kept for what has to be said about it later. When the library is
 * initialised already, the request has to fit the running job. */
isthmus_status ist_init_job(const char *routine, enum ist_face face, int thread_level,
                            const struct ist_boot_request *request);
void ist_finalize(const char *routine);

_Noreturn void ist_global_exit(int exit_code);

/* Between the first init and the last finalize; from any thread. */
bool ist_is_initialised(void);

/* ---- parts ---- */

/* start_report.c: one block for the job. `failure` not OK: this PE cannot start. Does not return if any PE failed and
 * `routine` is not allowed to fail. */
isthmus_status ist_start_agree(isthmus_status failure);
void ist_start_report_alone(isthmus_status failure);

/* A child after fork is no PE, whatever it inherits: for what opens something before the first init. */
void ist_runtime_watch_forks(void);

/* runtime.c: what is left to do once the exchange is over. */
isthmus_status ist_start_together(uint64_t heap_limit_bytes);

/* explain.c: from the first init on others may ask what this PE waits for. */
void ist_explain_begin(const struct ist_config *config);
void ist_explain_after_fork(void);

/* host_pes.c: from waits that last, now and then. A PE of this host whose process has ended, as far as it is known by now; -1:
 * none. Ends the job when one has been stopped for longer than ISTHMUS_PULSE_TIMEOUT. */
int ist_host_pes_look(void);
void ist_host_pes_look_in_exchange(void); /* likewise in waits for the bootstrap: PEs need not have met before */
void ist_host_pes_end_stopped(void); /* the job has been ended for one that is stopped, and no launcher ends that */
void ist_host_pes_forget(void);

/* launch_watch.c: around the calls that wait for the launcher's server. */
void ist_launch_watch_begin(void);
void ist_launch_watch_end(void);

/* exit_paths.c */
void ist_exit_watch_leavers(void);

/* The end of the process is dealt with before libraries that came after the program's start are: for jobs whose transports load
 * such. Exit handlers that the program registered before shmem_init then run after it, without a SHMEM session. */
void ist_exit_before_destructors(void);
void ist_exit_after_fork(void); /* in a child: its end is not the PE's */

#endif

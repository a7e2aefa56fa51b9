/* core/life/life_priv.h: what the files of core/life offer to each other. Datagrams have a header of their own. */
#ifndef IST_LIFE_LIFE_PRIV_H
#define IST_LIFE_LIFE_PRIV_H

#include "core/base/fatal.h"
#include "core/boot/boot.h"
#include "core/boot/card.h"

/* ---- liveness.c: heartbeats; life.h has the rest ---- */

/* All PEs have synchronized. `first` is the PE that this one watches in the ring; NULL: none. */
void ist_liveness_join(const struct ist_card *first);
void ist_liveness_watch(const struct ist_card *peer); /* a PE to which a path exists or is being opened */
bool ist_liveness_has_lost(int pe);                   /* a neighbour that is silent for too long, or has left */
int ist_liveness_exited(void);                        /* a neighbour that has exited without finalize; -1: none */
bool ist_liveness_is_open(void);

/* For the verdict: notifies the neighbours that this PE ends the job and reports why, unless another PE does. */
void ist_liveness_announce_end(void);
bool ist_liveness_another_reports(void);

void ist_liveness_close(void);  /* accepts any state */
void ist_liveness_forget(void); /* in a child after fork: the thread does not exist there */

/* ---- processes.c: the PEs of this host as processes ---- */

/* Returns a PE of this host whose process is known to have ended; -1 if there is none. Ends the job if one has been
 * stopped for longer than ISTHMUS_PULSE_TIMEOUT. */
int ist_processes_poll(void);
bool ist_processes_has_ended(int pe);      /* false for a PE of another host, and while another thread checks */
void ist_processes_poll_in_exchange(void); /* the same in waits for the bootstrap, before PEs have synchronized */

void ist_processes_forget(void);

/* ---- siblings.c: the processes that this one's launcher has started for the same job on this host, found by their
 * parent and their environment. Used while no card names each PE's process. Does not find processes that a script
 * starts, or that another container hides. ---- */

/* Returns true if this process is that PE of this job. The number on a card is that of the PE's own container, which
 * may not be ours. */
bool ist_sibling_is(int pe, int32_t pid);

/* Returns the process of a PE; 0 if it is not found. */
int32_t ist_sibling_find(int pe);

/* Returns the sibling whose process number follows this one's, the first one after the last; -1 if there is none. Sets
 * *pid. Reads /proc once for each sibling. */
int ist_sibling_next(int32_t *pid);

/* Returns true if the job is suspended: Ctrl-Z stops the launcher before the PEs, or only some PEs for a moment. */
bool ist_siblings_are_suspended(void);

/* ---- verdict.c: which PE reports why the job ends, and how this PE ends then ---- */

/* `job` is the name that its PEs have in common; "": there is no other PE on this host. abort_action: of ISTHMUS_ABORT.
 * frames: the most that a backtrace shows. */
void ist_verdict_begin(const char *job, int abort_action, int frames);
void ist_verdict_expect_launcher(void); /* keeps memory for the client of the launcher */
void ist_verdict_stop(void);

/* Returns true to the first caller among this job's PEs on this host, from then until that PE ends. */
bool ist_verdict_claim(void);

/* The same among all PEs of the job, as far as they reach each other; takes half a second. */
bool ist_verdict_agree(void);

/* The process of a stopped PE for which the job ends: this PE kills it when it ends, because no launcher does. */
void ist_verdict_condemn(int32_t pid);
void ist_verdict_kill_condemned(void);

/* In exit(): the process ends with its code even if what follows blocks; and no more, with what the program's alarm was
 * before. */
void ist_verdict_bound_exit(int exit_code);
void ist_verdict_release_exit(void);

_Noreturn void ist_verdict_end(const struct ist_end *end) IST_COLD;

/* ---- life.c ---- */

const struct ist_boot_request *ist_life_request(void); /* of the last ist_life_begin() */

/* Requests the launcher to end all PEs. Returns false if no bootstrap is open. */
bool ist_life_abort(int exit_code);

/* ---- exit.c ---- */

/* From long waits in calls of the program: ends the job if a transport has lost a PE, or if this PE waits in a
 * collective for one that has left. */
void ist_exit_poll(void);
void ist_exit_begin(void);      /* this process is a PE */
void ist_exit_after_fork(void); /* in a child: its exit is not the PE's */

/* ---- explain.c: from the first init on, isthmus-run or a signal may request what this PE waits for ---- */

void ist_explain_begin(const struct ist_config *config);
void ist_explain_after_fork(void);

#endif

/* core/life/life.h: is the job alive, and how does it end? What init and finalize call of this folder: do all PEs
 * start, heartbeats of PEs on other hosts, processes of this host, the one PE that reports a loss, exits, and the lines
 * that explain a wait. The lower floors report waits, connections and the end of the job through base/fatal.h. */
#ifndef IST_LIFE_LIFE_H
#define IST_LIFE_LIFE_H

#include "core/boot/boot.h"
#include "core/boot/card.h"

/* Before the bootstrap: a PE that ends the job or is requested to explain its wait can report. */
void ist_life_begin(const struct ist_config *config, const struct ist_boot_request *request);

/* The bootstrap has lost the launcher or a PE. Ends this process. */
ist_boot_lost ist_life_lost;

/* Around the calls that wait for the launcher's server (launch_watch.c). */
void ist_launch_watch_begin(void);
void ist_launch_watch_end(void);

/* The bootstrap is open: from now on waits for it check the PEs of this host, and a PE that ends the job ends all. */
void ist_life_start(ist_boot *boot);

/* Opens the socket for heartbeats and starts their thread, in jobs that use a network. With
 * ISTHMUS_PULSE_TIMEOUT=0 it has no effect, nor have the next two functions. The job ends if ist_life_join() does not
 * follow within ISTHMUS_START_TIMEOUT. */
isthmus_status ist_liveness_open(const ist_boot *boot, const struct ist_config *config);
struct ist_blob ist_liveness_card(void); /* the heartbeat address of this PE; valid until ist_life_stop() */

/* This PE leaves in good order: its neighbours stop watching it, and it stops watching them. Without finalize, those
 * that wait for it in a collective will not do so for ever. */
void ist_liveness_leave(bool has_finalized);

/* All PEs have synchronized, and their cards can be read: from now on waits of any kind check the job. *next is set to
 * the card of the PE that this one watches in the ring of hosts; NULL if there is none. */
isthmus_status ist_life_join(const struct ist_card **next);

/* Checks at start, rather than at the first put that fails, that this PE reaches the others: PE 0 without a connection,
 * and `first_peer` (-1: none) by the one connection that this PE opens in any case. Every host has one to another. */
isthmus_status ist_life_check_reach(int first_peer);

/* agree.c: the one exchange of init: publishes this PE's card, or a card of failure if `failure` is not OK, waits for
 * all PEs, opens the table of peers, and compares the PEs. Returns `failure`, or the first one that is found; a message
 * about it is this thread's ist_fail_text(). *first, PE 0's card, is valid on success only. *culprit: the PE because of
 * which the start fails on all PEs; -1 if the others do not know of this failure. attempt: the number of this start,
 * also of those that failed; no two have a key in common. */
isthmus_status ist_agree(const struct ist_card *card, unsigned attempt, isthmus_status failure,
                         const struct ist_card **first, int *culprit);

/* One report for the job of a start that failed, whose reason is this thread's ist_fail_text(); start_report.c. The
 * first without a bootstrap. The second on all PEs that failed: one of them reports, and the others wait for it, for a
 * bounded time. It returns if the start fails on all PEs, so that init returns a status on each; with a culprit of -1
 * other PEs may go on, and it ends the job. */
void ist_start_report_alone(void);
void ist_start_report_job(int culprit);

/* Ends heartbeats and checks. Accepts any state. */
void ist_life_stop(void);

/* Before the bootstrap is closed. Accepts any state. */
void ist_life_end(void);

/* Handles the end of the process before the destructors of libraries that were loaded after the program's start, for
 * jobs whose transports load such. Exit handlers that the program registered before shmem_init then run after it,
 * without a SHMEM session. */
void ist_exit_before_destructors(void);

/* After the last finalize: if the main thread has ended before this one, the process ends with its last thread. */
void ist_exit_watch_thread(void);

/* Ends all PEs with this code, after the exit handlers of this one. */
_Noreturn void ist_exit_all(int exit_code);

/* In a child after fork, which is no PE. */
void ist_life_forget(void);

#endif

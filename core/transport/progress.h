/* core/transport/progress.h: progress while the program makes no call: a thread that sleeps until there is work. It
 * never spins beside a computing PE, and leaves the work to a waiting PE that polls for itself. */
#ifndef IST_TRANSPORT_PROGRESS_H
#define IST_TRANSPORT_PROGRESS_H

#include "core/base/status.h"

#include <pthread.h>

/* Starts the thread if any open transport has a descriptor to sleep on. */
isthmus_status ist_progress_start(void);
void ist_progress_stop(void); /* accepts any state */

/* For the end of the process when the calling thread has interrupted itself inside this library: no thread makes
 * progress from now on. One that does not stop waits for a lock of the interrupted frame, and would never stop. */
void ist_progress_halt(void);

/* From calls that cannot continue: lets the transports make progress. Cheap if another thread is polling. */
uint32_t ist_progress_poll(void); /* returns the events handled */

/* From a wait that polls again at once: the thread stays away meanwhile, so that messages do not wake it. now_ns: of
 * ist_clock_ns(). */
void ist_progress_attended(uint64_t now_ns);

/* Returns how many events threads of this PE have handled so far. */
uint64_t ist_progress_events(void);

/* From a wait that has polled for a while: leaves the polling to the thread, and sleeps until the number of events is
 * no longer n_events, or until this time has passed. May return early. */
void ist_progress_sleep(uint64_t n_events, uint64_t most_ns);

/* Returns a transport's report of a lost peer that no caller has received; NULL if there is none. */
const char *ist_progress_loss(void);

/* From now on the thread, if there is one, also calls this function, several times a second; NULL: no more, and not
 * while this returns. For what changes without a descriptor. */
void ist_progress_watch(void (*check)(void));

/* In a child after fork: the thread does not exist here. */
void ist_progress_forget(void);

#endif

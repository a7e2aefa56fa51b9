/* core/transport/progress.h: work that needs a CPU although the program makes no call: a thread that sleeps until there
 * is some. It never spins beside a computing PE, and stays away from one that waits and serves for itself. */
#ifndef IST_TRANSPORT_PROGRESS_H
#define IST_TRANSPORT_PROGRESS_H

#include "core/base/status.h"

/* Start the thread if any open transport has a descriptor to sleep on. */
isthmus_status ist_progress_start(void);
void ist_progress_stop(void); /* takes any state */

/* From calls that cannot go on: let the transports make progress now. Cheap when another thread is at it. */
uint32_t ist_progress_poll(void); /* events handled */

/* The same from a wait, which will come again at once: meanwhile the thread stays away, rather than be woken for each
 * message. now_ns: of ist_clock_ns(). */
void ist_progress_attended(uint64_t now_ns);

/* How many events threads of this PE have handled here so far. */
uint64_t ist_progress_events(void);

/* From a wait that has attended for a while: leave it to the thread, and sleep until it has handled something since there
 * were n_events, or until this time has passed. May return early. */
void ist_progress_sleep(uint64_t n_events, uint64_t most_ns);

/* What a transport has said about a peer that is gone, although nobody was calling it; NULL: nothing so far. */
const char *ist_progress_loss(void);

/* In a child after fork: there is no thread here. */
void ist_progress_forget(void);

#endif

/* core/transport/progress.h: work that needs a CPU although the program makes no call: a thread that sleeps until there
 * is some. It never spins beside a computing PE. */
#ifndef IST_TRANSPORT_PROGRESS_H
#define IST_TRANSPORT_PROGRESS_H

#include "core/base/status.h"

/* Start the thread if any open transport has a descriptor to sleep on. */
isthmus_status ist_progress_start(void);
void ist_progress_stop(void); /* takes any state */

/* From waits: let the transports make progress now. Cheap when another thread is at it. */
void ist_progress_poll(void);

/* What a transport has said about a peer that is gone, although nobody was calling it; NULL: nothing so far. */
const char *ist_progress_loss(void);

/* In a child after fork: there is no thread here. */
void ist_progress_forget(void);

#endif

/* core/proxy/closer.h: a thread that waits for the completion of a batch where a transport cannot commit without a wait
 * (commit_start in isthmus/transport.h is absent). It exists once the first such wait is needed. */
#ifndef IST_PROXY_CLOSER_H
#define IST_PROXY_CLOSER_H

#include "core/proxy/batch.h"

/* Starts the thread unless it runs, and gives it a batch, whose context no other thread uses until the closer is free:
 * it completes the batch and replies. Ends the job if there is no thread to be had. The closer is free. */
void ist_closer_take(struct ist_batch *batch, struct ist_requests *requests);

bool ist_closer_is_free(void);

/* Ends the thread, which first completes what it has. Accepts any state. */
void ist_closer_end(void);

/* In a child after fork. */
void ist_closer_forget(void);

#endif

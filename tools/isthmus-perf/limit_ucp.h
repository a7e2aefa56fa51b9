/* tools/isthmus-perf/limit_ucp.h: the limit between hosts: the same operation by UCP without a runtime on it. One PE
 * calls; the other makes progress, as UCP over TCP needs it. Uses the UCX that transport ib has loaded. */
#ifndef ISTHMUS_PERF_LIMIT_UCP_H
#define ISTHMUS_PERF_LIMIT_UCP_H

#include "tools/isthmus-perf/operations.h"

/* Collective. Connects PE `from` with PE `to`, which has a window of this length; keeps the connection until the pair
 * changes. Returns NULL on all PEs, or on all PEs a text, the reason; `from` has the exact one. */
const char *limit_ucp_open(int from, int to, size_t window_bytes);
void limit_ucp_close(void); /* collective; accepts any state */

/* Returns NULL if there is no such operation. */
perf_batch *limit_ucp_batch(enum transfer what);

/* PE `to`, while `from` calls; and what `from` calls after its batch. */
void limit_ucp_serve(void);
void limit_ucp_end_serving(int to);

/* Why a batch of this PE failed; NULL: none has. Later batches return at once. */
const char *limit_ucp_failure(void);

#endif

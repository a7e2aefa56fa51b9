/* core/stream/item.h: calls that the host runs in the order of a stream.
 * An item is two entries of the stream: a host function, which marks the item as runnable, and a wait for the item's
 * word in memory of the device, which a thread of the library writes when it has run. The stream is held in between, so
 * that of each stream at most one item runs, and there is no table of streams: an item needs only some thread that has
 * nothing to do. There are as many threads as streams were busy at once; one that waits for peers holds up its own
 * stream only. */
#ifndef IST_STREAM_ITEM_H
#define IST_STREAM_ITEM_H

#include "core/stream/stream.h"

#include <isthmus/transport.h>

/* ist_streams is filled. UNSUPPORTED: the platform's streams do not wait for memory of its devices. */
isthmus_status ist_items_open(void);
void ist_items_close(void); /* none is pending; takes any state */

/* `done` (may be NULL) is set when the call has run. Ends the job if the stream does not take it. */
struct ist_item_done;
void ist_item_post(void *stream, const struct ist_stream_call *call, struct ist_item_done *done);
/* Behind it in the same launch as its wait, which becomes list[0]: words 1 to n - 1. Where the transport has
 * `words`. */
void ist_item_post_before(void *stream, const struct ist_stream_call *call, struct isthmus_stream_word *list,
                          uint32_t n);
void ist_item_post_and_wait(void *stream, const struct ist_stream_call *call);

bool ist_items_are_pending(void);         /* posted, and not done so far */
void ist_items_wait(const char *routine); /* until none is */

#endif

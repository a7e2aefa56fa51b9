/* core/stream/direct.h: operations that the heap's transport executes in a stream by itself: no thread, and nothing
 * that blocks.
 * Each is an `enqueue` of struct ist_stream_call. Transfers and signals: where the peer's memory is
 * reached by that transport, and the local buffer by its device without the driver's help (its memory, or memory that
 * it has pinned: a driver copies other memory of the host before the call returns, and waits for the stream to do
 * so). */
#ifndef IST_STREAM_DIRECT_H
#define IST_STREAM_DIRECT_H

#include "core/stream/stream.h"

bool ist_direct_transfer(void *stream, struct ist_stream_call *call); /* a put or get */
bool ist_direct_p(void *stream, struct ist_stream_call *call);        /* of 64 bits */
bool ist_direct_put_signal(void *stream, struct ist_stream_call *call);
bool ist_direct_signal_op(void *stream, struct ist_stream_call *call);

/* For a signal: ==, >= and >, the latter two by the sign of the distance, which is how streams compare: right for all
 * values that are less than 2^63 apart. A wait on the host would be right for all values, and would have to poll all
 * the time. Of a variable of any type: == of 64 bits. */
bool ist_direct_signal_wait(void *stream, struct ist_stream_call *call);
bool ist_direct_wait(void *stream, struct ist_stream_call *call);

/* Operations in a stream are complete when the stream gets past them; only the host's may not be. */
bool ist_direct_quiet(void *stream, struct ist_stream_call *call);
int ist_run_quiet(const struct ist_stream_call *call); /* its other half, on the host */

#endif

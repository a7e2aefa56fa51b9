/* core/stream/stream.h: calls in the order of a stream of the program's own (nvshmemx_..._on_stream).
 * Not the operations themselves (core/ops, core/coll, core/sync), nor the commands to a platform's stream (stream.1 in
 * isthmus/transport.h).
 *
 * Where this PE's heap lies in memory of a device whose transport has stream.1, every handle is a stream of that
 * platform, NULL its default stream. Operations that the transport executes in a stream by itself are passed to it
 * (direct.h); everything else becomes an item, which a thread of the library runs when the stream gets there, and the
 * stream waits for (item.h). Elsewhere streams are names: the call is done when it returns. */
#ifndef IST_STREAM_STREAM_H
#define IST_STREAM_STREAM_H

#include "core/base/config.h"
#include "core/coll/combine.h"
#include "core/ops/signal.h"
#include "core/ops/strided.h"
#include "core/sync/wait.h"
#include "core/team/team.h"

/* A call with all its arguments. Buffers are the program's until its stream has passed; the rest is taken by value. */
struct ist_stream_call {
    struct ist_transfer transfer; /* on the default context, or of a collective; of other calls its routine only */

    /* The call on the host: blocks, and returns the result of the routine without a stream, 0 if that has none. */
    int (*run)(const struct ist_stream_call *call);

    /* Gives it to the transport. Returns false if the rest of it in `call` has to be run. NULL: always run. */
    bool (*enqueue)(void *stream, struct ist_stream_call *call);

    struct ist_stride stride; /* of blocks */
    struct ist_signal signal;
    uint64_t value; /* in the low end: to write, or to compare with */

    size_t nelems; /* of a reduction */
    enum ist_combine_op op;
    enum ist_combine_type type;

    struct ist_wait_set wait; /* for one variable or several; no values: those are `value` */
    void *copies;             /* of the arrays of `wait`, freed after run(); NULL: there are none */
};

/* Puts a call into a stream. Returns the result of run() if it has run, else 0. Ends the job on failure. */
int ist_stream_do(void *stream, const struct ist_stream_call *call);

/* The same for a collective, which refuses a NULL team at once. */
int ist_stream_do_on_team(void *stream, const struct ist_stream_call *call);

/* The same; returns after it has run. */
void ist_stream_do_now(void *stream, const struct ist_stream_call *call);

/* Returns true if calls return before they are done, so that the memory that they point to has to be copied. */
bool ist_streams_are_on(void);

/* Called once the heap exists: decides whether streams are more than names. */
isthmus_status ist_streams_open(const struct ist_config *config);

/* Waits until all work of streams is done. Ends the job if the device, and its streams, have failed. */
void ist_streams_wait(const char *routine);

void ist_streams_close(void);  /* after that; takes any state */
void ist_streams_free(void);   /* and no peer is attached to their memory any more, which is not exposed either */
void ist_streams_forget(void); /* in a child after fork: there are no threads here, and no device */

#endif

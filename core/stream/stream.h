/* core/stream/stream.h: calls in the order of a stream of the program's own (nvshmemx_..._on_stream).
 * Not the operations themselves (core/ops, core/coll, core/sync), nor the commands to a platform's stream (stream.1 in
 * isthmus/transport.h).
 *
 * Where this PE's heap lies in memory of a device whose transport has stream.1, every handle is a stream of that
 * platform, NULL its default stream. Operations that the transport executes in a stream by itself are passed to it
 * (direct.c); everything else becomes an item, which a thread of the library runs when the stream gets there, and the
 * stream waits for (item.c). Elsewhere streams are names: the call is done when it returns. */
#ifndef IST_STREAM_STREAM_H
#define IST_STREAM_STREAM_H

#include "core/base/config.h"
#include "core/coll/coll.h"
#include "core/ops/amo.h"
#include "core/ops/rma.h"
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

    uint32_t collective; /* ISTHMUS_COLLECTIVE_, of one on data */
    size_t nelems;       /* of a reduction */
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
isthmus_status ist_streams_open(const struct ist_config *config, int n_pes);

/* Waits until all work of streams is done. Ends the job if the device, and its streams, have failed. */
void ist_streams_wait(const char *routine);

/* This PE exits without finalize: kernels of collectives stop waiting for others. */
void ist_streams_leave(void);

void ist_streams_close(void);  /* after that; takes any state */
void ist_streams_free(void);   /* and no peer is attached to their memory any more, which is not exposed either */
void ist_streams_forget(void); /* in a child after fork: there are no threads here, and no device */

/* ---- operations that the heap's transport executes in a stream by itself (direct.c) ----
 * No thread, and nothing that blocks. Each is an `enqueue` of struct ist_stream_call. Transfers and signals: where the
 * peer's memory is reached by that transport, and the local buffer by its device without the driver's help (its memory,
 * or memory that it has pinned: a driver copies other memory of the host before the call returns, and waits for the
 * stream to do so). */

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

/* ---- PEs of one host synchronise in the order of their streams (meeting.c) ----
 * Without a processor: the same flags and rounds as in a dissemination by processors (core/coll/sync_algorithms.c), but
 * the flags lie in memory of the devices, and it is streams that write them at peers and wait for their own: one launch
 * for each synchronisation. Teams on several hosts synchronise by their processors, as items. */

uint64_t ist_meetings_bytes(const struct ist_config *config); /* of flags, those of kernels included */
void ist_meetings_open(const struct ist_config *config);      /* once ist_streams has its memory */
isthmus_status ist_meetings_expose(void);                     /* flags, as a segment; nothing where there are none */

/* The flags of the next team with this index, before any member uses them. Ends the job if the device has failed. */
void ist_meeting_clear(int index, const char *routine);

/* The team is about to end: waits for kernels that use its flags. */
void ist_meeting_end(const struct ist_team *team, const char *routine);

/* The flags of kernels' synchronisations of that team (ISTHMUS_DEVICE_FLAGS words), symmetric, in memory of the device;
 * cleared with the others. Where the transport of the heap has device.1: without streams there are these alone. */
uint64_t *ist_meeting_kernel_flags(int index);

/* Collective, by the host: from now on this team, all of whose members are on one host, synchronises in streams if each
 * member's device reaches all others', and its collectives are kernels if it does so by loads and stores. Teams within
 * such a team do so too. */
void ist_meeting_agree(struct ist_team *team, const char *routine);

/* An enqueue of struct ist_stream_call, of its team. All members take it or none does. */
bool ist_meeting_sync(void *stream, struct ist_stream_call *call);
bool ist_meeting_barrier(void *stream, struct ist_stream_call *call); /* quiet before it, as a call of its own */

/* Of a collective on data, of a team with kernels (collective.c): one launch, and no processor. All members take it or
 * none does. */
bool ist_collective_enqueue(void *stream, struct ist_stream_call *call);

#endif

/* core/stream/stream_priv.h: shared by the files of this folder. */
#ifndef IST_STREAM_STREAM_PRIV_H
#define IST_STREAM_STREAM_PRIV_H

#include "core/stream/stream.h"
#include "core/transport/registry.h"

#include <isthmus/transport.h>

enum { IST_ITEM_WORDS = 8192 };

/* The transport that keeps the heap; written at start only. */
extern struct ist_streams {
    const struct ist_transport *transport; /* NULL: there are neither streams nor flags of kernels */
    const struct isthmus_stream *ops;      /* NULL: streams are names */
    const struct isthmus_memory *memory;
    const struct isthmus_kernels *kernels;
    const struct isthmus_collectives *collectives; /* NULL: no kernels for collectives */
    uint32_t kind;                                 /* of its memory */
    uint32_t number;                               /* in the registry */
    struct isthmus_mem mem; /* on the device: the words of items (item.c), behind them the flags of meeting.c, and then
                             * those of collective.c */
} ist_streams;

/* ---- items: calls that the host runs in the order of a stream (item.c) ----
 * An item is two entries of the stream: a host function, which marks the item as runnable, and a wait for the item's
 * word in memory of the device, which a thread of the library writes when it has run. The stream is held in between, so
 * that of each stream at most one item runs, and there is no table of streams: an item needs only some thread that has
 * nothing to do. There are as many threads as streams were busy at once; one that waits for peers holds up its own
 * stream only. */

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

/* ---- collectives as kernels (collective.c) ----
 * Where the transport has collectives.1. A team has kernels if the device of each member reaches the heap and the flags
 * of all others by loads and stores (core/transport/device_view.h). */

/* Before the memory of streams is allocated: how many bytes of flags this adds to it; 0: there are no kernels. */
uint64_t ist_collectives_prepare(const struct ist_config *config, int n_pes);
isthmus_status ist_collectives_open(uint64_t offset_bytes, int n_pes); /* of the flags in ist_streams.mem */
void ist_collectives_free(void);                                       /* takes any state */
void ist_collectives_forget(void);
void ist_collective_clear(int index, const char *routine); /* the flags of the next team with this index */

/* This PE's part of the agreement: it reaches all members. Connects to them. */
bool ist_collectives_reach(const struct ist_team *team, const char *routine);
enum { IST_COLLECTIVE_MEMBERS = ISTHMUS_COLLECTIVE_MEMBERS };

/* Returns true if a variable ISTHMUS_COLL_ names an algorithm for ISTHMUS_COLLECTIVE_ `what`, which is no kernel's. The
 * same on all PEs. */
bool ist_collective_is_forced(uint32_t what);
bool ist_collective_run(const struct ist_coll_call *call); /* for ist_coll_offer: returns when it is done */

void ist_collective_sync(void *stream, struct ist_team *team, const char *routine); /* of a team with kernels */

/* ---- the threads that run items (worker.c) ---- */

struct ist_item {
    struct ist_stream_call call;
    struct ist_item_done *done;
    uint64_t *word; /* on the device */
    uint64_t turn;  /* the word's value when this use of the item is over; it only grows */
    struct ist_item *next;
};

/* item.c; on a worker: the call; then the stream goes on, and the item is gone. */
void ist_item_run(struct ist_item *item);
void ist_item_end(struct ist_item *item);

/* The host function of an item: returns at once, and calls no platform. */
void ist_worker_may_run(void *item);

void ist_workers_begin(const char *routine); /* starts at least one thread, or ends the job */
void ist_workers_end(void);                  /* nothing is left to run; takes any state */

#endif

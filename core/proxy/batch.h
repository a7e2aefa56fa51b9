/* core/proxy/batch.h: the host's side of the ring of requests (isthmus/device_ring.h): its memory, and reading; and the
 * requests under way in one context, with what is to be reported when they are complete. One thread reads; replies may
 * come from another one. Not the order between batches: proxy.c. */
#ifndef IST_PROXY_BATCH_H
#define IST_PROXY_BATCH_H

#include "core/ctx/ctx.h"
#include "core/proxy/kernel_memory.h"

#include <isthmus/device_wire.h>
#include <stdbool.h>

/* ---- the ring ---- */

struct ist_requests {
    struct ist_kernel_memory memory;
    struct isthmus_ring ring;         /* as the host has it: of tail, seen, quiet and turns, the kernels' addresses */
    struct isthmus_ring *for_kernels; /* the same with addresses of theirs, in their memory */
    uint64_t next;                    /* the ticket to be read next */
    const uint64_t *slot;             /* its slot, and the tag of its turn */
    uint64_t tag;
    uint64_t *stop, *stop_view; /* a word that kernels which wait look at, and its address for them */
    void *words, *table;
};

/* A ring of 1 << log2_n slots, all zero, in memory that these kernels reach. */
isthmus_status ist_requests_init(struct ist_requests *requests, uint32_t log2_n,
                                 const struct ist_kernel_memory *memory);
void ist_requests_fini(struct ist_requests *requests); /* accepts a zeroed struct */

/* Takes the next request, if all of it has arrived. Its source may be read: the fence pairs with that of
 * isthmus_dev_submit(). */
bool ist_requests_take(struct ist_requests *requests, struct isthmus_request *out);

/* Lets kernels use the slots of all requests taken so far. */
void ist_requests_consume(struct ist_requests *requests);

/* The reply to a request that waits for it. */
void ist_requests_reply(struct ist_requests *requests, uint64_t ticket, uint64_t value);

/* All requests below this ticket are complete. Returns the newest such ticket. */
void ist_requests_quieted(struct ist_requests *requests, uint64_t ticket);
uint64_t ist_requests_are_quiet_below(const struct ist_requests *requests);

/* Returns a ticket that is above those of all requests that have arrived. Any thread. */
uint64_t ist_requests_posted(const struct ist_requests *requests);

/* Returns the first ticket that no kernel has so far. */
uint64_t ist_requests_tail(const struct ist_requests *requests);

/* ---- batches ---- */

enum { IST_BATCH_WAITERS = 64 }; /* threads of kernels that wait for a reply from one batch */

struct ist_batch {
    ist_ctx *ctx;
    uint32_t n_waiters;
    bool is_used; /* requests were executed since it was empty */
    bool has_quiet;
    bool has_fence;        /* operations before it may be under way: those of another context could overtake them */
    uint64_t quiet_ticket; /* the newest request for a quiet */
    uint64_t first_ticket, last_ticket; /* of its requests, with those between them that went into another batch */
    struct isthmus_request first;       /* op 0: there is none */
    struct ist_batch_waiter {
        uint64_t ticket, value;
    } waiters[IST_BATCH_WAITERS];
};

/* A context for requests: its one caller polls. */
isthmus_status ist_batch_context(ist_ctx **out);

/* Starts the operation of a request, and replies if that is complete at once. Ends the job if the request is wrong.
 * What fetches a little goes into the batch `fetches`, which may be the same one. Both batches have room for a
 * waiter. */
void ist_batch_add(struct ist_batch *batch, struct ist_batch *fetches, struct ist_requests *requests,
                   const struct isthmus_request *request);

/* Of the request QUIET with this ticket, whose reply is ist_requests_quieted(); or the same for the host's quiet. */
void ist_batch_quiet(struct ist_batch *batch, uint64_t ticket);

/* Of the request FENCE. */
void ist_batch_fence(struct ist_batch *batch);

static inline bool ist_batch_is_full(const struct ist_batch *batch) { return batch->n_waiters == IST_BATCH_WAITERS; }

/* Returns true if threads of kernels wait for its completion. */
static inline bool ist_batch_is_awaited(const struct ist_batch *batch)
{
    return batch->n_waiters > 0 || batch->has_quiet;
}

/* For messages, and for explanations of a job that hangs. */
extern const char ist_batch_routine[];

/* Adds what the batch is for to this thread's note of a wait, for reports of a job that hangs. */
void ist_batch_note(const struct ist_batch *batch);

/* Waits for the network until all operations of the batch are complete; or all that was fetched has arrived. */
void ist_batch_complete(struct ist_batch *batch);
void ist_batch_complete_fetches(struct ist_batch *batch);

/* Then: replies to all waiters. The batch is empty afterwards. */
void ist_batch_report(struct ist_batch *batch, struct ist_requests *requests);

#endif

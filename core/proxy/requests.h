/* core/proxy/requests.h: the host's side of the ring of requests (isthmus/device_ring.h): its memory, and reading.
 * Not the execution of requests: batch.h. One thread reads; replies may come from another one. */
#ifndef IST_PROXY_REQUESTS_H
#define IST_PROXY_REQUESTS_H

#include "core/proxy/kernel_memory.h"

#include <isthmus/device_wire.h>
#include <stdbool.h>

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

/* All requests below this ticket are complete. */
void ist_requests_quieted(struct ist_requests *requests, uint64_t ticket);

/* Returns the first ticket that no kernel has so far. */
uint64_t ist_requests_tail(const struct ist_requests *requests);

#endif

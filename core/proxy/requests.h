/* core/proxy/requests.h: the host's side of the ring of requests (isthmus/device_ring.h): its memory, and reading.
 * Not the execution of requests: batch.h. One thread reads; replies may come from another one. */
#ifndef IST_PROXY_REQUESTS_H
#define IST_PROXY_REQUESTS_H

#include "core/base/status.h"

#include <isthmus/device_wire.h>
#include <stdbool.h>

struct ist_requests {
    struct isthmus_ring ring; /* as kernels have it; their part of the memory is memory of the host here */
    uint64_t next;            /* the ticket to be read next */
    void *memory;
};

/* A ring of 1 << log2_n slots, all zero. */
isthmus_status ist_requests_init(struct ist_requests *requests, uint32_t log2_n);
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

/* Returns true if a kernel has a ticket whose request was not taken so far. For the thread that reads. */
bool ist_requests_are_coming(const struct ist_requests *requests);

#endif

/* plugins/ib/ib_short.h: what the two files of our own short messages share: ib_short.c has puts and commits, ib_short_amo.c atomics.
 * All of it under the worker's lock. */
#ifndef ISTHMUS_IB_SHORT_H
#define ISTHMUS_IB_SHORT_H

#include "plugins/ib/ib.h"

/* UCX's numbers of kinds of messages; ib_ask.h has others. */
enum ib_message_kind {
    IB_MESSAGE_PUT = 3,
    IB_MESSAGE_CALL = 4,
    IB_MESSAGE_PUT_AND_CALL = 5,
    IB_MESSAGE_HERE = 6,
    IB_MESSAGE_ATOMIC = 7,
    IB_MESSAGE_FETCHING = 8,
    IB_MESSAGE_FETCHED = 9,
    IB_MESSAGE_REFUSED = 10
};

/* What stands in a message that is answered, and comes back. */
struct ib_ticket {
    uint32_t number, turn; /* of what waits there: an end, or an atomic; and how often there was one of that number */
};

struct ib_message {
    struct ib_message *next;
    struct ib_worker *worker; /* while it is sent */
    const char *begin;        /* of what is sent */
    size_t length_bytes;      /* thereof */
    bool is_extra;            /* beyond the worker's own */
    _Alignas(8) struct ib_ticket ticket;
    uint64_t address; /* or the value that was fetched; what is sent may begin or end before it */
    char data[IB_SHORT_BYTES];
};

struct ib_message *ib_message_get(struct ib_worker *worker);       /* NULL: too many are on their way */
struct ib_message *ib_message_get_extra(struct ib_worker *worker); /* takes memory then; NULL: there is none */
ucs_status_t ib_message_send(struct ib_worker *worker, ucp_ep_h ep, enum ib_message_kind kind,
                             struct ib_message *message, size_t data_bytes); /* gives it back */
void ib_message_answer(struct ib_worker *worker, ucp_ep_h reply_ep, enum ib_message_kind kind,
                       struct ib_message *message); /* likewise; whoever is lost needs none */

/* Whole, and not at its sender. */
bool ib_message_is_here(const ucp_am_recv_param_t *param, size_t header_bytes);

/* May peers write there? */
bool ib_short_is_exposed(isthmus_tr *tr, uint64_t address, size_t length_bytes);

/* ib_short_amo.c: part of a worker's shorts. */
isthmus_status ib_short_amos_open(struct ib_worker *worker);

#endif

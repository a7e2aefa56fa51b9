/* plugins/ib/am/am_priv.h: shared by the files of the plugin's own short messages: am_put.c has puts and commits,
 * am_amo.c atomics, am_signal_recv.c puts with a signal. All of it under the worker's lock. */
#ifndef ISTHMUS_IB_SHORT_H
#define ISTHMUS_IB_SHORT_H

#include "plugins/ib/ib.h"

/* UCX's numbers of kinds of messages; am_device.h has others. */
enum ib_message_kind {
    IB_MESSAGE_PUT = 3,
    IB_MESSAGE_CALL = 4,
    IB_MESSAGE_PUT_AND_CALL = 5,
    IB_MESSAGE_HERE = 6,
    IB_MESSAGE_ATOMIC = 7,
    IB_MESSAGE_FETCHING = 8,
    IB_MESSAGE_FETCHED = 9,
    IB_MESSAGE_REFUSED = 10,
    IB_MESSAGE_SIGNAL = 11,
    IB_MESSAGE_SIGNAL_AND_CALL = 12,
    IB_MESSAGE_SIGNAL_FETCHING = 13, /* nothing; but it is answered as an atomic that fetches */
    IB_MESSAGE_LINK = 14,            /* rc_amo.c */
    IB_MESSAGE_LINKED = 15
};

/* What identifies a message in its reply. */
struct ib_ticket {
    uint32_t number, turn; /* of the waiting end or atomic; and how often its number was used */
};

/* The update that stands in a message before the data of its put. */
struct ib_signal {
    uint64_t address, value;
    uint32_t op, reserved; /* ISTHMUS_AMO_SET or ISTHMUS_AMO_ADD */
};

struct ib_message {
    struct ib_message *next;
    struct ib_worker *worker; /* while it is sent */
    const char *begin;        /* of the bytes to send */
    size_t length_bytes;      /* thereof */
    bool is_extra;            /* beyond the worker's own */
    _Alignas(8) struct ib_ticket ticket;
    uint64_t address; /* or the fetched value; the bytes to send may begin or end before it */
    char data[sizeof(struct ib_signal) + IB_SHORT_BYTES];
};

struct ib_message *ib_message_get(struct ib_worker *worker);       /* NULL: too many are on their way */
struct ib_message *ib_message_get_extra(struct ib_worker *worker); /* takes memory then; NULL: there is none */
ucs_status_t ib_message_send(struct ib_worker *worker, ucp_ep_h ep, enum ib_message_kind kind,
                             struct ib_message *message, size_t data_bytes); /* gives it back */
void ib_message_answer(struct ib_worker *worker, ucp_ep_h reply_ep, enum ib_message_kind kind,
                       struct ib_message *message, size_t data_bytes); /* likewise; a lost peer needs none */

/* Whole, and not at its sender. */
bool ib_message_is_here(const ucp_am_recv_param_t *param, size_t header_bytes);

/* Returns true if peers may write there. */
bool ib_short_is_exposed(isthmus_tr *tr, uint64_t address, size_t length_bytes);

/* Writes the data of a peer's put: after that of earlier messages, and an aligned word by one store. */
void ib_short_write(uint64_t address, const void *data, size_t length_bytes);

/* Makes this message carry a call; no call of this end is under way. And the receiver's reply to a call. */
void ib_short_add_call(struct ib_end *end, struct ib_message *message);
void ib_short_answer(struct ib_worker *worker, const struct ib_ticket *ticket, const ucp_am_recv_param_t *param);

/* am_amo.c: a message whose answer is waited for, and its sending. */
struct ib_waiting_for {
    struct ib_batch *batch, *also; /* as in ib_short_fetch() */
    void *fetched;
    uint32_t size_bytes; /* of that */
};
struct ib_message *ib_message_get_answered(struct ib_end *end, const struct ib_waiting_for *what); /* NULL: no room */
void ib_message_send_answered(struct ib_end *end, enum ib_message_kind kind, struct ib_message *message,
                              size_t data_bytes);

/* am_signal_recv.c. Copies the data of a put and its signal into a message that is sent next, and returns the
 * number of bytes behind its address. `length_bytes` 0: the signal only. */
size_t ib_message_fill_signal(struct ib_message *message, uint64_t address, const struct ib_signal *signal,
                              const void *bytes, size_t length_bytes);

/* Part of the shorts of the worker whose address peers know. */
isthmus_status ib_signals_listen(struct ib_worker *worker);

/* am_amo.c: part of a worker's shorts. */
isthmus_status ib_short_amos_open(struct ib_worker *worker);

#endif

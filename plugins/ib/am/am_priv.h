/* plugins/ib/am/am_priv.h: what the files of this folder share, and rc/rc_amo.c, which exchanges queue pairs by
 * messages: the messages themselves, and bounce buffers for memory of devices. Under the worker's lock. A receiver
 * trusts nothing in a message. Builds for different processors do not communicate (ib_frame.h), so a message has the
 * layout of its struct. */
#ifndef ISTHMUS_IB_AM_PRIV_H
#define ISTHMUS_IB_AM_PRIV_H

#include "plugins/ib/am/am.h"

/* The id of an active message, by which UCX finds the receiver's handler. */
enum ib_am_id {
    IB_AM_DEVICE_REQUEST = 1,
    IB_AM_DEVICE_REPLY = 2,
    IB_AM_PUT = 3,
    IB_AM_FLUSH = 4,
    IB_AM_PUT_FLUSH = 5,
    IB_AM_FLUSH_REPLY = 6,
    IB_AM_POST = 7,
    IB_AM_FETCH = 8,
    IB_AM_FETCH_REPLY = 9,
    IB_AM_REFUSAL = 10, /* the other reply to a fetch */
    IB_AM_SIGNAL = 11,
    IB_AM_SIGNAL_FLUSH = 12,
    IB_AM_SIGNAL_FETCH = 13, /* fetches nothing, but has the reply of a fetch */
    IB_AM_QP_REQUEST = 14,
    IB_AM_QP_REPLY = 15,
    IB_AM_PUTS = 16
};

/* ---- messages of up to a packet or so: am_message.c ---- */

/* Identifies a request in its reply. */
struct ib_am_request_id {
    uint32_t index;    /* of the waiting endpoint or fetch */
    uint32_t sequence; /* of its uses: a late reply to an earlier one finds no request */
};

/* The update in a message with a signal; the data of the put follows. */
struct ib_am_signal {
    uint64_t address, value;
    uint32_t op, reserved; /* ISTHMUS_AMO_SET or ISTHMUS_AMO_ADD */
};

struct ib_am_message {
    struct ib_am_message *next;
    struct ib_worker *worker; /* while it is sent */
    struct ib_batch *batch;   /* of a signal whose value, in `address`, an adapter writes */
    const char *begin;        /* of the bytes to send */
    size_t length_bytes;      /* of these bytes */
    bool is_allocated;        /* beyond the worker's pool */
    _Alignas(8) struct ib_am_request_id request;
    uint64_t address; /* or the fetched value; the bytes to send may begin behind the request id, or end before it */
    char data[sizeof(struct ib_am_signal) + IB_AM_DATA_BYTES];
};

struct ib_am_message *ib_am_message_get(struct ib_worker *worker);   /* NULL: all of the pool are being sent */
struct ib_am_message *ib_am_message_alloc(struct ib_worker *worker); /* allocates one then; NULL: no memory */
void ib_am_message_release(struct ib_am_message *message);           /* of its worker */
ucs_status_t ib_am_send(struct ib_worker *worker, ucp_ep_h ucp_ep, enum ib_am_id id, struct ib_am_message *message,
                        size_t data_bytes); /* releases it */
void ib_am_reply(struct ib_worker *worker, ucp_ep_h reply_ep, enum ib_am_id id, struct ib_am_message *message,
                 size_t data_bytes); /* likewise; a lost peer needs no reply */

/* Returns true if the whole message has arrived with its callback. */
bool ib_am_is_eager(const ucp_am_recv_param_t *param, size_t header_bytes);

/* Returns true if messages of peers may write there. */
bool ib_am_is_exposed(isthmus_tr *tr, uint64_t address, size_t length_bytes);

/* Writes the data of a peer's put: after the data of earlier messages, and an aligned word by one store. */
void ib_am_write(uint64_t address, const void *data, size_t length_bytes);

/* am_put.c: makes a message carry a flush request; no flush of this endpoint is under way. And the receiver's reply. */
void ib_am_add_flush(struct ib_ep *ep, struct ib_am_message *message);
void ib_am_reply_to_flush(struct ib_worker *worker, const struct ib_am_request_id *request,
                          const ucp_am_recv_param_t *param);
isthmus_status ib_am_puts_listen(struct ib_worker *worker);

/* Executes a peer's put: an address, and the data for it. Not exposed memory is a line in the log. */
void ib_am_execute_put(const struct ib_worker *worker, const char *put, size_t put_bytes);

/* am_gather.c */
isthmus_status ib_am_gather_listen(struct ib_worker *worker);

/* am_amo.c: a message that has the reply of a fetch. */
struct ib_am_fetch_into {
    struct ib_batch *batch, *also; /* as in ib_am_fetch() */
    void *fetched;
    uint32_t size_bytes; /* of that */
};
struct ib_am_message *ib_am_request_get(struct ib_ep *ep, const struct ib_am_fetch_into *into); /* NULL: no room */
void ib_am_request_send(struct ib_ep *ep, enum ib_am_id id, struct ib_am_message *message, size_t data_bytes);
isthmus_status ib_am_amos_open(struct ib_worker *worker);

/* am_signal.c */
isthmus_status ib_am_signals_listen(struct ib_worker *worker);

/* ---- requests about memory of devices, and their replies: UCX's header of the message. A put's data, and the data
 * that a get returns, follow it. am_device.c sends requests, am_stage.c replies ---- */

enum {
    IB_DEVICE_PUT = 1,
    IB_DEVICE_GET = 2,
    IB_DEVICE_AMO = 3,
    IB_DEVICE_POST = 4          /* an AMO whose sender fetches nothing */
};                              /* opcodes; a put or get is of a bounce buffer at most */
enum { IB_REASON_BYTES = 200 }; /* the longest text of a refusal */

struct ib_device_request {
    uint32_t id; /* returned in the reply */
    uint32_t opcode, kind, length_bytes;
    uint64_t address;
    uint32_t op, bits; /* from here on of an AMO or a POST */
    uint64_t operand, compare;
};

struct ib_device_reply {
    uint32_t id;
    int32_t status;   /* not OK: the reason follows */
    uint64_t fetched; /* by an AMO */
};

/* ---- bounce buffers (am_stage.c): host memory, pinned for a device, in which data lies while UCX moves it ---- */

enum { IB_N_BOUNCE_BUFFERS = 4, IB_BOUNCE_BYTES = 256 << 10 };

struct ib_bounce_pool {
    char *memory;
    uint32_t free; /* bits */
    uint32_t pinned_kind;
    isthmus_lmem *pinned;
};

/* For memory of this kind; nothing to do where the pool is open. In cold slots only, as all pinning; for host memory,
 * which needs none, in any. */
isthmus_status ib_bounce_pool_open(const struct isthmus_services *s, struct ib_bounce_pool *pool, uint32_t kind);

/* The transport that has pinned the pool may be closed before this one. The pool can be opened, and so pinned,
 * again. */
void ib_bounce_pool_unpin(const struct isthmus_services *s, struct ib_bounce_pool *pool);
void ib_bounce_pool_close(struct ib_bounce_pool *pool); /* once it is unpinned */

static inline int32_t ib_bounce_pool_get(struct ib_bounce_pool *pool) /* -1: none is free */
{
    if (pool->free == 0) return -1;
    int32_t buffer = __builtin_ctz(pool->free);
    pool->free &= pool->free - 1;
    return buffer;
}

static inline void ib_bounce_pool_put(struct ib_bounce_pool *pool, int32_t buffer) { pool->free |= 1u << buffer; }

static inline char *ib_bounce_buffer(const struct ib_bounce_pool *pool, int32_t buffer)
{
    return pool->memory + (size_t)buffer * (size_t)IB_BOUNCE_BYTES;
}

/* ---- local operands on a device (am_operand.c) ---- */

struct ib_operand {
    char *addr;
    uint32_t kind;
    size_t length_bytes;
};

/* am_device.c: a put or get between such an operand and memory that the peer stages. Takes the lock itself. */
isthmus_status ib_device_put_operand(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, const struct ib_operand *local, bool is_nbi);
isthmus_status ib_device_get_operand(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, const struct ib_operand *local, bool is_nbi);

/* A part of an operand, in a bounce buffer. */
struct ib_bounce {
    struct ib_worker *worker;
    struct ib_batch *batch; /* counts it, where UCX's own put or get moves it */
    char *device;
    uint32_t kind, length_bytes;
    int32_t buffer;
    bool is_get;
};

/* Waits for a free buffer, and copies the data of a put there. The worker's lock is released meanwhile, so that other
 * threads make progress. `what`: device, kind, length_bytes, is_get. */
isthmus_status ib_bounce_begin(struct ib_worker *worker, const struct ib_bounce *what, struct ib_bounce **out);
char *ib_bounce_bytes(const struct ib_bounce *bounce);
bool ib_bounce_is_free(const struct ib_worker *worker); /* `begin` waits for no buffer */

/* The buffers of this worker, for operands of this kind. */
isthmus_status ib_bounces_open(struct ib_worker *worker, uint32_t kind);

/* Moves an operand by UCX's own puts or gets, each of which counts in the batch. `part`: batch, device, kind, is_get.
 * Waits for buffers; meanwhile the peer may be lost. With IB_NO_WAIT, AGAIN: none was free for the first part. */
isthmus_status ib_bounce_parts(const struct ib_target *at, struct ib_bounce part, size_t length_bytes,
                               enum ib_wait wait);

/* Once UCX has moved the data, with this status: copies the data of a get to the device. Returns the status of both. */
ucs_status_t ib_bounce_end(struct ib_bounce *bounce, ucs_status_t status);

#endif

/* plugins/ib/am/am.h: the plugin's own active messages, for its other files: short puts and flushes where UCX would
 * make messages of them anyway, atomics and puts with signal that the target's processor executes, and requests about
 * memory of devices. Under the worker's lock unless stated. */
#ifndef ISTHMUS_IB_AM_H
#define ISTHMUS_IB_AM_H

#include "plugins/ib/ib.h"

/* am_message.c: the messages of a worker. */
enum { IB_AM_DATA_BYTES = 1024 };
isthmus_status ib_am_open(struct ib_worker *worker);
void ib_am_close(struct ib_worker *worker); /* after UCX's worker */
isthmus_status ib_am_listen(struct ib_worker *worker, unsigned id, ucp_am_recv_callback_t callback);
isthmus_status ib_ep_add_id(struct ib_ep *ep);

/* Host memory that messages of peers may write. Without the lock; `hide` takes memory that is not exposed, too. */
void ib_am_expose(isthmus_lmem *lmem);
void ib_am_hide(isthmus_lmem *lmem);

/* am_put.c: puts and flushes of endpoints with a single AM lane. */
struct ib_am_data {
    const void *bytes;
    size_t length_bytes;
    bool flushes;   /* the message carries a flush request, since a flush is likely to follow */
    bool is_notify; /* no flush of all endpoints waits for it */
};

/* Returns false if no message is free; UCX's own put or flush does it then. The data is copied. A failure goes into the
 * batch. */
bool ib_am_put(struct ib_ep *ep, uint64_t address, const struct ib_am_data *data, struct ib_batch *batch);
bool ib_am_flush(struct ib_ep *ep); /* counts in ep->flush until the peer has executed all messages sent before */
void ib_am_flush_done(struct ib_ep *ep, ucs_status_t status); /* or failed; takes an endpoint without a flush request */

/* am_gather.c: puts that wait for others to share a message with them. */
isthmus_status ib_put_more(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                           const void *source, const isthmus_lmem *source_mem, size_t length_bytes); /* the slots; */
isthmus_status ib_post(isthmus_chan *chan);      /* they take the lock themselves */
void ib_am_send_gathered_slow(struct ib_ep *ep); /* a failure is reported by the next flush */
void ib_am_drop_gathered(struct ib_ep *ep);      /* the endpoint is about to close */
static inline void ib_am_send_gathered(struct ib_ep *ep)
{
    if (ep->gathered != NULL) ib_am_send_gathered_slow(ep);
}

/* am_amo.c: atomics that the peer's processor executes. Returns false if there is no room: wait until worker->room is
 * not pending. A fetch counts until its reply: in `batch`, which gets its failure, and, unless NULL, in `also`.
 * `fetched` may be NULL. A post has no reply: it takes an endpoint with a single AM lane, and is complete with the next
 * flush. */
struct ib_amo {
    uint32_t op, size_bytes;
    uint64_t operand, compare;
};
bool ib_am_fetch(struct ib_ep *ep, uint64_t address, const struct ib_amo *amo, void *fetched, struct ib_batch *batch,
                 struct ib_batch *also);
bool ib_am_post(struct ib_ep *ep, uint64_t address, const struct ib_amo *amo, struct ib_batch *batch);
void ib_am_fetches_fail(struct ib_worker *worker, const struct ib_ep *ep); /* the peer is lost */

/* am_signal.c: the slot. After UNSUPPORTED nothing was done. Takes the lock itself. */
isthmus_status ib_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what);

/* am_device.c: operations on memory of devices that UCX's own do not reach: memory of the calling PE, memory that the
 * peer stages, and all atomics. They take the lock themselves. */
isthmus_status ib_device_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const void *source, size_t length_bytes, bool is_nbi);
isthmus_status ib_device_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             void *dest, size_t length_bytes, bool is_nbi);
isthmus_status ib_device_amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const struct ib_amo *amo, void *fetched, uint32_t flags);
isthmus_status ib_device_listen(struct ib_worker *worker);                      /* for replies */
void ib_device_requests_fail(struct ib_worker *worker, const struct ib_ep *ep); /* the peer is lost. Under the lock */

/* am_copied.c: puts from host memory that UCX cannot register; they count in the batch, which gets their failure. The
 * lock is released meanwhile. With IB_NO_WAIT, AGAIN: nothing was started; a put of more than all buffers waits. */
bool ib_is_copied_slow(const struct ib_worker *worker, const void *source, size_t length_bytes);
static inline bool ib_is_copied(const struct ib_worker *worker, const void *source, size_t length_bytes)
{
    return worker->copied != NULL && ib_is_copied_slow(worker, source, length_bytes); /* earlier puts have failed */
}
/* UCX cannot register the source, which ib_is_copied() knows from now on. Returns false if it is not mapped for
 * reading: the batch has the failure. */
bool ib_may_be_copied(struct ib_worker *worker, const void *source, size_t length_bytes, struct ib_batch *batch);
isthmus_status ib_put_copied(const struct ib_target *at, const void *source, size_t length_bytes,
                             struct ib_batch *batch, enum ib_wait wait);
isthmus_status ib_put_again(const struct ib_target *at, const void *source, size_t length_bytes, struct ib_batch *batch,
                            enum ib_wait wait); /* if it may be */

/* am_operand.c: local operands on devices. Without the lock. */
void ib_operand_slots(struct isthmus_data_ops *slots);          /* sets slots that check for such operands */
isthmus_status ib_operands_open(struct ib_worker *worker);      /* before a channel uses the worker */
isthmus_status ib_operands_add(isthmus_lmem *lmem);             /* such memory was registered */
isthmus_status ib_operands_hold(isthmus_tr *tr, uint32_t kind); /* likewise, for memory that a peer stages */
void ib_operands_release(isthmus_tr *tr);                       /* either of the two */
void ib_operands_close(struct ib_worker *worker);

/* am_stage.c: serves peers' requests about memory of this PE's devices. Without the lock. */
isthmus_status ib_stage_open(isthmus_tr *tr);    /* before UCX starts: creates a stage if this job needs one */
isthmus_status ib_stage_listen(isthmus_tr *tr);  /* for requests to worker 0 */
void ib_stage_close(isthmus_tr *tr);             /* before the workers are destroyed; takes any state */
isthmus_status ib_stage_add(isthmus_lmem *lmem); /* peers may request this memory from now on */
void ib_stage_remove(isthmus_lmem *lmem);
void ib_stage_execute_posts(isthmus_tr *tr); /* those in n_posts of worker 0. Under its lock */

#endif

/* plugins/ib/ib_data.c: channels, puts and gets, and order across fences. Atomics are in ib_amo.c.
 * Operations on memory of the calling PE are loads and stores: UCX never connects a PE to itself. */
#include "plugins/ib/am/am.h"

#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>
#include <stdlib.h>
#include <string.h>

/* Nonblocking puts and gets between two calls of progress: a send queue holds hundreds, and only progress empties
 * it. */
enum { PROGRESS_EVERY = 32 };

isthmus_status ib_target_find_slow(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                   enum ib_op_class class, enum ib_wait wait, struct ib_target *out)
{
    isthmus_status status = ib_ep_get(chan->worker, path, &out->ep);
    if (status == ISTHMUS_OK) status = ib_rkey_get(out->ep, chan->worker->index, remote, &out->rkey);
    if (status != ISTHMUS_OK) return status;
    ib_ep_probe(out->ep, out->rkey, remote->address);
    return ib_ep_order(out->ep, class, wait);
}

/* ---- puts and gets ---- */

enum direction { PUT, NOTIFY, GET }; /* NOTIFY: a put after a fence, for which no flush of all endpoints waits */

/* The local buffer of a transfer, and the registration that holds it, if there is one. */
struct local_buffer {
    void *addr;
    const isthmus_lmem *mem;
    size_t length_bytes;
};

/* Returns true if UCX may have failed to register the local operand. */
static bool may_be_operand(ucs_status_t status) { return ib_ucp_code(status) != ISTHMUS_ERR_PEER_LOST; }

IB_INLINE isthmus_status start_rma(const struct ib_target *at, enum direction direction,
                                   const struct local_buffer *local, struct ib_batch *batch, enum ib_wait wait)
{
    ucp_request_param_t params;
    bool is_registered = local->mem != NULL && local->mem->operand != NULL;
    ib_request_params(&params, batch);
    if (is_registered) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        params.memh = local->mem->operand;
    } else if (direction == PUT && local->length_bytes > IB_SHORT_PUT_BYTES &&
               ib_is_copied(at->ep->worker, local->addr, local->length_bytes)) {
        return ib_put_copied(at, local->addr, local->length_bytes, batch, wait);
    }
    if (direction != GET) ib_record_put(at, local->length_bytes, direction == PUT);
    ucs_status_ptr_t request = direction != GET ? ib_ucp.ucp_put_nbx(at->ep->ucp, local->addr, local->length_bytes,
                                                                     at->address, at->rkey, &params)
                                                : ib_ucp.ucp_get_nbx(at->ep->ucp, local->addr, local->length_bytes,
                                                                     at->address, at->rkey, &params);
    if (direction == PUT && !is_registered && UCS_PTR_IS_ERR(request) && may_be_operand(UCS_PTR_STATUS(request)))
        return ib_put_again(at, local->addr, local->length_bytes, batch, wait);
    ib_batch_add(request, batch);
    return ISTHMUS_OK;
}

/* With IB_NO_WAIT, AGAIN: nothing was started. */
IB_INLINE isthmus_status start(const struct ib_target *at, enum direction direction, const struct local_buffer *local,
                               struct ib_batch *batch, enum ib_wait wait)
{
    if (direction != GET && at->is_by_am && local->length_bytes <= IB_AM_DATA_BYTES) {
        const struct ib_am_data data = {local->addr, local->length_bytes, direction == PUT && wait == IB_WAIT,
                                        direction == NOTIFY};
        if (ib_am_put(at->ep, at->address, &data, batch)) return ISTHMUS_OK;
    }
    return start_rma(at, direction, local, batch, wait);
}

isthmus_status ib_put_by_ucx(const struct ib_target *at, const void *source, const isthmus_lmem *source_mem,
                             size_t length_bytes, struct ib_batch *batch, enum ib_wait wait)
{
    const struct local_buffer local = {(void *)(uintptr_t)source, source_mem, length_bytes};
    return start_rma(at, PUT, &local, batch, wait);
}

IB_INLINE enum ib_op_class class_of(enum direction direction, const struct local_buffer *local)
{
    return direction == GET ? IB_OP_RMA : ib_class_of_put(local->length_bytes);
}

static void wait_for_remote(const isthmus_chan *chan)
{
    for (int i = 0; i < 2; i++) (void)ib_worker_wait(chan->worker, &chan->halves[i].remote, IB_FOR_EVER);
}

/* UCX has fences of whole workers only. They order what one lane carries, but neither active messages nor several
 * lanes: the first operation that could overtake in spite of the fence waits or flushes (ib_ep_order()). Requests about
 * memory of devices are waited for here. Under the worker's lock. */
static isthmus_status fence(isthmus_chan *chan)
{
    struct ib_worker *worker = chan->worker;
    const struct isthmus_services *s = worker->tr->services;
    worker->n_fences++;
    if (worker->device_requests != NULL) wait_for_remote(chan);
    ucs_status_t fenced = ib_ucp.ucp_worker_fence(worker->ucp);
    if (fenced == UCS_OK) return ISTHMUS_OK;
    return s->fail(s->core, ib_ucp_code(fenced), "ucp_worker_fence: %s", ib_ucp.ucs_status_string(fenced));
}

/* Inlined into each slot, where the direction is known: after a wait in the kernel every return and every branch
 * costs. */
IB_INLINE isthmus_status transfer(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, enum direction direction, const struct local_buffer *local)
{
    struct ib_target at;
    struct ib_batch batch = {0};
    ib_worker_lock(chan->worker);
    isthmus_status status = direction == NOTIFY ? fence(chan) : ISTHMUS_OK;
    if (status == ISTHMUS_OK)
        status = ib_target_find(chan, path, remote, offset_bytes, class_of(direction, local), IB_WAIT, &at);
    if (status == ISTHMUS_OK) {
        (void)start(&at, direction, local, &batch, IB_WAIT);
        (void)ib_worker_wait(chan->worker, &batch, IB_FOR_EVER);
        if (batch.failure != UCS_OK) status = ib_ep_fail(at.ep, batch.failure);
    }
    ib_worker_unlock(chan->worker);
    return status;
}

IB_INLINE isthmus_status transfer_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                      uint64_t offset_bytes, enum direction direction, const struct local_buffer *local)
{
    struct ib_target at;
    struct ib_worker *worker = chan->worker;
    ib_worker_lock(worker);
    isthmus_status status = ISTHMUS_ERR_AGAIN;
    if (ib_has_room(chan))
        status = ib_target_find(chan, path, remote, offset_bytes, class_of(direction, local), IB_NO_WAIT, &at);
    if (status == ISTHMUS_OK) {
        status = start(&at, direction, local, chan->local, IB_NO_WAIT);
        /* Puts that UCX sends at once are never pending, and fill the send queue all the same. Messages over TCP need
         * no such progress. */
        if (at.ep->lanes != IB_LANE_AM && ++chan->n_unpolled % PROGRESS_EVERY == 0 && !worker->has_leader)
            (void)ib_worker_progress(worker);
    }
    ib_worker_unlock(worker);
    return status;
}

/* Host memory of the calling PE is loaded and stored; memory of a device may need a request to its PE. */
static isthmus_status put_unusual(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, const struct local_buffer *local, bool is_nbi)
{
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_put(chan, path, remote, offset_bytes, local->addr, local->length_bytes, is_nbi);
    isthmus_copy_cpu(remote->own + offset_bytes, local->addr, local->length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status get_unusual(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, const struct local_buffer *local, bool is_nbi)
{
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_get(chan, path, remote, offset_bytes, local->addr, local->length_bytes, is_nbi);
    isthmus_copy_cpu(local->addr, remote->own + offset_bytes, local->length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status ib_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                             uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                             size_t length_bytes)
{
    const struct local_buffer local = {(void *)(uintptr_t)source, source_mem, length_bytes};
    if (remote->is_rma) return transfer(chan, path, remote, remote_offset_bytes, PUT, &local);
    return put_unusual(chan, path, remote, remote_offset_bytes, &local, false);
}

static isthmus_status ib_put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                                 size_t length_bytes)
{
    const struct local_buffer local = {(void *)(uintptr_t)source, source_mem, length_bytes};
    if (remote->is_rma) return transfer_nbi(chan, path, remote, remote_offset_bytes, PUT, &local);
    return put_unusual(chan, path, remote, remote_offset_bytes, &local, true);
}

static isthmus_status ib_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                             uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                             size_t length_bytes)
{
    const struct local_buffer local = {dest, dest_mem, length_bytes};
    if (remote->is_rma) return transfer(chan, path, remote, remote_offset_bytes, GET, &local);
    return get_unusual(chan, path, remote, remote_offset_bytes, &local, false);
}

static isthmus_status ib_get_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                                 size_t length_bytes)
{
    const struct local_buffer local = {dest, dest_mem, length_bytes};
    if (remote->is_rma) return transfer_nbi(chan, path, remote, remote_offset_bytes, GET, &local);
    return get_unusual(chan, path, remote, remote_offset_bytes, &local, true);
}

static isthmus_status ib_fence(isthmus_chan *chan, isthmus_path *path);

static isthmus_status ib_notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                uint64_t remote_offset_bytes, uint64_t value)
{
    const struct local_buffer local = {&value, NULL, sizeof value};
    if (remote->is_rma) return transfer(chan, path, remote, remote_offset_bytes, NOTIFY, &local);
    if (remote->kind != ISTHMUS_MEM_HOST) {
        isthmus_status status = ib_fence(chan, path);
        return status == ISTHMUS_OK ? put_unusual(chan, path, remote, remote_offset_bytes, &local, false) : status;
    }
    __atomic_store_n((uint64_t *)(void *)(remote->own + remote_offset_bytes), value, __ATOMIC_RELEASE);
    return ISTHMUS_OK;
}

/* ---- order ---- */

static isthmus_status ib_fence(isthmus_chan *chan, isthmus_path *path)
{
    (void)path;
    isthmus_order_stores_();
    ib_worker_lock(chan->worker);
    isthmus_status status = fence(chan);
    ib_worker_unlock(chan->worker);
    return status;
}

static isthmus_status ib_local_complete(isthmus_chan *chan, isthmus_path *path)
{
    (void)path; /* operations are counted by channel: waiting for all of them is allowed */
    struct ib_worker *worker = chan->worker;
    if (ib_batch_is_done(&chan->halves[0].local) && ib_batch_is_done(&chan->halves[1].local)) return ISTHMUS_OK;
    ib_worker_lock(worker);
    isthmus_status status = ib_wait_local(chan);
    ib_worker_unlock(worker);
    return status;
}

/* ---- order across fences ---- */

/* Where writes arrive in any order, a put or a get behind a fence comes behind the puts before it by their flush only.
 * A message comes behind them anyway: its receiver learns of it in order. */
void ib_ep_set_lanes(struct ib_ep *ep, enum ib_lanes lanes, bool is_ordered)
{
    enum { SHORT_PUT = 1 << IB_OP_SHORT_PUT, RMA = 1 << IB_OP_RMA, RC_AMO = 1 << IB_OP_RC_AMO, AM = 1 << IB_OP_AM };
    enum { ALL = SHORT_PUT | RMA | RC_AMO | AM };
    static const uint8_t conflicts[][IB_OP_CLASSES] = {
        [IB_LANES_MANY] = {[IB_OP_SHORT_PUT] = ALL & ~SHORT_PUT,
                           [IB_OP_RMA] = ALL,
                           [IB_OP_RC_AMO] = ALL & ~RC_AMO,
                           [IB_OP_AM] = ALL & ~AM,
                           [IB_OP_DEVICE] = ALL},
        [IB_LANE_RDMA] = {[IB_OP_SHORT_PUT] = RC_AMO | AM,
                          [IB_OP_RMA] = RC_AMO | AM,
                          [IB_OP_RC_AMO] = ALL & ~RC_AMO,
                          [IB_OP_AM] = RC_AMO,
                          [IB_OP_DEVICE] = ALL},
        [IB_LANE_AM] = {[IB_OP_SHORT_PUT] = RC_AMO,
                        [IB_OP_RMA] = RC_AMO,
                        [IB_OP_RC_AMO] = ALL & ~RC_AMO,
                        [IB_OP_AM] = RC_AMO,
                        [IB_OP_DEVICE] = ALL},
    };
    ep->lanes = lanes;
    ep->is_ordered = is_ordered || lanes == IB_LANE_AM;
    for (size_t class = 0; class < IB_OP_CLASSES; class ++)
        ep->conflicts[class] = conflicts[lanes][class] | IB_GATHERING | IB_PROBING;
    if (ep->is_ordered) return;
    ep->conflicts[IB_OP_SHORT_PUT] |= SHORT_PUT | RMA;
    ep->conflicts[IB_OP_RMA] |= SHORT_PUT | RMA;
}

static bool are_replied(const struct ib_replies *replies) { return replies->n_replies >= replies->n_before; }

/* Takes note of the latest fence, and of the operations before it that are complete by now. */
static void note_fence(struct ib_ep *ep)
{
    enum { RC_AMO = 1 << IB_OP_RC_AMO, AM = 1 << IB_OP_AM };
    if (ep->n_fences != ep->worker->n_fences) {
        ep->n_fences = ep->worker->n_fences;
        ep->before |= ep->issued;
        ep->issued = 0;
        ep->n_before = ep->n_issued;
        ep->am_replies.n_before = ep->am_replies.n_requests;
        ep->rc_replies.n_before = ep->rc_replies.n_requests;
    }
    bool is_flushed = ep->n_flushed >= ep->n_before;
    if (is_flushed) ep->before &= RC_AMO | AM;
    if (are_replied(&ep->am_replies) && (is_flushed || ep->lanes != IB_LANE_AM)) ep->before &= (uint8_t)~AM;
    if (are_replied(&ep->rc_replies)) ep->before &= (uint8_t)~RC_AMO;
}

/* The peer replies to each kind of request in the order in which it was sent. */
static isthmus_status wait_for_replies(struct ib_ep *ep, struct ib_replies *replies)
{
    ib_batch_count(&replies->awaited, (uint32_t)(replies->n_before - replies->n_replies));
    (void)ib_worker_wait(ep->worker, &replies->awaited, IB_FOR_EVER);
    return ep->failure == UCS_OK ? ISTHMUS_OK : ib_ep_fail(ep, ep->failure);
}

/* Without a wait: replies come, and flushes end, by progress. */
static isthmus_status order_begin(struct ib_ep *ep, const struct ib_replies *missing)
{
    if (missing == NULL) return ib_flush_begin(ep);
    return ep->failure == UCS_OK ? ISTHMUS_ERR_AGAIN : ib_ep_fail(ep, ep->failure);
}

/* The first operation after a fence, or one that could overtake operations before it. Other threads may fence and issue
 * operations while this one waits. */
isthmus_status ib_ep_order_slow(struct ib_ep *ep, enum ib_op_class class, enum ib_wait wait)
{
    isthmus_status status = (ep->before & IB_PROBING) != 0 ? ib_ep_probe_end(ep, wait) : ISTHMUS_OK;
    while (status == ISTHMUS_OK) {
        ib_am_send_gathered(ep); /* first: note_fence() keeps no bit of it */
        note_fence(ep);
        uint8_t conflicts = ep->before & ep->conflicts[class];
        if (conflicts == 0) break;
        struct ib_replies *missing = NULL;
        if ((conflicts & 1u << IB_OP_RC_AMO) != 0)
            missing = &ep->rc_replies;
        else if (!are_replied(&ep->am_replies))
            missing = &ep->am_replies;
        if (wait == IB_NO_WAIT)
            status = order_begin(ep, missing);
        else
            status = missing != NULL ? wait_for_replies(ep, missing) : ib_flush_one(ep->worker, ep);
    }
    return status;
}

/* ---- channels ---- */

const struct isthmus_data_ops ib_data_slots = {
    .struct_size = sizeof ib_data_slots,
    .put = ib_put,
    .put_nbi = ib_put_nbi,
    .get = ib_get,
    .get_nbi = ib_get_nbi,
    .amo_entry = ib_amo_entry,
    .fence = ib_fence,
    .local_complete = ib_local_complete,
    .remote_commit = ib_remote_commit,
    .notify = ib_notify,
    .put_signal = ib_put_signal,
    .commit_start = ib_commit_start,
    .commit_test = ib_commit_test,
    .poll = ib_poll,
    .put_more = ib_put_more,
    .post = ib_post,
};

isthmus_status ib_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                               struct isthmus_data_ops *ops)
{
    bool is_proxy = (ctx_options & ISTHMUS_CHANNEL_PROXY) != 0 && thread_mode == ISTHMUS_THREAD_ONE;
    isthmus_chan *chan = calloc(1, sizeof *chan);
    if (chan == NULL) return tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a channel");
    chan->worker = is_proxy ? ib_worker_private(tr) : NULL;
    if (chan->worker == NULL)
        chan->worker = ib_worker_least_used(tr); /* with a lock: the progress thread needs it too */
    chan->local = &chan->halves[0].local;
    chan->remote = &chan->halves[0].remote;
    isthmus_status status = ib_operands_open(chan->worker);
    if (status != ISTHMUS_OK) {
        free(chan);
        return status;
    }
    struct isthmus_data_ops all = ib_data_slots;
    if (tr->stage != NULL) ib_operand_slots(&all);
    if (tr->adapter != NULL)
        all.put_signal = NULL; /* processors execute messages, and adapters are the home of atomics */
    isthmus_write_out(ops, &all, sizeof all);
    chan->worker->n_channels++;
    *out = chan;
    return ISTHMUS_OK;
}

/* The core has completed all operations, unless a peer is lost: then UCX has failed those under way, and calls back
 * during the next calls of progress. */
void ib_channel_close(isthmus_chan *chan)
{
    if (chan == NULL) return;
    ib_worker_lock(chan->worker);
    (void)ib_wait_local(chan);
    (void)ib_wait_remote(chan);
    ib_worker_unlock(chan->worker);
    chan->worker->n_channels--;
    free(chan->commit.flushes);
    free(chan);
}

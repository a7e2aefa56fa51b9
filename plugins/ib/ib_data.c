/* plugins/ib/ib_data.c: channels, puts and gets, and their order. Atomics are in ib_amo.c.
 * Operations on the own PE are loads and stores: UCX never connects to its own PE. */
#include "plugins/ib/ib.h"

#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>
#include <stdlib.h>
#include <string.h>

/* Nonblocking puts and gets: an adapter's queue holds hundreds, and UCX empties it in progress only. */
enum { PROGRESS_EVERY = 32 };

isthmus_status ib_place_find_slow(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  enum ib_class class, struct ib_place *out)
{
    isthmus_status status = ib_end_get(chan->worker, path, &out->end);
    if (status == ISTHMUS_OK) status = ib_key_get(out->end, chan->worker->index, remote, &out->key);
    if (status == ISTHMUS_OK) status = ib_end_prove(out->end, out->key, remote->address);
    return status == ISTHMUS_OK ? ib_end_order(out->end, class) : status;
}

/* ---- puts and gets ---- */

enum direction { PUT, NOTICE, GET }; /* NOTICE: a put behind all before, that no commit of all ends waits for */

/* The local buffer of a transfer, and the registration that holds it, if there is one. */
struct operand {
    void *addr;
    const isthmus_lmem *mem;
    size_t length_bytes;
};

IB_INLINE void start_by_ucx(const struct ib_place *at, enum direction direction, const struct operand *local,
                            struct ib_batch *batch)
{
    ucp_request_param_t params;
    ib_request_params(&params, batch);
    if (local->mem != NULL && local->mem->operand != NULL) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        params.memh = local->mem->operand;
    }
    if (direction != GET) ib_end_note(at->end, ib_class_of_put(local->length_bytes), direction == PUT);
    ib_post(direction != GET
                ? ib_ucp.ucp_put_nbx(at->end->ep, local->addr, local->length_bytes, at->address, at->key, &params)
                : ib_ucp.ucp_get_nbx(at->end->ep, local->addr, local->length_bytes, at->address, at->key, &params),
            batch);
}

IB_INLINE void start(const struct ib_place *at, enum direction direction, const struct operand *local,
                     struct ib_batch *batch, bool is_nbi)
{
    if (direction != GET && at->takes_short && local->length_bytes <= IB_SHORT_BYTES) {
        const struct ib_short data = {local->addr, local->length_bytes, direction == PUT && !is_nbi,
                                      direction == NOTICE};
        if (ib_short_put(at->end, at->address, &data, batch)) return;
    }
    start_by_ucx(at, direction, local, batch);
}

void ib_put_by_ucx(const struct ib_place *at, const void *source, const isthmus_lmem *source_mem, size_t length_bytes,
                   struct ib_batch *batch)
{
    const struct operand local = {(void *)(uintptr_t)source, source_mem, length_bytes};
    start_by_ucx(at, PUT, &local, batch);
}

IB_INLINE enum ib_class class_of(enum direction direction, const struct operand *local)
{
    return direction == GET ? IB_DATA : ib_class_of_put(local->length_bytes);
}

/* UCX has fences of whole workers only. They order what one lane carries, but not messages, nor several lanes: the
 * first operation that a later fence does not order by itself flushes its end (ib_end_order). Requests are waited for
 * here. Under the worker's lock. */
static isthmus_status fence(isthmus_chan *chan)
{
    struct ib_worker *worker = chan->worker;
    const struct isthmus_services *s = worker->tr->services;
    worker->n_fences++;
    if (worker->asks != NULL) (void)ib_worker_wait(worker, &chan->remote, IB_FOR_EVER);
    ucs_status_t fenced = ib_ucp.ucp_worker_fence(worker->ucp);
    if (fenced == UCS_OK) return ISTHMUS_OK;
    return s->fail(s->core, ib_ucp_code(fenced), "ucp_worker_fence: %s", ib_ucp.ucs_status_string(fenced));
}

/* Inlined into each slot, where the direction is known: after a wait in the kernel every return and every branch
 * costs. */
IB_INLINE isthmus_status transfer(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, enum direction direction, const struct operand *local)
{
    struct ib_place at;
    struct ib_batch batch = {0};
    ib_worker_lock(chan->worker);
    isthmus_status status = direction == NOTICE ? fence(chan) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = ib_place_find(chan, path, remote, offset_bytes, class_of(direction, local), &at);
    if (status == ISTHMUS_OK) {
        start(&at, direction, local, &batch, false);
        (void)ib_worker_wait(chan->worker, &batch, IB_FOR_EVER);
        if (batch.failure != UCS_OK) status = ib_end_fail(at.end, batch.failure);
    }
    ib_worker_unlock(chan->worker);
    return status;
}

IB_INLINE isthmus_status transfer_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                      uint64_t offset_bytes, enum direction direction, const struct operand *local)
{
    struct ib_place at;
    struct ib_worker *worker = chan->worker;
    ib_worker_lock(worker);
    isthmus_status status = ISTHMUS_ERR_AGAIN;
    if (ib_has_room(chan)) status = ib_place_find(chan, path, remote, offset_bytes, class_of(direction, local), &at);
    if (status == ISTHMUS_OK) {
        start(&at, direction, local, &chan->local, true);
        /* Puts that UCX sends at once are never pending, and fill that queue all the same. What is a message needs none
         * of this. */
        if (at.end->carriage != IB_LINE && ++chan->n_unserved % PROGRESS_EVERY == 0 && !worker->has_leader)
            (void)ib_worker_progress(worker);
    }
    ib_worker_unlock(worker);
    return status;
}

/* This PE's own host memory is loaded and stored; memory on a device needs more than UCX. */
static isthmus_status put_unusual(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, const struct operand *local, bool is_nbi)
{
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_put(chan, path, remote, offset_bytes, local->addr, local->length_bytes, is_nbi);
    isthmus_copy_cpu(remote->own + offset_bytes, local->addr, local->length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status get_unusual(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, const struct operand *local, bool is_nbi)
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
    const struct operand local = {(void *)(uintptr_t)source, source_mem, length_bytes};
    if (remote->is_plain) return transfer(chan, path, remote, remote_offset_bytes, PUT, &local);
    return put_unusual(chan, path, remote, remote_offset_bytes, &local, false);
}

static isthmus_status ib_put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                                 size_t length_bytes)
{
    const struct operand local = {(void *)(uintptr_t)source, source_mem, length_bytes};
    if (remote->is_plain) return transfer_nbi(chan, path, remote, remote_offset_bytes, PUT, &local);
    return put_unusual(chan, path, remote, remote_offset_bytes, &local, true);
}

static isthmus_status ib_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                             uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                             size_t length_bytes)
{
    const struct operand local = {dest, dest_mem, length_bytes};
    if (remote->is_plain) return transfer(chan, path, remote, remote_offset_bytes, GET, &local);
    return get_unusual(chan, path, remote, remote_offset_bytes, &local, false);
}

static isthmus_status ib_get_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                                 size_t length_bytes)
{
    const struct operand local = {dest, dest_mem, length_bytes};
    if (remote->is_plain) return transfer_nbi(chan, path, remote, remote_offset_bytes, GET, &local);
    return get_unusual(chan, path, remote, remote_offset_bytes, &local, true);
}

static isthmus_status ib_fence(isthmus_chan *chan, isthmus_path *path);

static isthmus_status ib_notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                uint64_t remote_offset_bytes, uint64_t value)
{
    const struct operand local = {&value, NULL, sizeof value};
    if (remote->is_plain) return transfer(chan, path, remote, remote_offset_bytes, NOTICE, &local);
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
    if (ib_batch_is_done(&chan->local)) return ISTHMUS_OK;
    ib_worker_lock(worker);
    (void)ib_worker_wait(worker, &chan->local, IB_FOR_EVER);
    isthmus_status status = ib_batch_fail(worker, &chan->local);
    ib_worker_unlock(worker);
    return status;
}

/* ---- commit: flushes of many ends at once ----
 * An end has one flush at a time, whichever channel began it. One that was under way before may not cover all that is
 * issued now, so it is waited for first; any that begins later does. */

/* Returns true if a commit has to wait for this end; a commit of this very end also waits for notices, and for
 * operations whose value the caller has waited for. */
static bool is_dirty(const struct ib_end *end) { return end->n_committed < end->n_wanted; }

static void want_all(struct ib_end *end) { end->n_wanted = end->n_issued; }

IB_INLINE isthmus_status flush_ended(struct ib_worker *worker, struct ib_end *end)
{
    (void)ib_worker_wait(worker, &end->flush, IB_FOR_EVER);
    if (end->failure != UCS_OK) return ib_end_fail(end, end->failure);
    if (end->flush.failure != UCS_OK) return ib_end_fail(end, end->flush.failure);
    if (end->n_committed < end->n_flushing) end->n_committed = end->n_flushing;
    return ISTHMUS_OK;
}

IB_INLINE void flush_start(struct ib_end *end)
{
    ucp_request_param_t params;
    if (!is_dirty(end) || end->flush.n_pending > 0 || end->failure != UCS_OK) return;
    end->n_flushing = end->n_issued;
    if (end->carriage == IB_LINE && ib_short_call(end)) return;
    ib_request_params(&params, &end->flush);
    ib_post(ib_ucp.ucp_ep_flush_nbx(end->ep, &params), &end->flush);
}

static isthmus_status commit_one(struct ib_worker *worker, struct ib_end *end)
{
    if (end->flush.n_pending > 0) (void)ib_worker_wait(worker, &end->flush, IB_FOR_EVER);
    flush_start(end);
    return is_dirty(end) ? flush_ended(worker, end) : ISTHMUS_OK;
}

/* Removes ends that are no longer dirty; a lost one stays, because each commit returns its failure. */
static void sweep(struct ib_worker *worker)
{
    for (struct ib_end **link = &worker->dirty; *link != NULL;) {
        struct ib_end *end = *link;
        if (is_dirty(end)) {
            link = &end->next_dirty;
            continue;
        }
        end->is_dirty = false;
        *link = end->next_dirty;
    }
}

/* Meanwhile ends are only added to the list, in front. Returns the first failure; the rest is flushed too. */
static isthmus_status commit_all(struct ib_worker *worker)
{
    isthmus_status status = ISTHMUS_OK;
    worker->n_commits++;
    for (struct ib_end *end = worker->dirty; end != NULL; end = end->next_dirty)
        if (end->flush.n_pending > 0) (void)ib_worker_wait(worker, &end->flush, IB_FOR_EVER);
    for (struct ib_end *end = worker->dirty; end != NULL; end = end->next_dirty) flush_start(end);
    for (struct ib_end *end = worker->dirty; end != NULL; end = end->next_dirty) {
        isthmus_status ended = is_dirty(end) ? flush_ended(worker, end) : ISTHMUS_OK;
        if (status == ISTHMUS_OK) status = ended;
    }
    if (--worker->n_commits == 0) sweep(worker);
    return status;
}

isthmus_status ib_commit(struct ib_worker *worker, struct ib_end *only)
{
    return only != NULL ? commit_one(worker, only) : commit_all(worker);
}

/* ---- order across fences ---- */

void ib_end_carries(struct ib_end *end, enum ib_carriage carriage)
{
    enum { WORD = 1 << IB_WORD, DATA = 1 << IB_DATA, ATOMIC = 1 << IB_ATOMIC, MESSAGE = 1 << IB_MESSAGE };
    enum { ALL = WORD | DATA | ATOMIC | MESSAGE };
    static const uint8_t conflicts[][IB_CLASSES] = {
        [IB_LANES] = {[IB_WORD] = ALL & ~WORD,
                      [IB_DATA] = ALL,
                      [IB_ATOMIC] = ALL & ~ATOMIC,
                      [IB_MESSAGE] = ALL & ~MESSAGE,
                      [IB_REQUEST] = ALL},
        [IB_LANE] = {[IB_WORD] = ATOMIC | MESSAGE,
                     [IB_DATA] = ATOMIC | MESSAGE,
                     [IB_ATOMIC] = ALL & ~ATOMIC,
                     [IB_MESSAGE] = ATOMIC,
                     [IB_REQUEST] = ALL},
        [IB_LINE] = {[IB_WORD] = ATOMIC,
                     [IB_DATA] = ATOMIC,
                     [IB_ATOMIC] = ALL & ~ATOMIC,
                     [IB_MESSAGE] = ATOMIC,
                     [IB_REQUEST] = ALL},
    };
    end->carriage = carriage;
    memcpy(end->conflicts, conflicts[carriage], sizeof end->conflicts);
}

static bool are_answered(const struct ib_answers *answers) { return answers->n_answered >= answers->n_before; }

/* What a fence stands behind now. */
static void note_fences(struct ib_end *end)
{
    enum { ATOMIC = 1 << IB_ATOMIC, MESSAGE = 1 << IB_MESSAGE };
    if (end->n_fences != end->worker->n_fences) {
        end->n_fences = end->worker->n_fences;
        end->before |= end->issued;
        end->issued = 0;
        end->n_before = end->n_issued;
        end->messages.n_before = end->messages.n_asked;
        end->atomics.n_before = end->atomics.n_asked;
    }
    bool is_flushed = end->n_committed >= end->n_before;
    if (is_flushed) end->before &= ATOMIC | MESSAGE;
    if (are_answered(&end->messages) && (is_flushed || end->carriage != IB_LINE)) end->before &= (uint8_t)~MESSAGE;
    if (are_answered(&end->atomics)) end->before &= (uint8_t)~ATOMIC;
}

/* Each kind is answered in the order in which it was sent. */
static isthmus_status wait_for_answers(struct ib_end *end, struct ib_answers *answers)
{
    ib_batch_count(&answers->wanted, (uint32_t)(answers->n_before - answers->n_answered));
    (void)ib_worker_wait(end->worker, &answers->wanted, IB_FOR_EVER);
    return end->failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(end, end->failure);
}

/* The first operation after a fence, or one that conflicts with what was issued before it. Other threads may fence and
 * issue while the end is waited for. */
isthmus_status ib_end_order_slow(struct ib_end *end, enum ib_class class)
{
    isthmus_status status = ISTHMUS_OK;
    while (status == ISTHMUS_OK) {
        note_fences(end);
        uint8_t conflicts = end->before & end->conflicts[class];
        if (conflicts == 0) break;
        if ((conflicts & 1u << IB_ATOMIC) != 0) {
            status = wait_for_answers(end, &end->atomics);
        } else if (!are_answered(&end->messages)) {
            status = wait_for_answers(end, &end->messages);
        } else {
            want_all(end);
            status = commit_one(end->worker, end);
        }
    }
    return status;
}

static isthmus_status ib_remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    struct ib_worker *worker = chan->worker;
    isthmus_status status = ISTHMUS_OK;
    isthmus_publish_stores_();
    ib_worker_lock(worker);
    struct ib_end *only = path != NULL ? path->ends[worker->index] : NULL;
    if (only != NULL) want_all(only);
    if (path == NULL || only != NULL) status = ib_commit(worker, only);
    (void)ib_worker_wait(worker, &chan->remote, IB_FOR_EVER);
    isthmus_status rest = ib_batch_fail(worker, &chan->remote);
    ib_worker_unlock(worker);
    return status != ISTHMUS_OK ? status : rest;
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
};

isthmus_status ib_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                               struct isthmus_data_ops *ops)
{
    (void)thread_mode, (void)ctx_options; /* every worker has a lock: the progress thread needs it too */
    isthmus_chan *chan = calloc(1, sizeof *chan);
    if (chan == NULL) return tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a channel");
    chan->worker = ib_worker_least_used(tr);
    isthmus_status status = ib_operands_open(chan->worker);
    if (status != ISTHMUS_OK) {
        free(chan);
        return status;
    }
    struct isthmus_data_ops all = ib_data_slots;
    all.struct_size = ops->struct_size;
    if (tr->stage != NULL) ib_operand_slots(&all);
    if (tr->adapter != NULL) all.put_signal = NULL; /* messages are executed by processors */
    ib_write_out(ops, &all, sizeof all);
    chan->worker->n_channels++;
    *out = chan;
    return ISTHMUS_OK;
}

/* The core has completed everything, unless a peer is lost: then UCX has failed what was under way, and calls back in
 * the next rounds of progress. */
void ib_channel_close(isthmus_chan *chan)
{
    if (chan == NULL) return;
    ib_worker_lock(chan->worker);
    (void)ib_worker_wait(chan->worker, &chan->local, IB_FOR_EVER);
    (void)ib_worker_wait(chan->worker, &chan->remote, IB_FOR_EVER);
    ib_worker_unlock(chan->worker);
    chan->worker->n_channels--;
    free(chan);
}

/* plugins/ib/am/am_operand.c: local operands of puts and gets on a device that UCX does not support, or that no adapter
 * registers: their data goes through bounce buffers, several of which are under way at a time. The remote memory may be
 * on a device too: am_device.c. A channel has these slots only in jobs that may have devices.
 * The buffers are not those of the stage: two PEs whose transfers have taken all buffers would wait for one another. */
#include "plugins/ib/am/am_priv.h"

#include <stdlib.h>
#include <string.h>

struct ib_operands {
    struct ib_bounce_pool pool;
    struct ib_batch room; /* pending: all buffers are in use, and a caller waits */
    struct ib_bounce bounces[IB_N_BOUNCE_BUFFERS];
};

/* ---- parts of an operand ---- */

static struct ib_bounce *take(struct ib_worker *worker)
{
    struct ib_operands *operands = worker->operands;
    int32_t buffer;
    while ((buffer = ib_bounce_pool_get(&operands->pool)) < 0) {
        ib_batch_count(&operands->room, 1);
        (void)ib_worker_wait(worker, &operands->room, IB_FOR_EVER);
    }
    operands->bounces[buffer].buffer = buffer;
    return &operands->bounces[buffer];
}

/* UCX may complete a transfer outside of progress, so waiting callers are woken here. */
static void release(struct ib_bounce *bounce)
{
    struct ib_worker *worker = bounce->worker;
    ib_bounce_pool_put(&worker->operands->pool, bounce->buffer);
    ib_batch_count(&worker->operands->room, 0);
    if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
}

bool ib_bounce_is_free(const struct ib_worker *worker) { return worker->operands->pool.free != 0; }

char *ib_bounce_bytes(const struct ib_bounce *bounce)
{
    return ib_bounce_buffer(&bounce->worker->operands->pool, bounce->buffer);
}

isthmus_status ib_bounce_begin(struct ib_worker *worker, const struct ib_bounce *what, struct ib_bounce **out)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_bounce *bounce = take(worker);
    int32_t buffer = bounce->buffer;
    isthmus_status status = ISTHMUS_OK;
    *bounce = *what;
    bounce->worker = worker;
    bounce->buffer = buffer;
    if (!bounce->is_get) {
        ib_worker_unlock(worker);
        if (bounce->kind == ISTHMUS_MEM_HOST)
            memcpy(ib_bounce_bytes(bounce), bounce->device, bounce->length_bytes);
        else
            status = s->memory_copy(s->core, bounce->kind, ib_bounce_bytes(bounce), bounce->device,
                                    bounce->length_bytes);
        ib_worker_lock(worker);
    }
    if (status == ISTHMUS_OK)
        *out = bounce;
    else
        release(bounce);
    return status;
}

ucs_status_t ib_bounce_end(struct ib_bounce *bounce, ucs_status_t status)
{
    isthmus_tr *tr = bounce->worker->tr;
    const struct isthmus_services *s = tr->services;
    if (bounce->is_get && status == UCS_OK) {
        isthmus_status copied = s->memory_copy(s->core, bounce->kind, bounce->device, ib_bounce_bytes(bounce),
                                               bounce->length_bytes);
        if (copied != ISTHMUS_OK) {
            ib_refusal_keep(tr, copied, s->fail_text(s->core));
            status = IB_REFUSED;
        }
    }
    release(bounce);
    return status;
}

/* ---- from and to memory that UCX's puts and gets reach ---- */

static void on_bounced(void *request, ucs_status_t status, void *user_data)
{
    struct ib_bounce *bounce = user_data;
    struct ib_batch *batch = bounce->batch;
    ib_batch_end(batch, ib_bounce_end(bounce, status));
    if (request != NULL) ib_ucp.ucp_request_free(request);
}

static void start(const struct ib_target *at, struct ib_bounce *bounce)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_bounced,
        .user_data = bounce,
    };
    char *bytes = ib_bounce_bytes(bounce);
    ib_batch_count(bounce->batch, bounce->batch->n_pending + 1);
    if (!bounce->is_get) ib_record_put(at, bounce->length_bytes, true);
    ucs_status_ptr_t request = bounce->is_get ? ib_ucp.ucp_get_nbx(at->ep->ucp, bytes, bounce->length_bytes,
                                                                   at->address, at->rkey, &params)
                                              : ib_ucp.ucp_put_nbx(at->ep->ucp, bytes, bounce->length_bytes,
                                                                   at->address, at->rkey, &params);
    if (!UCS_PTR_IS_PTR(request)) on_bounced(NULL, UCS_PTR_STATUS(request), bounce);
}

isthmus_status ib_bounce_parts(const struct ib_target *at, struct ib_bounce part, size_t length_bytes,
                               enum ib_wait wait)
{
    struct ib_target next = *at;
    isthmus_status status = ISTHMUS_OK;
    if (wait == IB_NO_WAIT && !ib_bounce_is_free(at->ep->worker)) return ISTHMUS_ERR_AGAIN;
    for (size_t left = length_bytes; left > 0 && status == ISTHMUS_OK; left -= part.length_bytes) {
        struct ib_bounce *bounce;
        part.length_bytes = left < IB_BOUNCE_BYTES ? (uint32_t)left : IB_BOUNCE_BYTES;
        status = ib_bounce_begin(at->ep->worker, &part, &bounce);
        if (status != ISTHMUS_OK) break;
        if (at->ep->failure == UCS_OK) {
            start(&next, bounce);
        } else {
            (void)ib_bounce_end(bounce, UCS_ERR_CANCELED);
            status = ib_ep_fail(at->ep, at->ep->failure);
        }
        part.device += part.length_bytes;
        next.address += part.length_bytes;
    }
    return status;
}

static isthmus_status bounce_all(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t offset_bytes, const struct ib_operand *local, bool is_get, bool is_nbi)
{
    struct ib_batch batch = {0};
    const struct ib_bounce part = {
        .batch = is_nbi ? chan->local : &batch, .device = local->addr, .kind = local->kind, .is_get = is_get};
    enum ib_wait wait = is_nbi ? IB_NO_WAIT : IB_WAIT;
    struct ib_target at;
    ib_worker_lock(chan->worker);
    isthmus_status status = ib_target_find(chan, path, remote, offset_bytes, IB_OP_RMA, wait, &at);
    if (status == ISTHMUS_OK) status = ib_bounce_parts(&at, part, local->length_bytes, wait);
    (void)ib_worker_wait(chan->worker, &batch, IB_FOR_EVER);
    if (status == ISTHMUS_OK && batch.failure != UCS_OK)
        status = ib_ep_fail(path->eps[chan->worker->index], batch.failure);
    ib_worker_unlock(chan->worker);
    return status;
}

/* ---- the slots ---- */

static struct ib_operand operand_of(const void *addr, const isthmus_lmem *mem, size_t length_bytes)
{
    return (struct ib_operand){(char *)(uintptr_t)addr, mem->kind, length_bytes};
}

/* Returns true if this operand goes through bounce buffers. One that UCX supports does so too if the peer stages its
 * memory, because the payload of a request lies on the host; and if no adapter here has registered memory of this kind:
 * UCX would copy it in the thread that makes progress, and up to 1.18 ends the process if that thread has no context of
 * CUDA. */
static bool needs_bounce(const isthmus_lmem *mem, const isthmus_rmem *remote)
{
    if (mem == NULL || mem->is_staged || mem->kind == ISTHMUS_MEM_HOST) return mem != NULL && mem->is_staged;
    return remote->is_staged || mem->tr->why_staged[mem->kind][0] != '\0';
}

/* Memory of the calling PE, on the host or on a device: the core copies. */
static isthmus_status copy_own(const isthmus_chan *chan, const isthmus_rmem *remote, const struct ib_operand *local,
                               void *dest, const void *source)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    uint32_t kind = remote->kind != ISTHMUS_MEM_HOST ? remote->kind : local->kind;
    return s->memory_copy(s->core, kind, dest, source, local->length_bytes);
}

/* Between an operand that needs bounce buffers and memory of any kind. */
static isthmus_status move(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                           const struct ib_operand *local, bool is_get, bool is_nbi)
{
    if (remote->own != NULL && is_get) return copy_own(chan, remote, local, local->addr, remote->own + offset_bytes);
    if (remote->own != NULL) return copy_own(chan, remote, local, remote->own + offset_bytes, local->addr);
    if (remote->is_rma) return bounce_all(chan, path, remote, offset_bytes, local, is_get, is_nbi);
    if (is_get) return ib_device_get_operand(chan, path, remote, offset_bytes, local, is_nbi);
    return ib_device_put_operand(chan, path, remote, offset_bytes, local, is_nbi);
}

static isthmus_status put_from_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                   uint64_t offset_bytes, const void *source, const isthmus_lmem *mem,
                                   size_t length_bytes)
{
    if (!needs_bounce(mem, remote))
        return ib_data_slots.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    const struct ib_operand local = operand_of(source, mem, length_bytes);
    return move(chan, path, remote, offset_bytes, &local, false, false);
}

static isthmus_status put_nbi_from_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                       uint64_t offset_bytes, const void *source, const isthmus_lmem *mem,
                                       size_t length_bytes)
{
    if (!needs_bounce(mem, remote))
        return ib_data_slots.put_nbi(chan, path, remote, offset_bytes, source, mem, length_bytes);
    const struct ib_operand local = operand_of(source, mem, length_bytes);
    return move(chan, path, remote, offset_bytes, &local, false, true);
}

static isthmus_status get_to_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t offset_bytes, void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    if (!needs_bounce(mem, remote)) return ib_data_slots.get(chan, path, remote, offset_bytes, dest, mem, length_bytes);
    const struct ib_operand local = operand_of(dest, mem, length_bytes);
    return move(chan, path, remote, offset_bytes, &local, true, false);
}

static isthmus_status get_nbi_to_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    if (!needs_bounce(mem, remote))
        return ib_data_slots.get_nbi(chan, path, remote, offset_bytes, dest, mem, length_bytes);
    const struct ib_operand local = operand_of(dest, mem, length_bytes);
    return move(chan, path, remote, offset_bytes, &local, true, true);
}

void ib_operand_slots(struct isthmus_data_ops *slots)
{
    slots->put = put_from_any;
    slots->put_nbi = put_nbi_from_any;
    slots->get = get_to_any;
    slots->get_nbi = get_nbi_to_any;
}

/* ---- workers, and when they need buffers ---- */

isthmus_status ib_bounces_open(struct ib_worker *worker, uint32_t kind)
{
    const struct isthmus_services *s = worker->tr->services;
    if (worker->operands == NULL) worker->operands = calloc(1, sizeof *worker->operands);
    if (worker->operands == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for operands");
    return ib_bounce_pool_open(s, &worker->operands->pool, kind);
}

static isthmus_status open_pool(struct ib_worker *worker, uint32_t kind)
{
    ib_worker_lock(worker);
    isthmus_status status = ib_bounces_open(worker, kind);
    ib_worker_unlock(worker);
    return status;
}

/* A channel, and so a worker, may be opened while another thread registers memory: the later one opens the pool. */
isthmus_status ib_operands_open(struct ib_worker *worker)
{
    uint32_t kind = __atomic_load_n(&worker->tr->staged_kind, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < IB_MEM_KINDS && kind == ISTHMUS_MEM_HOST; i++)
        if (worker->tr->why_staged[i][0] != '\0')
            kind = i; /* none is registered now, and operands of this kind go through the buffers */
    return kind != ISTHMUS_MEM_HOST ? open_pool(worker, kind) : ISTHMUS_OK;
}

isthmus_status ib_operands_hold(isthmus_tr *tr, uint32_t kind)
{
    isthmus_status status = ISTHMUS_OK;
    __atomic_add_fetch(&tr->n_staged, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tr->staged_kind, kind, __ATOMIC_SEQ_CST);
    uint32_t n_workers = __atomic_load_n(&tr->n_workers, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < n_workers && status == ISTHMUS_OK; i++) status = open_pool(&tr->workers[i], kind);
    return status;
}

isthmus_status ib_operands_add(isthmus_lmem *lmem)
{
    lmem->is_staged = true;
    return ib_operands_hold(lmem->tr, lmem->kind);
}

void ib_operands_release(isthmus_tr *tr)
{
    if (__atomic_sub_fetch(&tr->n_staged, 1, __ATOMIC_SEQ_CST) > 0) return;
    __atomic_store_n(&tr->staged_kind, ISTHMUS_MEM_HOST, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < tr->n_workers; i++) {
        struct ib_worker *worker = &tr->workers[i];
        ib_worker_lock(worker);
        if (worker->operands != NULL) ib_bounce_pool_unpin(tr->services, &worker->operands->pool);
        ib_worker_unlock(worker);
    }
}

void ib_operands_close(struct ib_worker *worker)
{
    if (worker->operands != NULL) ib_bounce_pool_close(&worker->operands->pool);
    free(worker->operands);
    free(worker->copied);
}

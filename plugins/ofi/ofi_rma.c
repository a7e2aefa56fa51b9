/* plugins/ofi/ofi_rma.c: remote memory accesses. Each is complete when its data has been delivered: the provider
 * reports that (FI_DELIVERY_COMPLETE), or a read that stays behind the writes shows it. Where operands need a
 * registration and have none, short ones go through a buffer of messages, and long ones are registered for the
 * access. */
#include "ofi.h"

#include <string.h>
#include <sys/uio.h>

/* Accesses are in no order with messages: they wait until those before the fence are executed. */
isthmus_status ofi_access_pass_fence(const struct ofi_access *a)
{
    isthmus_path *path = a->path;
    uint64_t fenced = path->fenced > path->tr->fenced ? path->fenced : path->tr->fenced;
    isthmus_status status = ISTHMUS_OK;
    if (path->acked >= fenced || path->acked == path->sent) return ISTHMUS_OK;
    struct ofi_wait wait = {.tr = path->tr, .path = path, .needs_room = true};
    while (path->asked < fenced && path->asked < path->sent && status == ISTHMUS_OK) {
        status = ofi_commit_try(path);
        if (status != ISTHMUS_ERR_AGAIN || !a->waits) continue;
        ofi_wait_step(&wait);
        status = ISTHMUS_OK;
    }
    ofi_wait_end(&wait);
    if (status == ISTHMUS_OK && !a->waits && !path->is_lost) return ISTHMUS_ERR_AGAIN;
    return status == ISTHMUS_OK ? ofi_await_acked(path, path->asked) : status;
}

/* A buffer of messages takes the place of the operand. */
static isthmus_status use_buffer(const struct ofi_access *a, struct ofi_op *op, size_t n_bytes, void **at, void **desc)
{
    isthmus_tr *tr = a->path->tr;
    op->bounce = ofi_op_take(&tr->free_messages);
    if (op->bounce == NULL) return ISTHMUS_ERR_AGAIN;
    if (a->is_write) memcpy(op->bounce->buffer, *at, n_bytes);
    if (!a->is_write) {
        op->copy_to = *at;
        op->copy_bytes = n_bytes;
    }
    *at = op->bounce->buffer;
    *desc = ofi_buffers_desc(tr);
    return ISTHMUS_OK;
}

/* The length of the next piece, which cuts no word that a PE may wait for. */
static size_t piece_bytes(const struct ofi_access *a, size_t done_bytes, size_t most_bytes)
{
    size_t left_bytes = a->length_bytes - done_bytes;
    if (left_bytes <= most_bytes) return left_bytes;
    return most_bytes - (a->offset_bytes + done_bytes + most_bytes) % 8;
}

/* Sets up the local operand. `at` and `desc`: out, as libfabric takes them. A piece is shortened if its memory cannot
 * be registered, perhaps because no more may be locked. */
static isthmus_status set_operand(const struct ofi_access *a, struct ofi_op *op, size_t done_bytes, size_t *n_bytes,
                                  void **at, void **desc)
{
    isthmus_tr *tr = a->path->tr;
    *at = (char *)a->local + done_bytes;
    *desc = NULL;
    bool needs = tr->needs_local_mr && (a->local_mem == NULL || a->local_mem->mr == NULL);
    if (!a->is_copied && !needs) {
        const isthmus_lmem *mem = a->local_mem;
        if (mem != NULL && mem->mr != NULL) *desc = fi_mr_desc(mem->mr);
        if (mem != NULL && mem->second != NULL) *at = (char *)mem->second + ((char *)*at - mem->addr);
        return ISTHMUS_OK;
    }
    if (*n_bytes > OFI_MESSAGE_BYTES) {
        const struct isthmus_mem operand = ofi_host_memory(*at, *n_bytes);
        if (ofi_mr_open(tr, &operand, a->is_write ? FI_WRITE : FI_READ, &op->mr) == ISTHMUS_OK) {
            *desc = fi_mr_desc(op->mr);
            return ISTHMUS_OK;
        }
        *n_bytes = piece_bytes(a, done_bytes, OFI_MESSAGE_BYTES);
    }
    return use_buffer(a, op, *n_bytes, at, desc);
}

static void drop(isthmus_tr *tr, struct ofi_op *op)
{
    if (op->bounce != NULL) ofi_op_give(&tr->free_messages, op->bounce);
    if (op->mr != NULL) (void)fi_close(&op->mr->fid);
    ofi_op_give(&tr->free_accesses, op);
}

isthmus_status ofi_access_begun(const struct ofi_access *a, struct ofi_op *op, ssize_t posted, struct ofi_count *count)
{
    if (posted == 0) {
        op->count = count;
        count->n_pending++;
        return ISTHMUS_OK;
    }
    drop(a->path->tr, op);
    if (posted == -FI_EAGAIN) return ISTHMUS_ERR_AGAIN;
    ofi_path_lose(a->path, ofi_library_error(posted));
    return ofi_path_lost(a->path);
}

static ssize_t post(const struct ofi_access *a, struct ofi_op *op, const struct iovec *local, void *desc,
                    uint64_t offset_bytes)
{
    isthmus_tr *tr = a->path->tr;
    const struct fi_rma_iov there = {
        .addr = a->remote->base + offset_bytes, .len = local->iov_len, .key = a->remote->rkey};
    const struct fi_msg_rma message = {.msg_iov = local,
                                       .desc = &desc,
                                       .iov_count = 1,
                                       .addr = a->path->peer->address,
                                       .rma_iov = &there,
                                       .rma_iov_count = 1,
                                       .context = &op->context};
    tr->has_posted = true;
    if (!a->is_write) return fi_readmsg(tr->ep, &message, FI_COMPLETION);
    uint64_t delivery = tr->needs_flush ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE;
    return fi_writemsg(tr->ep, &message, FI_COMPLETION | delivery | (tr->announces ? FI_REMOTE_CQ_DATA : 0));
}

/* What the next flush covers, and where it reads. */
static void note_write(const struct ofi_access *a)
{
    isthmus_path *path = a->path;
    path->written = ++path->tr->newest_number;
    path->written_to = *a->remote;
    path->written_at = a->offset_bytes;
}

/* One access of at most the provider's largest size. n_bytes: in and out, as of set_operand(). */
static isthmus_status try_piece(const struct ofi_access *a, struct ofi_count *count, size_t done_bytes, size_t *n_bytes)
{
    isthmus_tr *tr = a->path->tr;
    struct iovec local = {0};
    void *desc;
    if (a->path->is_lost) return ofi_path_lost(a->path);
    struct ofi_op *op = ofi_op_take(&tr->free_accesses);
    if (op == NULL) return ISTHMUS_ERR_AGAIN;
    op->path = a->path;
    isthmus_status status = set_operand(a, op, done_bytes, n_bytes, &local.iov_base, &desc);
    if (status != ISTHMUS_OK) {
        drop(tr, op);
        return status;
    }
    local.iov_len = *n_bytes;
    ssize_t posted = post(a, op, &local, desc, a->offset_bytes + done_bytes);
    status = ofi_access_begun(a, op, posted, count);
    if (status == ISTHMUS_OK && a->is_write && tr->needs_flush) note_write(a);
    return status;
}

/* The half of a channel is that of the moment at which the access is posted: another thread may have begun a commit
 * since the call. A put whose source was copied counts as remote only. */
struct ofi_count *ofi_access_count(const struct ofi_access *a, struct ofi_count *here)
{
    if (a->chan == NULL) return here;
    struct ofi_half *half = ofi_half_now(a->chan);
    return a->is_copied ? &half->remote : &half->local;
}

isthmus_status ofi_access(const struct ofi_access *a)
{
    isthmus_tr *tr = a->path->tr;
    size_t most_bytes = tr->access_bytes, done_bytes = 0;
    struct ofi_count here = {0};
    struct ofi_wait wait = {.tr = tr, .path = a->path, .needs_room = true};
    isthmus_status status = ofi_access_pass_fence(a);
    while (status == ISTHMUS_OK && done_bytes < a->length_bytes) {
        size_t n_bytes = piece_bytes(a, done_bytes, most_bytes);
        const size_t wanted_bytes = n_bytes;
        status = try_piece(a, ofi_access_count(a, &here), done_bytes, &n_bytes);
        if (n_bytes < wanted_bytes) most_bytes = OFI_MESSAGE_BYTES; /* no attempt to register each of the others */
        if (status == ISTHMUS_OK) done_bytes += n_bytes;
        if (status == ISTHMUS_ERR_AGAIN && (a->waits || done_bytes > 0)) {
            ofi_wait_step(&wait);
            status = ISTHMUS_OK;
        }
    }
    ofi_wait_end(&wait);
    if (a->chan != NULL) return status;
    isthmus_status done = ofi_wait_for(tr, &here);
    return status == ISTHMUS_OK ? done : status;
}

/* ---- flushes ---- */

/* Reads stay behind writes (FI_ORDER_RAW). One at a time: the newest one covers all that it follows. */
isthmus_status ofi_flush_try(isthmus_path *path)
{
    isthmus_tr *tr = path->tr;
    const struct ofi_access read = {.path = path,
                                    .remote = &path->written_to,
                                    .offset_bytes = path->written_at,
                                    .local = &tr->flushed,
                                    .length_bytes = sizeof tr->flushed,
                                    .is_copied = true};
    size_t n_bytes = sizeof tr->flushed;
    if (path->flush_asked == path->written) return ISTHMUS_OK;
    if (path->flushes.n_pending > 0) return ISTHMUS_ERR_AGAIN;
    isthmus_status status = try_piece(&read, &path->flushes, 0, &n_bytes);
    if (status == ISTHMUS_OK) path->flush_asked = path->written;
    return status;
}

isthmus_status ofi_flush(isthmus_path *path)
{
    struct ofi_wait wait = {.tr = path->tr, .path = path, .needs_room = true};
    isthmus_status status;
    if (path->flush_asked == path->written && path->flushes.n_pending == 0) return ISTHMUS_OK;
    while ((status = ofi_flush_try(path)) == ISTHMUS_ERR_AGAIN) ofi_wait_step(&wait);
    wait.needs_room = false;
    while (status == ISTHMUS_OK && path->flushes.n_pending > 0) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    return status == ISTHMUS_OK && path->is_lost ? ofi_path_lost(path) : status;
}

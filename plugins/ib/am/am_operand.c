/* plugins/ib/am/am_operand.c: see am_operand.h. A channel has these slots in jobs that may have devices, and no others do.
 * The pieces are not those of the stage: two PEs whose transfers have all pieces would wait for one another's. */
#include "plugins/ib/am/am_operand.h"

#include "plugins/ib/am/am_device.h"

#include <stdlib.h>

struct ib_operands {
    struct ib_pieces pieces;
    struct ib_batch room; /* pending: all pieces are in use, and a caller waits */
    struct ib_move moves[IB_N_PIECES];
};

/* ---- moves ---- */

static struct ib_move *take(struct ib_worker *worker)
{
    struct ib_operands *operands = worker->operands;
    int32_t piece;
    while ((piece = ib_pieces_take(&operands->pieces)) < 0) {
        ib_batch_count(&operands->room, 1);
        (void)ib_worker_wait(worker, &operands->room, IB_FOR_EVER);
    }
    operands->moves[piece].piece = piece;
    return &operands->moves[piece];
}

/* A transfer may end outside of progress, so waiting callers are woken here. */
static void give_back(struct ib_move *move)
{
    struct ib_worker *worker = move->worker;
    ib_pieces_give(&worker->operands->pieces, move->piece);
    ib_batch_count(&worker->operands->room, 0);
    if (worker->n_followers > 0) pthread_cond_broadcast(&worker->changed);
}

char *ib_move_bytes(const struct ib_move *move) { return ib_piece(&move->worker->operands->pieces, move->piece); }

isthmus_status ib_move_begin(struct ib_worker *worker, const struct ib_move *what, struct ib_move **out)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_move *move = take(worker);
    int32_t piece = move->piece;
    isthmus_status status = ISTHMUS_OK;
    *move = *what;
    move->worker = worker;
    move->piece = piece;
    if (!move->is_get) {
        ib_worker_unlock(worker);
        status = s->memory_copy(s->core, move->kind, ib_move_bytes(move), move->device, move->length_bytes);
        ib_worker_lock(worker);
    }
    if (status == ISTHMUS_OK)
        *out = move;
    else
        give_back(move);
    return status;
}

ucs_status_t ib_move_end(struct ib_move *move, ucs_status_t status)
{
    isthmus_tr *tr = move->worker->tr;
    const struct isthmus_services *s = tr->services;
    if (move->is_get && status == UCS_OK) {
        isthmus_status copied = s->memory_copy(s->core, move->kind, move->device, ib_move_bytes(move),
                                               move->length_bytes);
        if (copied != ISTHMUS_OK) {
            ib_refusal_keep(tr, copied, s->fail_text(s->core));
            status = IB_REFUSED;
        }
    }
    give_back(move);
    return status;
}

/* ---- from and to memory that UCX reaches ---- */

static void on_moved(void *request, ucs_status_t status, void *user_data)
{
    struct ib_move *move = user_data;
    struct ib_batch *batch = move->batch;
    ib_batch_end(batch, ib_move_end(move, status));
    if (request != NULL) ib_ucp.ucp_request_free(request);
}

static void start(const struct ib_place *at, struct ib_move *move)
{
    const ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_moved,
        .user_data = move,
    };
    char *bytes = ib_move_bytes(move);
    ib_batch_count(move->batch, move->batch->n_pending + 1);
    if (!move->is_get) ib_end_note(at->end, IB_DATA, true);
    ucs_status_ptr_t request = move->is_get ? ib_ucp.ucp_get_nbx(at->end->ep, bytes, move->length_bytes, at->address,
                                                                 at->key, &params)
                                            : ib_ucp.ucp_put_nbx(at->end->ep, bytes, move->length_bytes, at->address,
                                                                 at->key, &params);
    if (!UCS_PTR_IS_PTR(request)) on_moved(NULL, UCS_PTR_STATUS(request), move);
}

/* The end is fetched again after each wait, in which it may have been lost. */
static isthmus_status move_parts(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t offset_bytes, struct ib_move part, size_t length_bytes)
{
    isthmus_status status = ISTHMUS_OK;
    for (size_t done = 0; done < length_bytes && status == ISTHMUS_OK; done += part.length_bytes) {
        size_t left = length_bytes - done;
        struct ib_move *move;
        struct ib_place at;
        part.length_bytes = left < IB_PIECE_BYTES ? (uint32_t)left : IB_PIECE_BYTES;
        status = ib_move_begin(chan->worker, &part, &move);
        if (status != ISTHMUS_OK) break;
        status = ib_place_find(chan, path, remote, offset_bytes + done, IB_DATA, &at);
        if (status == ISTHMUS_OK)
            start(&at, move);
        else
            (void)ib_move_end(move, UCS_ERR_CANCELED);
        part.device += part.length_bytes;
    }
    return status;
}

static isthmus_status move_all(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, const struct ib_operand *local, bool is_get, bool is_nbi)
{
    struct ib_batch batch = {0};
    const struct ib_move part = {
        .batch = is_nbi ? &chan->local : &batch, .device = local->addr, .kind = local->kind, .is_get = is_get};
    ib_worker_lock(chan->worker);
    isthmus_status status = move_parts(chan, path, remote, offset_bytes, part, local->length_bytes);
    (void)ib_worker_wait(chan->worker, &batch, IB_FOR_EVER);
    if (status == ISTHMUS_OK && batch.failure != UCS_OK)
        status = ib_end_fail(path->ends[chan->worker->index], batch.failure);
    ib_worker_unlock(chan->worker);
    return status;
}

/* ---- the slots ---- */

static struct ib_operand operand_of(const void *addr, const isthmus_lmem *mem, size_t length_bytes)
{
    return (struct ib_operand){(char *)(uintptr_t)addr, mem->kind, length_bytes};
}

/* Returns true if this operand goes by way of pieces. Also one that UCX supports, if the peer stages its memory:
 * requests are messages, whose payload lies on the host. And if no adapter here has registered memory of this kind: UCX
 * would copy it in the thread that makes progress, and up to 1.18 ends the process if that has no context of CUDA. */
static bool is_staged(const isthmus_lmem *mem, const isthmus_rmem *remote)
{
    if (mem == NULL || mem->is_staged || mem->kind == ISTHMUS_MEM_HOST) return mem != NULL && mem->is_staged;
    return remote->is_staged || mem->tr->why_staged[mem->kind][0] != '\0';
}

/* This PE's own memory, on the host or on a device: the core copies. */
static isthmus_status copy_own(const isthmus_chan *chan, const isthmus_rmem *remote, const isthmus_lmem *mem,
                               void *dest, const void *source, size_t length_bytes)
{
    const struct isthmus_services *s = chan->worker->tr->services;
    uint32_t kind = remote->kind != ISTHMUS_MEM_HOST ? remote->kind : mem->kind;
    return s->memory_copy(s->core, kind, dest, source, length_bytes);
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes, bool is_nbi)
{
    const struct ib_operand local = operand_of(source, mem, length_bytes);
    if (remote->own != NULL) return copy_own(chan, remote, mem, remote->own + offset_bytes, source, length_bytes);
    if (remote->is_plain) return move_all(chan, path, remote, offset_bytes, &local, false, is_nbi);
    return ib_ask_put(chan, path, remote, offset_bytes, &local, is_nbi);
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes, bool is_nbi)
{
    const struct ib_operand local = operand_of(dest, mem, length_bytes);
    if (remote->own != NULL) return copy_own(chan, remote, mem, dest, remote->own + offset_bytes, length_bytes);
    if (remote->is_plain) return move_all(chan, path, remote, offset_bytes, &local, true, is_nbi);
    return ib_ask_get(chan, path, remote, offset_bytes, &local, is_nbi);
}

static isthmus_status put_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    return is_staged(mem, remote) ? put(chan, path, remote, offset_bytes, source, mem, length_bytes, false)
                                  : ib_data_slots.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
}

static isthmus_status put_nbi_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, const void *source, const isthmus_lmem *mem,
                                  size_t length_bytes)
{
    return is_staged(mem, remote) ? put(chan, path, remote, offset_bytes, source, mem, length_bytes, true)
                                  : ib_data_slots.put_nbi(chan, path, remote, offset_bytes, source, mem, length_bytes);
}

static isthmus_status get_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    return is_staged(mem, remote) ? get(chan, path, remote, offset_bytes, dest, mem, length_bytes, false)
                                  : ib_data_slots.get(chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

static isthmus_status get_nbi_any(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t offset_bytes, void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    return is_staged(mem, remote) ? get(chan, path, remote, offset_bytes, dest, mem, length_bytes, true)
                                  : ib_data_slots.get_nbi(chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

void ib_operand_slots(struct isthmus_data_ops *slots)
{
    slots->put = put_any;
    slots->put_nbi = put_nbi_any;
    slots->get = get_any;
    slots->get_nbi = get_nbi_any;
}

/* ---- life ---- */

static isthmus_status make_locked(struct ib_worker *worker, uint32_t kind)
{
    const struct isthmus_services *s = worker->tr->services;
    if (worker->operands == NULL) worker->operands = calloc(1, sizeof *worker->operands);
    if (worker->operands == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for operands on a device");
    return ib_pieces_make(s, &worker->operands->pieces, kind);
}

static isthmus_status make(struct ib_worker *worker, uint32_t kind)
{
    ib_worker_lock(worker);
    isthmus_status status = make_locked(worker, kind);
    ib_worker_unlock(worker);
    return status;
}

/* A channel, and so a worker, may be opened beside a registration: the second of the two makes the pieces. */
isthmus_status ib_operands_open(struct ib_worker *worker)
{
    uint32_t kind = __atomic_load_n(&worker->tr->staged_kind, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < IB_MEM_KINDS && kind == ISTHMUS_MEM_HOST; i++)
        if (worker->tr->why_staged[i][0] != '\0')
            kind = i; /* none is registered now, and its operands go through pieces */
    return kind != ISTHMUS_MEM_HOST ? make(worker, kind) : ISTHMUS_OK;
}

isthmus_status ib_operands_hold(isthmus_tr *tr, uint32_t kind)
{
    isthmus_status status = ISTHMUS_OK;
    __atomic_add_fetch(&tr->n_staged, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tr->staged_kind, kind, __ATOMIC_SEQ_CST);
    uint32_t n_workers = __atomic_load_n(&tr->n_workers, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < n_workers && status == ISTHMUS_OK; i++) status = make(&tr->workers[i], kind);
    return status;
}

isthmus_status ib_operands_add(isthmus_lmem *lmem)
{
    lmem->is_staged = true;
    return ib_operands_hold(lmem->tr, lmem->kind);
}

void ib_operands_let_go(isthmus_tr *tr)
{
    if (__atomic_sub_fetch(&tr->n_staged, 1, __ATOMIC_SEQ_CST) > 0) return;
    __atomic_store_n(&tr->staged_kind, ISTHMUS_MEM_HOST, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < tr->n_workers; i++) {
        struct ib_worker *worker = &tr->workers[i];
        ib_worker_lock(worker);
        if (worker->operands != NULL) ib_pieces_unpin(tr->services, &worker->operands->pieces);
        ib_worker_unlock(worker);
    }
}

void ib_operands_close(struct ib_worker *worker)
{
    if (worker->operands != NULL) ib_pieces_free(&worker->operands->pieces);
    free(worker->operands);
}

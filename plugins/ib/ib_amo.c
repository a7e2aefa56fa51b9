/* plugins/ib/ib_amo.c: atomics on a peer's memory. Their home is the peer's processor, and they go to it as messages of our own
 * (ib_short_amo.c): so they and those of PEs that load and store exclude one another.
 * Where adapters are the home, UCX has them executed. It has 32 and 64 bits, and of these add, swap, and compare and swap everywhere:
 * the others, and narrow words, which are a part of a 32-bit one, go by compare and swap. */
#include "plugins/ib/ib.h"

#include <isthmus/amo_cpu.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a narrow operand lies at the address of the 64-bit one");

/* What is done where; constant at every call. */
struct operation {
    uint32_t op, size_bytes;
};

IB_INLINE ucs_status_ptr_t start(const struct ib_place *at, ucp_atomic_op_t op, const void *operand, void *reply,
                                 uint32_t size_bytes, struct ib_batch *batch)
{
    ucp_request_param_t params;
    ib_request_params(&params, batch);
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype = ucp_dt_make_contig(size_bytes);
    if (reply != NULL) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        params.reply_buffer = reply;
    }
    return ib_ucp.ucp_atomic_op_nbx(at->end->ep, op, operand, 1, at->address, at->key, &params);
}

/* One that UCX executes and that fetches. UCX takes the operand before it returns; of a compare and swap, `reply` holds the
 * new value until the old one arrives there. */
IB_INLINE void start_fetching(const struct ib_place *at, struct operation o, uint64_t operand, uint64_t compare,
                              void *reply, struct ib_batch *batch)
{
    uint64_t zero = 0;
    ucs_status_ptr_t request;
    switch (o.op) {
    case ISTHMUS_AMO_FETCH: request = start(at, UCP_ATOMIC_OP_ADD, &zero, reply, o.size_bytes, batch); break;
    case ISTHMUS_AMO_ADD: request = start(at, UCP_ATOMIC_OP_ADD, &operand, reply, o.size_bytes, batch); break;
    case ISTHMUS_AMO_COMPARE_SWAP:
        memcpy(reply, &operand, o.size_bytes);
        request = start(at, UCP_ATOMIC_OP_CSWAP, &compare, reply, o.size_bytes, batch);
        break;
    default: request = start(at, UCP_ATOMIC_OP_SWAP, &operand, reply, o.size_bytes, batch); break; /* SET, SWAP */
    }
    ib_post(request, batch);
}

IB_INLINE ucs_status_t fetch_and_wait(struct ib_worker *worker, const struct ib_place *at, struct operation o,
                                      uint64_t operand, uint64_t compare, uint64_t *old)
{
    struct ib_batch batch = {0};
    *old = 0;
    start_fetching(at, o, operand, compare, old, &batch);
    (void)ib_worker_wait(worker, &batch, IB_FOR_EVER);
    return batch.failure;
}

/* ---- by compare and swap ---- */

static uint64_t new_value(uint32_t op, uint64_t old, uint64_t operand, uint64_t compare)
{
    switch (op) {
    case ISTHMUS_AMO_FETCH: return old;
    case ISTHMUS_AMO_COMPARE_SWAP: return old == compare ? operand : old;
    case ISTHMUS_AMO_ADD: return old + operand;
    case ISTHMUS_AMO_AND: return old & operand;
    case ISTHMUS_AMO_OR: return old | operand;
    case ISTHMUS_AMO_XOR: return old ^ operand;
    default: return operand; /* SET, SWAP */
    }
}

static uint64_t mask_of(uint32_t size_bytes) { return UINT64_MAX >> (64 - 8 * size_bytes); }

static ucs_status_t compare_and_swap_loop(struct ib_worker *worker, const struct ib_place *place, struct operation o,
                                          uint64_t operand, uint64_t compare, uint64_t *old)
{
    struct ib_place at = *place;
    uint32_t word_bytes = o.size_bytes < 4 ? 4 : o.size_bytes;
    uint32_t shift = 8 * (uint32_t)(at.address % word_bytes);
    uint64_t mask = mask_of(o.size_bytes), word, seen;
    at.address -= at.address % word_bytes;
    const struct operation fetch = {ISTHMUS_AMO_FETCH, word_bytes}, swap = {ISTHMUS_AMO_COMPARE_SWAP, word_bytes};
    ucs_status_t status = fetch_and_wait(worker, &at, fetch, 0, 0, &word);
    while (status == UCS_OK) {
        *old = word >> shift & mask;
        uint64_t value = new_value(o.op, *old, operand & mask, compare & mask) & mask;
        if (value == *old) break; /* the read of it was atomic: nothing to write */
        status = fetch_and_wait(worker, &at, swap, (word & ~(mask << shift)) | value << shift, word, &seen);
        if (seen == word) break;
        word = seen;
    }
    return status;
}

static bool has_native_fetch(struct operation o)
{
    return o.size_bytes >= 4 && o.op != ISTHMUS_AMO_AND && o.op != ISTHMUS_AMO_OR && o.op != ISTHMUS_AMO_XOR;
}

static ucs_status_t adapter_fetches(struct ib_worker *worker, const struct ib_place *at, struct operation o,
                                    uint64_t operand, uint64_t compare, uint64_t *old)
{
    if (has_native_fetch(o)) return fetch_and_wait(worker, at, o, operand, compare, old);
    return compare_and_swap_loop(worker, at, o, operand, compare, old);
}

/* ---- by messages ---- */

/* Messages go out, and answers come in; meanwhile the end may be lost. */
isthmus_status ib_wait_for_room(struct ib_end *end)
{
    struct ib_worker *worker = end->worker;
    ib_batch_count(&worker->room, 1);
    (void)ib_worker_wait(worker, &worker->room, IB_FOR_EVER);
    return end->failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(end, end->failure);
}

static isthmus_status send_fetching(const struct ib_place *at, const struct ib_atomic *amo, void *fetched,
                                    struct ib_batch *batch, struct ib_batch *also)
{
    isthmus_status status = ISTHMUS_OK;
    while (status == ISTHMUS_OK && !ib_short_fetch(at->end, at->address, amo, fetched, batch, also))
        status = ib_wait_for_room(at->end);
    return status;
}

/* Messages of a line are done in order, and a commit covers them; otherwise a commit waits for the answer, and so does what
 * could overtake the message behind a fence. */
static isthmus_status send_posted(isthmus_chan *chan, const struct ib_place *at, const struct ib_atomic *amo)
{
    isthmus_status status = ISTHMUS_OK;
    if (!at->takes_short) return send_fetching(at, amo, NULL, &chan->remote, NULL);
    while (status == ISTHMUS_OK && !ib_short_post(at->end, at->address, amo, &chan->remote))
        status = ib_wait_for_room(at->end);
    return status;
}

static isthmus_status peer_fetches(const struct ib_place *at, const struct ib_atomic *amo, uint64_t *old)
{
    struct ib_batch batch = {0};
    isthmus_status status = send_fetching(at, amo, old, &batch, NULL);
    if (status != ISTHMUS_OK) return status;
    (void)ib_worker_wait(at->end->worker, &batch, IB_FOR_EVER);
    return batch.failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(at->end, batch.failure);
}

/* ---- what the core calls ---- */

static enum ib_class class_of(const isthmus_chan *chan)
{
    return chan->worker->tr->has_adapter_atomics ? IB_ATOMIC : IB_MESSAGE;
}

static isthmus_status fetching(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, struct operation o, uint64_t operand, uint64_t compare,
                               void *fetched)
{
    struct ib_place at;
    uint64_t old = 0;
    if (remote->kind != ISTHMUS_MEM_HOST) {
        const struct ib_atomic amo = {o.op, o.size_bytes, operand, compare};
        return ib_device_amo(chan, path, remote, offset_bytes, &amo, fetched, ISTHMUS_AMO_FETCHING);
    }
    if (remote->own != NULL) {
        old = isthmus_amo_cpu(o.op, remote->own + offset_bytes, operand, compare, o.size_bytes);
        if (fetched != NULL) memcpy(fetched, &old, o.size_bytes);
        return ISTHMUS_OK;
    }
    ib_worker_lock(chan->worker);
    isthmus_status status = ib_place_find(chan, path, remote, offset_bytes, class_of(chan), &at);
    if (status == ISTHMUS_OK && chan->worker->tr->has_adapter_atomics) {
        ucs_status_t done = adapter_fetches(chan->worker, &at, o, operand, compare, &old);
        if (done != UCS_OK) status = ib_end_fail(at.end, done);
    } else if (status == ISTHMUS_OK) {
        status = peer_fetches(&at, &(struct ib_atomic){o.op, o.size_bytes, operand, compare}, &old);
    }
    ib_worker_unlock(chan->worker);
    if (status == ISTHMUS_OK && fetched != NULL) memcpy(fetched, &old, o.size_bytes);
    return status;
}

static isthmus_status fetching_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                   uint64_t offset_bytes, struct operation o, uint64_t operand, uint64_t compare,
                                   void *fetched)
{
    struct ib_place at;
    if (remote->kind != ISTHMUS_MEM_HOST) {
        const struct ib_atomic amo = {o.op, o.size_bytes, operand, compare};
        return ib_device_amo(chan, path, remote, offset_bytes, &amo, fetched, ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI);
    }
    bool by_adapter = chan->worker->tr->has_adapter_atomics;
    if (remote->own != NULL || (by_adapter && !has_native_fetch(o)))
        return fetching(chan, path, remote, offset_bytes, o, operand, compare, fetched);
    ib_worker_lock(chan->worker);
    isthmus_status status = ISTHMUS_ERR_AGAIN;
    if (ib_has_room(chan)) status = ib_place_find(chan, path, remote, offset_bytes, class_of(chan), &at);
    if (status == ISTHMUS_OK && by_adapter) {
        start_fetching(&at, o, operand, compare, fetched, &chan->local);
        ib_end_note(at.end, IB_ATOMIC, false); /* it is over when its value is here */
    } else if (status == ISTHMUS_OK)
        status = send_fetching(&at, &(struct ib_atomic){o.op, o.size_bytes, operand, compare}, fetched, &chan->local,
                               at.takes_short ? NULL : &chan->remote);
    ib_worker_unlock(chan->worker);
    return status;
}

/* For UCX, a set is a swap whose old value nobody wants; the commit waits for it. */
IB_INLINE void start_posted(isthmus_chan *chan, const struct ib_place *at, struct operation o, uint64_t operand)
{
    static const ucp_atomic_op_t ops[ISTHMUS_AMO_COUNT] = {
        [ISTHMUS_AMO_ADD] = UCP_ATOMIC_OP_ADD,
        [ISTHMUS_AMO_AND] = UCP_ATOMIC_OP_AND,
        [ISTHMUS_AMO_OR] = UCP_ATOMIC_OP_OR,
        [ISTHMUS_AMO_XOR] = UCP_ATOMIC_OP_XOR,
    };
    if (o.op == ISTHMUS_AMO_SET) {
        start_fetching(at, o, operand, 0, &chan->junk, &chan->remote);
        ib_end_note(at->end, IB_ATOMIC, false);
        return;
    }
    ib_end_note(at->end, IB_ATOMIC, true);
    ib_post(start(at, ops[o.op], &operand, NULL, o.size_bytes, &chan->remote), &chan->remote);
}

/* Fetches nothing: the source side is done at once. */
static isthmus_status posted(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             struct operation o, uint64_t operand)
{
    struct ib_place at;
    const struct ib_atomic amo = {o.op, o.size_bytes, operand, 0};
    bool by_adapter = chan->worker->tr->has_adapter_atomics;
    if (remote->kind != ISTHMUS_MEM_HOST) return ib_device_amo(chan, path, remote, offset_bytes, &amo, NULL, 0);
    if (remote->own != NULL || (by_adapter && o.size_bytes < 4))
        return fetching(chan, path, remote, offset_bytes, o, operand, 0, NULL);
    ib_worker_lock(chan->worker);
    isthmus_status status = ib_place_find(chan, path, remote, offset_bytes, class_of(chan), &at);
    if (chan->remote.n_pending >= IB_MAX_PENDING) (void)ib_worker_wait(chan->worker, &chan->remote, IB_FOR_EVER);
    if (status == ISTHMUS_OK && by_adapter)
        start_posted(chan, &at, o, operand);
    else if (status == ISTHMUS_OK)
        status = send_posted(chan, &at, &amo);
    ib_worker_unlock(chan->worker);
    return status;
}

/* One function per operation, width and way: no switch at run time. */
#define IB_SLOT_ARGUMENTS                                                                                  \
    isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset, uint64_t operand, \
        uint64_t compare, void *fetched
#define IB_FETCH(op, bits)                                                         \
    static isthmus_status fetch_##op##_##bits(IB_SLOT_ARGUMENTS)                   \
    {                                                                              \
        const struct operation o = {ISTHMUS_AMO_##op, (bits) / 8};                 \
        return fetching(chan, path, remote, offset, o, operand, compare, fetched); \
    }
#define IB_NBI(op, bits)                                                               \
    static isthmus_status nbi_##op##_##bits(IB_SLOT_ARGUMENTS)                         \
    {                                                                                  \
        const struct operation o = {ISTHMUS_AMO_##op, (bits) / 8};                     \
        return fetching_nbi(chan, path, remote, offset, o, operand, compare, fetched); \
    }
#define IB_POST(op, bits)                                          \
    static isthmus_status post_##op##_##bits(IB_SLOT_ARGUMENTS)    \
    {                                                              \
        const struct operation o = {ISTHMUS_AMO_##op, (bits) / 8}; \
        (void)compare, (void)fetched;                              \
        return posted(chan, path, remote, offset, o, operand);     \
    }
#define IB_FETCHES(op) IB_FETCH(op, 8) IB_FETCH(op, 16) IB_FETCH(op, 32) IB_FETCH(op, 64)
IB_FETCHES(FETCH)
IB_FETCHES(SET)
IB_FETCHES(SWAP)
IB_FETCHES(COMPARE_SWAP)
IB_FETCHES(ADD)
IB_FETCHES(AND)
IB_FETCHES(OR)
IB_FETCHES(XOR)

#define IB_NBIS(op) IB_NBI(op, 8) IB_NBI(op, 16) IB_NBI(op, 32) IB_NBI(op, 64)
IB_NBIS(FETCH)
IB_NBIS(SWAP)
IB_NBIS(COMPARE_SWAP)
IB_NBIS(ADD)
IB_NBIS(AND)
IB_NBIS(OR)
IB_NBIS(XOR)

#define IB_POSTS(op) IB_POST(op, 8) IB_POST(op, 16) IB_POST(op, 32) IB_POST(op, 64)
IB_POSTS(SET)
IB_POSTS(ADD)
IB_POSTS(AND)
IB_POSTS(OR)
IB_POSTS(XOR)

#define IB_ROW(kind, op) [ISTHMUS_AMO_##op] = {kind##_##op##_8, kind##_##op##_16, kind##_##op##_32, kind##_##op##_64}
static const isthmus_amo_fn fetch_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {
    IB_ROW(fetch, FETCH), IB_ROW(fetch, SET), IB_ROW(fetch, SWAP), IB_ROW(fetch, COMPARE_SWAP),
    IB_ROW(fetch, ADD),   IB_ROW(fetch, AND), IB_ROW(fetch, OR),   IB_ROW(fetch, XOR),
};
static const isthmus_amo_fn nbi_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {
    IB_ROW(nbi, FETCH), IB_ROW(nbi, SWAP), IB_ROW(nbi, COMPARE_SWAP), IB_ROW(nbi, ADD),
    IB_ROW(nbi, AND),   IB_ROW(nbi, OR),   IB_ROW(nbi, XOR),
};
static const isthmus_amo_fn post_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT] = {
    IB_ROW(post, SET), IB_ROW(post, ADD), IB_ROW(post, AND), IB_ROW(post, OR), IB_ROW(post, XOR),
};

isthmus_amo_fn ib_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan;
    if (op >= ISTHMUS_AMO_COUNT || bits >= ISTHMUS_BITS_COUNT) return NULL;
    if ((flags & ISTHMUS_AMO_FETCHING) == 0) return post_table[op][bits];
    return (flags & ISTHMUS_AMO_NBI) != 0 ? nbi_table[op][bits] : fetch_table[op][bits];
}

/* plugins/ib/ib_amo.c: the slots of atomics. The peer's processor executes them, at the request of active messages
 * (am/am_amo.c), so that they and the atomics of PEs that load and store exclude one another. With ISTHMUS_ATOMICS=nic
 * the peer's adapter executes those on words of 64 bits (rc/rc_amo.c), also for the PE that owns the memory. The
 * processor still executes narrower ones: an adapter would write all 64 bits, and overwrite what a processor or a put
 * stores beside the operand meanwhile. */
#include "plugins/ib/am/am.h"
#include "plugins/ib/rc/rc.h"

#include <isthmus/amo_cpu.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a narrow operand lies at the address of the 64-bit one");

/* ---- by active messages ---- */

static isthmus_status am_fetch(const struct ib_target *at, const struct ib_amo *amo, void *fetched,
                               struct ib_batch *batch, struct ib_batch *also, enum ib_wait wait)
{
    isthmus_status status = ISTHMUS_OK;
    while (status == ISTHMUS_OK && !ib_am_fetch(at->ep, at->address, amo, fetched, batch, also))
        status = ib_ep_wait_for_room(at->ep, wait);
    return status;
}

/* The messages of a single AM lane are executed in order, and a flush covers them. Otherwise remote_commit waits for
 * the reply, and so does an operation after a fence that could overtake the message. */
static isthmus_status am_post(isthmus_chan *chan, const struct ib_target *at, const struct ib_amo *amo)
{
    isthmus_status status = ISTHMUS_OK;
    if (!at->is_by_am) return am_fetch(at, amo, NULL, chan->remote, NULL, IB_WAIT);
    while (status == ISTHMUS_OK && !ib_am_post(at->ep, at->address, amo, chan->remote))
        status = ib_ep_wait_for_room(at->ep, IB_WAIT);
    return status;
}

static isthmus_status am_fetch_and_wait(const struct ib_target *at, const struct ib_amo *amo, uint64_t *old)
{
    struct ib_batch batch = {0};
    isthmus_status status = am_fetch(at, amo, old, &batch, NULL, IB_WAIT);
    if (status != ISTHMUS_OK) return status;
    (void)ib_worker_wait(at->ep->worker, &batch, IB_FOR_EVER);
    return batch.failure == UCS_OK ? ISTHMUS_OK : ib_ep_fail(at->ep, batch.failure);
}

/* ---- by the peer's adapter, without UCX (rc_qp.h) ---- */

struct rc_target {
    struct ib_ep *ep;
    uint64_t address;
    uint32_t rkey;
};

static isthmus_status fail_without_key(const isthmus_path *path)
{
    const struct isthmus_services *s = path->tr->services;
    return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "the adapter of PE %d on %s executes no atomics on this memory",
                   path->pe, path->host_name);
}

/* Connects what the first atomic needs. */
static isthmus_status rc_target_find_slow(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                          enum ib_wait wait, struct rc_target *out)
{
    struct ib_target at;
    isthmus_status status = remote->has_atomic_rkey ? ISTHMUS_OK : fail_without_key(path);
    if (status != ISTHMUS_OK) return status;
    if (path->is_self)
        status = ib_ep_get(chan->worker, path, &out->ep);
    else
        status = ib_target_find_slow(chan, path, remote, IB_OP_RC_AMO, wait, &at);
    if (status == ISTHMUS_OK && !path->is_self) out->ep = at.ep;
    /* The reply shows whether the peer's adapter has masked operations. */
    if (status == ISTHMUS_OK && !out->ep->is_qp_connected) status = ib_rc_connect(out->ep, wait);
    return status;
}

static isthmus_status rc_target_find(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, enum ib_wait wait, struct rc_target *out)
{
    isthmus_status status = ISTHMUS_OK;
    out->ep = path->eps[chan->worker->index];
    out->address = remote->address + offset_bytes;
    out->rkey = remote->atomic_rkey;
    bool is_known = out->ep != NULL && out->ep->is_qp_connected && out->ep->failure == UCS_OK &&
                    remote->has_atomic_rkey;
    if (!is_known) status = rc_target_find_slow(chan, path, remote, wait, out);
    return status;
}

static isthmus_status rc_ready(struct ib_ep *ep, enum ib_wait wait)
{
    isthmus_status status = ep->is_qp_connected ? ISTHMUS_OK : ib_rc_connect(ep, wait);
    return status == ISTHMUS_OK ? ib_ep_order(ep, IB_OP_RC_AMO, wait) : status;
}

/* Each wait releases the lock: other threads may fence meanwhile, or give up the queue pair for another one. */
static isthmus_status rc_start(const struct rc_target *at, const struct ib_word_op *word_op, void *fetched,
                               struct ib_batch *batch, struct ib_batch *also, enum ib_wait wait)
{
    const struct ib_rc_amo atomic = {at->address, at->rkey, fetched, batch, also};
    for (;;) {
        isthmus_status status = rc_ready(at->ep, wait);
        if (status != ISTHMUS_OK) return status;
        if (!at->ep->is_qp_connected) continue;
        if (ib_rc_start(at->ep, &atomic, word_op)) return ISTHMUS_OK;
        status = ib_ep_wait_for_room(at->ep, wait);
        if (status != ISTHMUS_OK) return status;
    }
}

static isthmus_status execute(void *arg, const struct ib_word_op *word_op, uint64_t *old)
{
    const struct rc_target *at = arg;
    struct ib_batch batch = {0};
    isthmus_status status = rc_start(at, word_op, old, &batch, NULL, IB_WAIT);
    if (status != ISTHMUS_OK) return status;
    (void)ib_worker_wait(at->ep->worker, &batch, IB_FOR_EVER);
    return batch.failure == UCS_OK ? ISTHMUS_OK : ib_ep_fail(at->ep, batch.failure);
}

static isthmus_status rc_fetch_and_wait(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                        uint64_t offset_bytes, const struct ib_amo *amo, uint64_t *old)
{
    struct rc_target at;
    isthmus_status status = rc_target_find(chan, path, remote, offset_bytes, IB_WAIT, &at);
    if (status != ISTHMUS_OK) return status;
    const struct ib_word word = {execute, &at, ib_rc_has_masked(path)};
    return ib_word_update(&word, amo->op, amo->operand, amo->compare, old);
}

/* remote_commit waits for the completion of an atomic that fetches nothing; the old value is dropped. One that fetches
 * is nonblocking. */
static isthmus_status rc_post(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const struct ib_word_op *word_op, void *fetched)
{
    struct rc_target at;
    enum ib_wait wait = fetched == NULL ? IB_WAIT : IB_NO_WAIT;
    isthmus_status status = rc_target_find(chan, path, remote, offset_bytes, wait, &at);
    if (status != ISTHMUS_OK) return status;
    if (fetched == NULL) return rc_start(&at, word_op, NULL, chan->remote, NULL, wait);
    return rc_start(&at, word_op, fetched, chan->local, chan->remote, wait);
}

/* Several requests, one after the other, wait for adapters alone once nothing is to come before them. */
static isthmus_status rc_begin(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote)
{
    struct rc_target at;
    ib_worker_lock(chan->worker);
    isthmus_status status = rc_target_find(chan, path, remote, 0, IB_NO_WAIT, &at);
    if (status == ISTHMUS_OK) status = rc_ready(at.ep, IB_NO_WAIT);
    ib_worker_unlock(chan->worker);
    return status;
}

/* ---- the slot ---- */

/* Returns true if adapters execute atomics of this width. */
static bool is_by_adapter(const isthmus_chan *chan, const struct ib_amo *amo)
{
    return chan->worker->tr->adapter != NULL && amo->size_bytes == sizeof(uint64_t);
}

/* Returns true if the atomic may be under way when the call returns. On memory of the calling PE it may not: its puts
 * are stores, which wait for nothing. */
static bool is_nonblocking(const isthmus_path *path, const struct ib_amo *amo, struct ib_word_op *out)
{
    return !path->is_self && ib_word_is_single(amo->op, amo->operand, amo->compare, ib_rc_has_masked(path), out);
}

static isthmus_status fetching(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, const struct ib_amo *amo, void *fetched)
{
    struct ib_target at;
    uint64_t old = 0;
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_amo(chan, path, remote, offset_bytes, amo, fetched, ISTHMUS_AMO_FETCHING);
    bool is_rc = is_by_adapter(chan, amo);
    if (remote->own != NULL && !is_rc) {
        old = isthmus_amo_cpu(amo->op, remote->own + offset_bytes, amo->operand, amo->compare, amo->size_bytes);
        if (fetched != NULL) memcpy(fetched, &old, amo->size_bytes);
        return ISTHMUS_OK;
    }
    ib_worker_lock(chan->worker);
    isthmus_status status;
    if (is_rc) {
        status = rc_fetch_and_wait(chan, path, remote, offset_bytes, amo, &old);
    } else {
        status = ib_target_find(chan, path, remote, offset_bytes, IB_OP_AM, IB_WAIT, &at);
        if (status == ISTHMUS_OK) status = am_fetch_and_wait(&at, amo, &old);
    }
    ib_worker_unlock(chan->worker);
    if (status == ISTHMUS_OK && fetched != NULL) memcpy(fetched, &old, amo->size_bytes);
    return status;
}

static isthmus_status fetching_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                   uint64_t offset_bytes, const struct ib_amo *amo, void *fetched)
{
    struct ib_target at;
    struct ib_word_op word_op;
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_amo(chan, path, remote, offset_bytes, amo, fetched, ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI);
    bool is_rc = is_by_adapter(chan, amo);
    bool must_wait = is_rc ? !is_nonblocking(path, amo, &word_op) : remote->own != NULL;
    isthmus_status begun = must_wait && is_rc && !path->is_self ? rc_begin(chan, path, remote) : ISTHMUS_OK;
    if (begun != ISTHMUS_OK) return begun;
    if (must_wait) return fetching(chan, path, remote, offset_bytes, amo, fetched);
    ib_worker_lock(chan->worker);
    isthmus_status status = ISTHMUS_ERR_AGAIN;
    if (ib_has_room(chan) && is_rc) {
        status = rc_post(chan, path, remote, offset_bytes, &word_op, fetched);
    } else if (ib_has_room(chan)) {
        status = ib_target_find(chan, path, remote, offset_bytes, IB_OP_AM, IB_NO_WAIT, &at);
        struct ib_batch *also = status != ISTHMUS_OK || at.is_by_am ? NULL : chan->remote;
        if (status == ISTHMUS_OK) status = am_fetch(&at, amo, fetched, chan->local, also, IB_NO_WAIT);
    }
    ib_worker_unlock(chan->worker);
    return status;
}

/* Fetches nothing: locally complete at once. */
static isthmus_status posted(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const struct ib_amo *amo)
{
    struct ib_target at;
    struct ib_word_op word_op;
    if (remote->kind != ISTHMUS_MEM_HOST) return ib_device_amo(chan, path, remote, offset_bytes, amo, NULL, 0);
    bool is_rc = is_by_adapter(chan, amo);
    bool must_wait = is_rc ? !is_nonblocking(path, amo, &word_op) : remote->own != NULL;
    if (must_wait) return fetching(chan, path, remote, offset_bytes, amo, NULL);
    ib_worker_lock(chan->worker);
    isthmus_status status;
    if (chan->remote->n_pending >= IB_MAX_PENDING) (void)ib_worker_wait(chan->worker, chan->remote, IB_FOR_EVER);
    if (is_rc) {
        status = rc_post(chan, path, remote, offset_bytes, &word_op, NULL);
    } else {
        status = ib_target_find(chan, path, remote, offset_bytes, IB_OP_AM, IB_WAIT, &at);
        if (status == ISTHMUS_OK) status = am_post(chan, &at, amo);
    }
    ib_worker_unlock(chan->worker);
    return status;
}

/* One function per operation, width and form: no switch at run time. */
#define IB_SLOT_ARGUMENTS                                                                                  \
    isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset, uint64_t operand, \
        uint64_t compare, void *fetched
#define IB_FETCH(op, bits)                                                          \
    static isthmus_status fetch_##op##_##bits(IB_SLOT_ARGUMENTS)                    \
    {                                                                               \
        const struct ib_amo amo = {ISTHMUS_AMO_##op, (bits) / 8, operand, compare}; \
        return fetching(chan, path, remote, offset, &amo, fetched);                 \
    }
#define IB_NBI(op, bits)                                                            \
    static isthmus_status nbi_##op##_##bits(IB_SLOT_ARGUMENTS)                      \
    {                                                                               \
        const struct ib_amo amo = {ISTHMUS_AMO_##op, (bits) / 8, operand, compare}; \
        return fetching_nbi(chan, path, remote, offset, &amo, fetched);             \
    }
#define IB_POST(op, bits)                                                     \
    static isthmus_status post_##op##_##bits(IB_SLOT_ARGUMENTS)               \
    {                                                                         \
        const struct ib_amo amo = {ISTHMUS_AMO_##op, (bits) / 8, operand, 0}; \
        (void)compare, (void)fetched;                                         \
        return posted(chan, path, remote, offset, &amo);                      \
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

/* plugins/ib/ib_amo.c: atomics on a peer's memory. Their home is the peer's processor, and they go to it as messages of
 * our own (am_amo.c): so they and those of PEs that load and store exclude one another.
 * With ISTHMUS_ATOMICS=nic the home of words of 64 bits is the peer's adapter (rc_amo.c), for the own PE's too. The
 * processor stays the home of narrower ones: an adapter would write all 64 bits, and what a processor or a put stores
 * beside the operand meanwhile would be lost. */
#include "plugins/ib/ib.h"

#include <isthmus/amo_cpu.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a narrow operand lies at the address of the 64-bit one");

/* The operation and its place; constant at every call. */
struct operation {
    uint32_t op, size_bytes;
};

/* Messages and requests are sent and replies received; meanwhile the end may be lost. */
isthmus_status ib_wait_for_room(struct ib_end *end)
{
    struct ib_worker *worker = end->worker;
    ib_batch_count(&worker->room, 1);
    (void)ib_worker_wait(worker, &worker->room, IB_FOR_EVER);
    return end->failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(end, end->failure);
}

/* ---- by messages ---- */

static isthmus_status send_fetching(const struct ib_place *at, const struct ib_atomic *amo, void *fetched,
                                    struct ib_batch *batch, struct ib_batch *also)
{
    isthmus_status status = ISTHMUS_OK;
    while (status == ISTHMUS_OK && !ib_short_fetch(at->end, at->address, amo, fetched, batch, also))
        status = ib_wait_for_room(at->end);
    return status;
}

/* Messages of a line are executed in order, and a commit covers them; otherwise a commit waits for the reply, and so
 * does an operation after a fence that could overtake the message. */
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

/* ---- by the peer's adapter, without UCX (rc_qp.h) ---- */

struct adapter_word {
    struct ib_end *end;
    uint64_t address;
    uint32_t key;
};

static isthmus_status fail_without_key(const isthmus_path *path)
{
    const struct isthmus_services *s = path->tr->services;
    return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "the adapter of PE %d on %s executes no atomics on this memory",
                   path->pe, path->host_name);
}

/* Everything that the first atomic needs; the fences of other threads, meanwhile, are in ib_end_order(). */
static isthmus_status word_find_slow(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     struct adapter_word *out)
{
    struct ib_place at;
    isthmus_status status = remote->has_adapter_key ? ISTHMUS_OK : fail_without_key(path);
    if (status != ISTHMUS_OK) return status;
    if (path->is_self)
        status = ib_end_get(chan->worker, path, &out->end);
    else
        status = ib_place_find_slow(chan, path, remote, IB_ATOMIC, &at);
    if (status == ISTHMUS_OK && !path->is_self) out->end = at.end;
    return status == ISTHMUS_OK ? ib_nic_link(out->end) : status;
}

static isthmus_status word_find(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                uint64_t offset_bytes, struct adapter_word *out)
{
    isthmus_status status = ISTHMUS_OK;
    out->end = path->ends[chan->worker->index];
    out->address = remote->address + offset_bytes;
    out->key = remote->adapter_key;
    bool is_known = out->end != NULL && out->end->is_linked && out->end->failure == UCS_OK && remote->has_adapter_key;
    if (!is_known) status = word_find_slow(chan, path, remote, out);
    return status == ISTHMUS_OK ? ib_end_order(out->end, IB_ATOMIC) : status;
}

static isthmus_status start(const struct adapter_word *at, const struct ib_word_request *request, void *fetched,
                            struct ib_batch *batch, struct ib_batch *also)
{
    const struct ib_nic_atomic atomic = {at->address, at->key, fetched, batch, also};
    isthmus_status status = ISTHMUS_OK;
    while (status == ISTHMUS_OK && !ib_nic_start(at->end, &atomic, request)) status = ib_wait_for_room(at->end);
    return status;
}

static isthmus_status execute(void *arg, const struct ib_word_request *request, uint64_t *old)
{
    const struct adapter_word *at = arg;
    struct ib_batch batch = {0};
    isthmus_status status = start(at, request, old, &batch, NULL);
    if (status != ISTHMUS_OK) return status;
    (void)ib_worker_wait(at->end->worker, &batch, IB_FOR_EVER);
    return batch.failure == UCS_OK ? ISTHMUS_OK : ib_end_fail(at->end, batch.failure);
}

static isthmus_status adapter_fetches(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                      uint64_t offset_bytes, const struct ib_atomic *amo, uint64_t *old)
{
    struct adapter_word at;
    isthmus_status status = word_find(chan, path, remote, offset_bytes, &at);
    if (status != ISTHMUS_OK) return status;
    return ib_word_update(&(struct ib_word){execute, &at}, amo->op, amo->operand, amo->compare, old);
}

/* A commit waits for the reply to an atomic that fetches nothing; the reply is dropped. */
static isthmus_status adapter_starts(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                     uint64_t offset_bytes, const struct ib_word_request *request, void *fetched)
{
    struct adapter_word at;
    isthmus_status status = word_find(chan, path, remote, offset_bytes, &at);
    if (status != ISTHMUS_OK) return status;
    if (fetched == NULL) return start(&at, request, NULL, &chan->remote, NULL);
    return start(&at, request, fetched, &chan->local, &chan->remote);
}

/* ---- the slot ---- */

/* Adapters are the home of words of this width. */
static bool is_for_adapter(const isthmus_chan *chan, struct operation o)
{
    return chan->worker->tr->adapter != NULL && o.size_bytes == sizeof(uint64_t);
}

/* Returns true if it may be under way when the call returns. On the own PE it may not: its puts are stores, which wait
 * for nothing. */
static bool may_be_under_way(const isthmus_path *path, struct operation o, uint64_t operand, uint64_t compare,
                             struct ib_word_request *out)
{
    return !path->is_self && ib_word_is_single(o.op, operand, compare, out);
}

static isthmus_status fetching(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, struct operation o, uint64_t operand, uint64_t compare,
                               void *fetched)
{
    struct ib_place at;
    uint64_t old = 0;
    const struct ib_atomic amo = {o.op, o.size_bytes, operand, compare};
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_amo(chan, path, remote, offset_bytes, &amo, fetched, ISTHMUS_AMO_FETCHING);
    bool is_adapters = is_for_adapter(chan, o);
    if (remote->own != NULL && !is_adapters) {
        old = isthmus_amo_cpu(o.op, remote->own + offset_bytes, operand, compare, o.size_bytes);
        if (fetched != NULL) memcpy(fetched, &old, o.size_bytes);
        return ISTHMUS_OK;
    }
    ib_worker_lock(chan->worker);
    isthmus_status status;
    if (is_adapters) {
        status = adapter_fetches(chan, path, remote, offset_bytes, &amo, &old);
    } else {
        status = ib_place_find(chan, path, remote, offset_bytes, IB_MESSAGE, &at);
        if (status == ISTHMUS_OK) status = peer_fetches(&at, &amo, &old);
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
    struct ib_word_request request;
    const struct ib_atomic amo = {o.op, o.size_bytes, operand, compare};
    if (remote->kind != ISTHMUS_MEM_HOST)
        return ib_device_amo(chan, path, remote, offset_bytes, &amo, fetched, ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI);
    bool is_adapters = is_for_adapter(chan, o);
    bool must_wait = is_adapters ? !may_be_under_way(path, o, operand, compare, &request) : remote->own != NULL;
    if (must_wait) return fetching(chan, path, remote, offset_bytes, o, operand, compare, fetched);
    ib_worker_lock(chan->worker);
    isthmus_status status = ISTHMUS_ERR_AGAIN;
    if (ib_has_room(chan) && is_adapters) {
        status = adapter_starts(chan, path, remote, offset_bytes, &request, fetched);
    } else if (ib_has_room(chan)) {
        status = ib_place_find(chan, path, remote, offset_bytes, IB_MESSAGE, &at);
        if (status == ISTHMUS_OK)
            status = send_fetching(&at, &amo, fetched, &chan->local, at.takes_short ? NULL : &chan->remote);
    }
    ib_worker_unlock(chan->worker);
    return status;
}

/* Fetches nothing: the source side is done at once. */
static isthmus_status posted(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             struct operation o, uint64_t operand)
{
    struct ib_place at;
    struct ib_word_request request;
    const struct ib_atomic amo = {o.op, o.size_bytes, operand, 0};
    if (remote->kind != ISTHMUS_MEM_HOST) return ib_device_amo(chan, path, remote, offset_bytes, &amo, NULL, 0);
    bool is_adapters = is_for_adapter(chan, o);
    bool must_wait = is_adapters ? !may_be_under_way(path, o, operand, 0, &request) : remote->own != NULL;
    if (must_wait) return fetching(chan, path, remote, offset_bytes, o, operand, 0, NULL);
    ib_worker_lock(chan->worker);
    isthmus_status status;
    if (chan->remote.n_pending >= IB_MAX_PENDING) (void)ib_worker_wait(chan->worker, &chan->remote, IB_FOR_EVER);
    if (is_adapters) {
        status = adapter_starts(chan, path, remote, offset_bytes, &request, NULL);
    } else {
        status = ib_place_find(chan, path, remote, offset_bytes, IB_MESSAGE, &at);
        if (status == ISTHMUS_OK) status = send_posted(chan, &at, &amo);
    }
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

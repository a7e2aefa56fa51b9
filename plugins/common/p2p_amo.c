/* plugins/common/p2p_amo.c: see p2p.h. Atomics: a kernel of one thread executes them, so that they exclude those of the
 * program's kernels. A set that fetches nothing is an ordered write of its word instead.
 *
 * An operation that fetches nothing and meets a stream with work to do takes a batch along: memory of the host that its
 * kernel reads when it runs. Further operations go there, without a launch of their own, until the kernel has begun or
 * the stream gets something else. Host and device each write, then read what the other writes: the host the number of
 * operations, then whether the batch is closed; the device that it is closed, then the number. Sequentially consistent,
 * at least one of them sees the other. If the host finds the batch closed, the device's count shows whether the
 * operation is in it. */
#include "plugins/common/p2p_chan.h"

#include <string.h>

isthmus_status p2p_submit_amo(isthmus_tr *tr, void *stream, const struct p2p_amo *amo)
{
    if (amo->op == ISTHMUS_AMO_SET && amo->result == NULL && tr->driver->write != NULL)
        return tr->driver->write(tr->gpu, stream, amo->addr, amo->operand, amo->bytes);
    return tr->driver->amo(tr->gpu, stream, amo);
}

/* With the lock. */
static isthmus_status submit(isthmus_chan *chan, const struct p2p_amo *amo)
{
    isthmus_status status = p2p_submit_amo(chan->tr, chan->stream, amo);
    if (status == ISTHMUS_OK) chan->submitted++;
    return status;
}

/* ---- batches: with the lock ---- */

/* The device has closed the batch and counts next, unless it fails. */
static isthmus_status wait_for_count(isthmus_chan *chan, const struct p2p_batch *batch, uint64_t *n)
{
    const struct isthmus_services *s = chan->tr->services;
    isthmus_status status = ISTHMUS_OK;
    if (!p2p_is_soon(&batch->taken, 1)) status = chan->tr->driver->stream_wait(chan->tr->gpu, chan->stream);
    uint64_t taken = __atomic_load_n(&batch->taken, __ATOMIC_ACQUIRE);
    *n = taken - 1;
    if (status != ISTHMUS_OK || taken != 0) return status;
    return s->fail(s->core, ISTHMUS_ERR_IO,
                   "the kernel of atomics has ended without a count of its operations; the driver may have logged why");
}

void p2p_batch_write(struct p2p_batch *batch, uint64_t i, const struct p2p_amo *amo)
{
    batch->list[i] = (struct p2p_batch_entry){.addr = (uint64_t)(uintptr_t)amo->addr,
                                              .operand = amo->operand,
                                              .compare = amo->compare,
                                              .op = amo->op,
                                              .bytes = amo->bytes};
}

/* *is_in: the operation is in the batch of the stream's last launch. */
static isthmus_status join(isthmus_chan *chan, const struct p2p_amo *amo, bool *is_in)
{
    struct p2p_batch *batch = &chan->batches[chan->batch];
    uint64_t number = chan->batch_numbers[chan->batch], i = batch->n_posted, n;
    *is_in = false;
    if (number == 0 || number != chan->submitted || number <= chan->completed || i == P2P_BATCH) return ISTHMUS_OK;
    p2p_batch_write(batch, i, amo);
    __atomic_store_n(&batch->n_posted, i + 1, __ATOMIC_SEQ_CST); /* this and the load: see above */
    *is_in = __atomic_load_n(&batch->closed, __ATOMIC_SEQ_CST) == 0;
    if (*is_in) return ISTHMUS_OK;
    isthmus_status status = wait_for_count(chan, batch, &n);
    *is_in = status == ISTHMUS_OK && i < n;
    return status;
}

/* Without a free batch the operation is launched alone: it does not wait for a device that others keep busy. */
static isthmus_status launch_with_batch(isthmus_chan *chan, const struct p2p_amo *amo)
{
    uint32_t next = (chan->batch + 1) % P2P_BATCHES;
    struct p2p_batch *batch = &chan->batches[next];
    bool is_free = chan->batch_numbers[next] == 0 || __atomic_load_n(&batch->done, __ATOMIC_ACQUIRE) != 0;
    if (!is_free) return submit(chan, amo);
    struct p2p_amo first = *amo;
    first.batch = batch;
    batch->n_posted = batch->closed = batch->taken = batch->done = 0;
    isthmus_status status = submit(chan, &first);
    chan->batch = next;
    chan->batch_numbers[next] = status == ISTHMUS_OK ? chan->submitted : 0;
    return status;
}

/* On an idle stream a kernel runs at once, and would only read an empty batch. */
static isthmus_status post(isthmus_chan *chan, const struct p2p_amo *amo)
{
    bool is_in;
    if (!chan->tr->driver->takes_batches || chan->completed == chan->submitted) return submit(chan, amo);
    isthmus_status status = join(chan, amo, &is_in);
    return status != ISTHMUS_OK || is_in ? status : launch_with_batch(chan, amo);
}

/* ---- operations ---- */

static isthmus_status fetch(isthmus_chan *chan, struct p2p_amo *amo, void *fetched)
{
    isthmus_tr *tr = chan->tr;
    amo->result = chan->result;
    isthmus_status status = submit(chan, amo);
    if (status == ISTHMUS_OK) status = p2p_ask_for_mark(chan, chan->submitted);
    if (status == ISTHMUS_OK && !p2p_is_marked_soon(chan, chan->submitted))
        status = tr->driver->stream_wait(tr->gpu, chan->stream);
    if (status != ISTHMUS_OK) return status;
    p2p_note_completed(chan, chan->submitted);
    memcpy(fetched, chan->result, amo->bytes);
    return ISTHMUS_OK;
}

/* A fetching one keeps the lock until its result is taken: there is one place for results. */
static isthmus_status run_amo(isthmus_chan *chan, struct p2p_amo *amo, void *fetched)
{
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = fetched != NULL ? fetch(chan, amo, fetched) : post(chan, amo);
    pthread_mutex_unlock(&chan->lock);
    if (status == ISTHMUS_OK) __atomic_add_fetch(&chan->tr->n_amos, 1, __ATOMIC_RELAXED);
    return status;
}

/* By value, or by a copy where the platform writes no words: neither needs room for a kernel. */
static isthmus_status post_set(isthmus_chan *chan, void *addr, uint64_t value, uint32_t bytes)
{
    const struct p2p_amo set = {.addr = addr, .operand = value, .op = ISTHMUS_AMO_SET, .bytes = bytes};
    const uint32_t half = (uint32_t)value;
    const void *from = bytes == sizeof half ? (const void *)&half : &value;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = chan->tr->driver->write != NULL ? submit(chan, &set)
                                                            : p2p_put_staged(chan, addr, from, bytes);
    pthread_mutex_unlock(&chan->lock);
    if (status == ISTHMUS_OK) __atomic_add_fetch(&chan->tr->n_amos, 1, __ATOMIC_RELAXED);
    return status;
}

/* A function for each form: one that served both would be asked for the old value each time, and wait for it. */
#define P2P_AMO(form, op_name, bits, to)                                                                     \
    static isthmus_status p2p_##form##_##op_name##_##bits(isthmus_chan *chan, isthmus_path *path,            \
                                                          const isthmus_rmem *remote, uint64_t offset,       \
                                                          uint64_t operand, uint64_t compare, void *fetched) \
    {                                                                                                        \
        (void)path, (void)fetched;                                                                           \
        struct p2p_amo amo = {.addr = remote->addr + offset,                                                 \
                              .operand = operand,                                                            \
                              .compare = compare,                                                            \
                              .op = ISTHMUS_AMO_##op_name,                                                   \
                              .bytes = sizeof(uint##bits##_t)};                                              \
        return run_amo(chan, &amo, (to));                                                                    \
    }
#define P2P_FETCHES(op) P2P_AMO(fetch, op, 32, fetched) P2P_AMO(fetch, op, 64, fetched)
#define P2P_POSTS(op) P2P_AMO(post, op, 32, NULL) P2P_AMO(post, op, 64, NULL)
#define P2P_BOTH(op) P2P_FETCHES(op) P2P_POSTS(op)
P2P_FETCHES(FETCH)
P2P_FETCHES(SET)
P2P_BOTH(SWAP)
P2P_BOTH(COMPARE_SWAP)
P2P_BOTH(ADD)
P2P_BOTH(AND)
P2P_BOTH(OR)
P2P_BOTH(XOR)
#undef P2P_BOTH
#undef P2P_POSTS
#undef P2P_FETCHES
#undef P2P_AMO

#define P2P_POST_SET(bits)                                                                                        \
    static isthmus_status p2p_post_SET_##bits(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, \
                                              uint64_t offset, uint64_t operand, uint64_t compare, void *fetched) \
    {                                                                                                             \
        (void)path, (void)compare, (void)fetched;                                                                 \
        return post_set(chan, remote->addr + offset, operand, sizeof(uint##bits##_t));                            \
    }
P2P_POST_SET(32)
P2P_POST_SET(64)
#undef P2P_POST_SET

/* GPUs have no atomics of 8 and 16 bits that go with the others. */
typedef isthmus_amo_fn amo_table[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT];
#define P2P_ROW(form, op) [ISTHMUS_AMO_##op] = {NULL, NULL, p2p_##form##_##op##_32, p2p_##form##_##op##_64}
static const amo_table fetches = {
    P2P_ROW(fetch, FETCH), P2P_ROW(fetch, SET), P2P_ROW(fetch, SWAP), P2P_ROW(fetch, COMPARE_SWAP),
    P2P_ROW(fetch, ADD),   P2P_ROW(fetch, AND), P2P_ROW(fetch, OR),   P2P_ROW(fetch, XOR),
};
static const amo_table posts = {
    P2P_ROW(post, SET), P2P_ROW(post, SWAP), P2P_ROW(post, COMPARE_SWAP), P2P_ROW(post, ADD),
    P2P_ROW(post, AND), P2P_ROW(post, OR),   P2P_ROW(post, XOR),
};
#undef P2P_ROW

isthmus_amo_fn p2p_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    /* Fetching ones are complete on return, the others at the source. */
    if (!chan->tr->has_atomics || op >= ISTHMUS_AMO_COUNT || bits >= ISTHMUS_BITS_COUNT) return NULL;
    return (flags & ISTHMUS_AMO_FETCHING) != 0 ? fetches[op][bits] : posts[op][bits];
}

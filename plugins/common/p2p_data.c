/* plugins/common/p2p_data.c: see p2p.h. A channel is one stream of the device, which executes in order.
 * So a fence has nothing to do, and completion is a place in the stream. Operations are numbered as they are submitted;
 * `borrowed` is the last one that uses the caller's memory: local_complete waits as far as there, remote_commit for
 * all.
 *
 * A word goes by value where the platform takes one. A blocking put of a few bytes must not cost a round trip to the
 * device: its source is copied into memory of the channel that the device reads later; a short get comes by way of it,
 * too. That memory is allotted from its beginning on, and is empty again when the stream is and all readers of it are
 * done. */
#include "plugins/common/p2p_chan.h"

#include <isthmus/idle.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Up to PIECE a put goes through the channel's memory; above, a wait costs less than it takes of the copy. */
enum { STAGE_BYTES = 256 << 10, PIECE_BYTES = 16 << 10, STAGE_ALIGN = 64 };

/* ---- the stream ---- */

static isthmus_status note_copy(isthmus_chan *chan, isthmus_status status)
{
    if (status != ISTHMUS_OK) return status;
    chan->submitted++;
    __atomic_add_fetch(&chan->tr->n_copies, 1, __ATOMIC_RELAXED);
    return ISTHMUS_OK;
}

static isthmus_status submit_copy(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes)
{
    isthmus_tr *tr = chan->tr;
    return note_copy(chan, tr->driver->copy(tr->gpu, chan->stream, dest, source, length_bytes));
}

/* Returns true if a put of host memory can go by value. */
static bool is_word(const isthmus_tr *tr, const void *dest, size_t length_bytes)
{
    bool fits = length_bytes == sizeof(uint32_t) || length_bytes == sizeof(uint64_t);
    return fits && (uintptr_t)dest % length_bytes == 0 && tr->driver->write != NULL;
}

/* On an idle stream the mark is written with the word: the next wait for this word need not request it. */
static isthmus_status write_word(isthmus_chan *chan, void *dest, uint64_t value, size_t length_bytes)
{
    isthmus_tr *tr = chan->tr;
    uint64_t number = chan->submitted + 1;
    bool is_idle = chan->completed == chan->submitted;
    if (!is_idle || length_bytes != sizeof value || tr->driver->words == NULL)
        return tr->driver->write(tr->gpu, chan->stream, dest, value, length_bytes);
    const struct p2p_word both[] = {{dest, value, false}, {chan->mark, number, false}};
    isthmus_status status = tr->driver->words(tr->gpu, chan->stream, both, 2);
    if (status == ISTHMUS_OK) chan->marked = number;
    return status;
}

/* The caller's memory is free again on return. */
static isthmus_status submit_word(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes)
{
    uint64_t value;
    uint32_t half;
    memcpy(&half, source, sizeof half);
    if (length_bytes == sizeof value)
        memcpy(&value, source, sizeof value);
    else
        value = half;
    return note_copy(chan, write_word(chan, dest, value, length_bytes));
}

void p2p_note_completed(isthmus_chan *chan, uint64_t all)
{
    if (all > chan->completed) chan->completed = all;
    if (chan->completed == chan->submitted && chan->n_gets == 0) chan->stage_used = P2P_STAGE_FIRST;
}

isthmus_status p2p_ask_for_mark(isthmus_chan *chan, uint64_t number)
{
    isthmus_tr *tr = chan->tr;
    if (tr->driver->write == NULL || chan->marked >= number) return ISTHMUS_OK;
    isthmus_status status = tr->driver->write(tr->gpu, chan->stream, chan->mark, chan->submitted, sizeof *chan->mark);
    if (status == ISTHMUS_OK) chan->marked = chan->submitted;
    return status;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Polling the mark is cheaper than a query of the driver. A longer wait queries it all the same: it also reports
 * failures. */
bool p2p_is_marked_soon(const isthmus_chan *chan, uint64_t number)
{
    return chan->tr->driver->write != NULL && p2p_is_soon(chan->mark, number);
}

bool p2p_is_soon(const uint64_t *word, uint64_t least)
{
    struct isthmus_idle idle = {0};
    struct isthmus_idle_habit habit = {0};
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least) {
        if (isthmus_idle_look_again(&idle, &habit)) continue;
        switch (isthmus_idle_next(&idle, &habit, now_ns())) {
        case ISTHMUS_IDLE_LOOK: break;
        case ISTHMUS_IDLE_YIELD: sched_yield(); break;
        case ISTHMUS_IDLE_SLEEP: return false;
        }
    }
    return true;
}

isthmus_status p2p_wait_for(isthmus_chan *chan, uint64_t number)
{
    if (chan->completed >= number) return ISTHMUS_OK;
    uint64_t all = chan->submitted;
    isthmus_status status = p2p_ask_for_mark(chan, number);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_unlock(&chan->lock);
    if (p2p_is_marked_soon(chan, number))
        all = number;
    else
        status = chan->tr->driver->stream_wait(chan->tr->gpu, chan->stream);
    pthread_mutex_lock(&chan->lock);
    if (status == ISTHMUS_OK) p2p_note_completed(chan, all);
    return status;
}

/* Waits in the driver for all that was submitted: a copy into or from host memory has usually waited there already. */
static isthmus_status wait_for_driver(isthmus_chan *chan)
{
    uint64_t all = chan->submitted;
    pthread_mutex_unlock(&chan->lock);
    isthmus_status status = chan->tr->driver->stream_wait(chan->tr->gpu, chan->stream);
    pthread_mutex_lock(&chan->lock);
    if (status == ISTHMUS_OK) p2p_note_completed(chan, all);
    return status;
}

/* ---- put and get ---- */

/* Gets of other threads that have arrived take the lock to be over. */
static void let_others(isthmus_chan *chan)
{
    pthread_mutex_unlock(&chan->lock);
    sched_yield();
    pthread_mutex_lock(&chan->lock);
}

/* Returns room in the channel's memory. With the lock; the caller owns the room until it releases the lock. */
static isthmus_status stage_take(isthmus_chan *chan, size_t length_bytes, char **out)
{
    size_t take = (length_bytes + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
    while (chan->stage_used + take > STAGE_BYTES) {
        isthmus_status status = p2p_wait_for(chan, chan->submitted);
        if (status != ISTHMUS_OK) return status;
        if (chan->n_gets > 0) let_others(chan);
    }
    *out = chan->stage + chan->stage_used;
    chan->stage_used += take;
    return ISTHMUS_OK;
}

isthmus_status p2p_put_staged(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes)
{
    char *piece;
    isthmus_status status = stage_take(chan, length_bytes, &piece);
    if (status != ISTHMUS_OK) return status;
    memcpy(piece, source, length_bytes);
    return submit_copy(chan, dest, piece, length_bytes);
}

/* The caller's memory is in use until `borrowed` is done. */
static isthmus_status copy_borrowing(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes)
{
    isthmus_status status = submit_copy(chan, dest, source, length_bytes);
    if (status == ISTHMUS_OK) chan->borrowed = chan->submitted;
    return status;
}

static isthmus_status copy_and_wait(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes,
                                    bool is_on_host)
{
    isthmus_status status = copy_borrowing(chan, dest, source, length_bytes);
    if (status != ISTHMUS_OK) return status;
    return is_on_host ? wait_for_driver(chan) : p2p_wait_for(chan, chan->submitted);
}

/* A few bytes of a device by way of the channel's memory, which costs less than the driver's own way to any memory. */
static isthmus_status get_staged(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes)
{
    char *piece;
    isthmus_status status = stage_take(chan, length_bytes, &piece);
    if (status == ISTHMUS_OK) status = submit_copy(chan, piece, source, length_bytes);
    if (status != ISTHMUS_OK) return status;
    chan->n_gets++;
    status = p2p_wait_for(chan, chan->submitted);
    if (status == ISTHMUS_OK) memcpy(dest, piece, length_bytes);
    chan->n_gets--;
    p2p_note_completed(chan, chan->completed);
    return status;
}

static bool is_on_host(const isthmus_lmem *mem) { return mem == NULL || mem->kind == ISTHMUS_MEM_HOST; }

/* With the lock. */
static isthmus_status put_from_host(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes)
{
    if (is_word(chan->tr, dest, length_bytes)) return submit_word(chan, dest, source, length_bytes);
    return length_bytes <= PIECE_BYTES ? p2p_put_staged(chan, dest, source, length_bytes)
                                       : copy_and_wait(chan, dest, source, length_bytes, true);
}

static isthmus_status p2p_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                              uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                              size_t length_bytes)
{
    (void)path;
    char *dest = remote->addr + remote_offset_bytes;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = is_on_host(source_mem) ? put_from_host(chan, dest, source, length_bytes)
                                                   : copy_and_wait(chan, dest, source, length_bytes, false);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

static isthmus_status p2p_put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                                  size_t length_bytes)
{
    (void)path;
    char *dest = remote->addr + remote_offset_bytes;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = is_on_host(source_mem) && is_word(chan->tr, dest, length_bytes)
                                ? submit_word(chan, dest, source, length_bytes)
                                : copy_borrowing(chan, dest, source, length_bytes);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

static isthmus_status p2p_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                              uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                              size_t length_bytes)
{
    (void)path;
    const char *source = remote->addr + remote_offset_bytes;
    bool is_to_host = is_on_host(dest_mem);
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = is_to_host && length_bytes <= PIECE_BYTES
                                ? get_staged(chan, dest, source, length_bytes)
                                : copy_and_wait(chan, dest, source, length_bytes, is_to_host);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

static isthmus_status p2p_get_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t remote_offset_bytes, void *dest, const isthmus_lmem *dest_mem,
                                  size_t length_bytes)
{
    (void)path, (void)dest_mem;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = copy_borrowing(chan, dest, remote->addr + remote_offset_bytes, length_bytes);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

/* ---- order ---- */

static isthmus_status p2p_fence(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path; /* a stream is in order */
    return ISTHMUS_OK;
}

static isthmus_status p2p_local_complete(isthmus_chan *chan, isthmus_path *path)
{
    (void)path;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = p2p_wait_for(chan, chan->borrowed);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

static isthmus_status p2p_remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    (void)path;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = p2p_wait_for(chan, chan->submitted);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

/* ---- commits without a wait ----
 * Complete when the stream's mark has passed the ticket, which is one more than the number of an operation. */

static isthmus_status p2p_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    (void)path;
    pthread_mutex_lock(&chan->lock);
    isthmus_status status = chan->completed < chan->submitted ? p2p_ask_for_mark(chan, chan->submitted) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) *ticket = chan->submitted + 1;
    pthread_mutex_unlock(&chan->lock);
    return status;
}

/* A device that has failed writes no mark: the driver reports that when the mark is requested once more. */
static isthmus_status p2p_commit_test(isthmus_chan *chan, uint64_t ticket)
{
    enum { ASK_AGAIN_EVERY = 1 << 14 };
    isthmus_tr *tr = chan->tr;
    isthmus_status status = ISTHMUS_OK;
    pthread_mutex_lock(&chan->lock);
    uint64_t marked = __atomic_load_n(chan->mark, __ATOMIC_ACQUIRE);
    if (marked > chan->completed) p2p_note_completed(chan, marked);
    if (chan->completed + 1 < ticket) {
        if (++chan->n_tests % ASK_AGAIN_EVERY == 0)
            status = tr->driver->write(tr->gpu, chan->stream, chan->mark, chan->submitted, sizeof *chan->mark);
        if (status == ISTHMUS_OK) status = ISTHMUS_ERR_AGAIN;
    }
    pthread_mutex_unlock(&chan->lock);
    return status;
}

uint32_t p2p_is_idle(isthmus_tr *tr, isthmus_chan *chan)
{
    (void)tr;
    pthread_mutex_lock(&chan->lock);
    bool is_idle = chan->completed == chan->submitted;
    pthread_mutex_unlock(&chan->lock);
    return is_idle;
}

/* ---- open and close ---- */

isthmus_status p2p_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                struct isthmus_data_ops *ops)
{
    (void)thread_mode, (void)ctx_options; /* the lock costs nothing beside a submission, so both modes are one */
    const struct isthmus_services *s = tr->services;
    bool has_marks = tr->driver->write != NULL;
    const struct isthmus_data_ops all = {
        .put = p2p_put,
        .put_nbi = p2p_put_nbi,
        .get = p2p_get,
        .get_nbi = p2p_get_nbi,
        .amo_entry = p2p_amo_entry,
        .fence = p2p_fence,
        .local_complete = p2p_local_complete,
        .remote_commit = p2p_remote_commit,
        .commit_start = has_marks ? p2p_commit_start : NULL,
        .commit_test = has_marks ? p2p_commit_test : NULL,
    };
    isthmus_chan *chan = calloc(1, sizeof *chan);
    if (chan == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a channel");
    chan->tr = tr;
    pthread_mutex_init(&chan->lock, NULL);
    void *stage = NULL;
    isthmus_status status = tr->driver->host_alloc(tr->gpu, STAGE_BYTES, &stage);
    chan->stage = stage;
    chan->result = stage;
    chan->mark = chan->result + 1;
    chan->batches = (struct p2p_batch *)(void *)(chan->mark + 1);
    if (status == ISTHMUS_OK) *chan->mark = 0;
    chan->stage_used = P2P_STAGE_FIRST;
    if (status == ISTHMUS_OK) status = tr->driver->stream_open(tr->gpu, &chan->stream);
    if (status != ISTHMUS_OK) {
        p2p_channel_close(chan);
        return status;
    }
    isthmus_write_out(ops, &all, sizeof all);
    *out = chan;
    return ISTHMUS_OK;
}

void p2p_channel_close(isthmus_chan *chan)
{
    if (chan == NULL) return;
    isthmus_tr *tr = chan->tr;
    if (chan->stream != NULL) tr->driver->stream_close(tr->gpu, chan->stream);
    if (chan->stage != NULL) tr->driver->host_free(tr->gpu, chan->stage);
    pthread_mutex_destroy(&chan->lock);
    free(chan);
}

/* core/stream/item.c: see stream_priv.h. Posting, and the end of an item; the threads are in worker.c. */
#include "core/stream/stream_priv.h"

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/ctx/ctx.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { LOOK_EVERY_MS = 100 };

struct ist_item_done {
    bool is_set;
};

static struct {
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    struct ist_item *free;
    uint64_t n_made, n_pending;
    pthread_mutex_t post_lock; /* the two entries of an item follow one another, even if other threads use the stream */
} items = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .post_lock = PTHREAD_MUTEX_INITIALIZER};

static isthmus_tr *tr(void) { return ist_streams.transport->handle; }

/* ---- waiting for items ---- */

/* A device that has failed runs no host function any more, and reports that only to calls. */
static void require_device(const char *routine)
{
    uint64_t word;
    isthmus_status status = ist_streams.memory->copy(tr(), &word, ist_streams.mem.addr, sizeof word);
    if (status != ISTHMUS_OK) ist_die(routine, status);
}

/* With the lock; for something to change, or a moment. */
static void wait_a_moment(const char *routine)
{
    struct timespec until = ist_clock_until_ms(LOOK_EVERY_MS);
    if (ist_clock_wait(&items.changed, &items.lock, &until) != ETIMEDOUT) return;
    pthread_mutex_unlock(&items.lock);
    require_device(routine);
    pthread_mutex_lock(&items.lock);
}

void ist_items_wait(const char *routine)
{
    ist_note_call(IST_NOTE_TRANSPORT, routine, -1);
    pthread_mutex_lock(&items.lock);
    while (items.n_pending > 0) wait_a_moment(routine);
    pthread_mutex_unlock(&items.lock);
    ist_note_over();
}

bool ist_items_are_pending(void) { return ist_load_acquire(&items.n_pending) > 0; }

/* ---- one item ---- */

/* The first time an item is made its word is zero. */
static struct ist_item *make(const char *routine)
{
    struct ist_item *item = calloc(1, sizeof *item);
    if (item == NULL) ist_die(routine, ist_fail_memory("an operation on a stream"));
    item->word = (uint64_t *)ist_streams.mem.addr + items.n_made++;
    return item;
}

/* There are thousands of words: when all are in use, a platform's own queue is long full. */
static struct ist_item *take(const char *routine)
{
    pthread_mutex_lock(&items.lock);
    while (items.free == NULL && items.n_made == IST_ITEM_WORDS) wait_a_moment(routine);
    struct ist_item *item = items.free;
    if (item != NULL)
        items.free = item->next;
    else
        item = make(routine);
    ist_store_release(&items.n_pending, items.n_pending + 1);
    pthread_mutex_unlock(&items.lock);
    return item;
}

static void put_back(struct ist_item *item)
{
    pthread_mutex_lock(&items.lock);
    item->next = items.free;
    items.free = item;
    ist_store_release(&items.n_pending, items.n_pending - 1);
    pthread_cond_broadcast(&items.changed);
    pthread_mutex_unlock(&items.lock);
}

/* With the lock also for the item that the stream lets run next: this item's work is ordered before it. */
static void tell_done(const struct ist_item *item)
{
    pthread_mutex_lock(&items.lock);
    if (item->done != NULL) item->done->is_set = true;
    pthread_cond_broadcast(&items.changed);
    pthread_mutex_unlock(&items.lock);
}

void ist_item_run(struct ist_item *item)
{
    (void)item->call.run(&item->call); /* whose result no thread waits for */
    free(item->call.copies);
    tell_done(item);
}

void ist_item_end(struct ist_item *item)
{
    const char *routine = item->call.transfer.routine;
    isthmus_status status = ist_streams.memory->copy(tr(), item->word, &item->turn, sizeof item->turn);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    put_back(item);
}

/* ---- posting ---- */

/* Here, and not when the item runs: some calls of a platform's wait for streams, which then wait for the item. */
static void prepare(const char *routine)
{
    ist_workers_begin(routine);
    (void)ist_ctx_channel(&ist_ctx_default, ist_streams.number, routine);
}

/* `list` NULL: the wait is launched alone. */
static void post(void *stream, const struct ist_stream_call *call, struct ist_item_done *done,
                 struct isthmus_stream_word *list, uint32_t n)
{
    const struct isthmus_stream *ops = ist_streams.ops;
    prepare(call->transfer.routine);
    struct ist_item *item = take(call->transfer.routine);
    item->call = *call;
    item->done = done;
    uint64_t turn = ++item->turn; /* after the first entry is queued, the item is no longer ours */
    const uint64_t *word = item->word;
    pthread_mutex_lock(&items.post_lock);
    isthmus_status status = ops->host_function(tr(), stream, ist_worker_may_run, item);
    if (list != NULL) list[0] = (struct isthmus_stream_word){.word = word, .value = turn};
    if (status == ISTHMUS_OK)
        status = list != NULL ? ops->words(tr(), stream, list, n)
                              : ops->wait_until(tr(), stream, word, ISTHMUS_COMPARE_GE, turn);
    pthread_mutex_unlock(&items.post_lock);
    if (status != ISTHMUS_OK) ist_die(call->transfer.routine, status);
}

void ist_item_post(void *stream, const struct ist_stream_call *call, struct ist_item_done *done)
{
    post(stream, call, done, NULL, 0);
}

void ist_item_post_before(void *stream, const struct ist_stream_call *call, struct isthmus_stream_word *list,
                          uint32_t n)
{
    post(stream, call, NULL, list, n);
}

void ist_item_post_and_wait(void *stream, const struct ist_stream_call *call)
{
    struct ist_item_done done = {.is_set = false};
    ist_item_post(stream, call, &done);
    pthread_mutex_lock(&items.lock);
    while (!done.is_set) wait_a_moment(call->transfer.routine);
    pthread_mutex_unlock(&items.lock);
}

/* ---- life ---- */

/* Waits for a word that holds already, to test whether the platform lets a stream wait on such memory. */
isthmus_status ist_items_open(void)
{
    return ist_streams.ops->wait_until(tr(), NULL, ist_streams.mem.addr, ISTHMUS_COMPARE_GE, 0);
}

void ist_items_close(void)
{
    ist_workers_end();
    for (struct ist_item *item; (item = items.free) != NULL; free(item)) items.free = item->next;
    items.n_made = 0;
}

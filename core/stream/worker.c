/* core/stream/worker.c: see stream_priv.h. A thread is created when an item may run and all workers are busy. */
#include "core/stream/stream_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/sync/spin.h"
#include "core/transport/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    pthread_t thread;
    struct worker *next;
};

static struct {
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t called;
    struct worker *list;
    struct ist_item *first, **last; /* may run */
    uint32_t n_ready, n_idle;       /* idle: about to take one, also while they start and wake */
    bool must_end, has_warned;
} workers = {.lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER, .last = &workers.first};

/* With the lock. NULL: the workers are to end. */
static struct ist_item *next_item(void)
{
    while (workers.first == NULL && !workers.must_end) pthread_cond_wait(&workers.called, &workers.lock);
    struct ist_item *item = workers.first;
    workers.n_idle--;
    if (item == NULL) return NULL;
    workers.first = item->next;
    if (workers.first == NULL) workers.last = &workers.first;
    workers.n_ready--;
    return item;
}

static void *work(void *unused)
{
    (void)unused;
    ist_spin_is_beside = true;
    pthread_mutex_lock(&workers.lock);
    for (struct ist_item *item; (item = next_item()) != NULL;) {
        pthread_mutex_unlock(&workers.lock);
        ist_item_run(item);
        pthread_mutex_lock(&workers.lock);
        workers.n_idle++; /* before the stream goes on: its next item finds this thread */
        pthread_mutex_unlock(&workers.lock);
        ist_item_end(item);
        pthread_mutex_lock(&workers.lock);
    }
    pthread_mutex_unlock(&workers.lock);
    return NULL;
}

/* With the lock. 0, or an error number. */
static int add_worker(void)
{
    struct worker *worker = malloc(sizeof *worker);
    if (worker == NULL) return ENOMEM;
    int error = ist_quiet_thread_create(&worker->thread, "isthmus stream", work, NULL);
    if (error != 0) {
        free(worker);
        return error;
    }
    worker->next = workers.list;
    workers.list = worker;
    workers.n_idle++;
    return 0;
}

void ist_workers_begin(const char *routine)
{
    pthread_mutex_lock(&workers.lock);
    int error = workers.list == NULL ? add_worker() : 0;
    pthread_mutex_unlock(&workers.lock);
    if (error != 0)
        ist_die(routine,
                ist_fail(ISTHMUS_ERR_NO_MEMORY,
                         "cannot start a thread for operations on streams: pthread_create: %s; raise 'ulimit -u'",
                         strerror(error)));
}

/* Without another thread the item waits for a busy one. */
void ist_worker_may_run(void *argument)
{
    struct ist_item *item = argument;
    pthread_mutex_lock(&workers.lock);
    item->next = NULL;
    *workers.last = item;
    workers.last = &item->next;
    if (++workers.n_ready > workers.n_idle && add_worker() != 0 && !workers.has_warned) {
        workers.has_warned = true;
        ist_warn(
            "cannot start another thread for operations on streams, so that streams may wait for one another; raise "
            "'ulimit -u'");
    }
    pthread_cond_signal(&workers.called);
    pthread_mutex_unlock(&workers.lock);
}

void ist_workers_end(void)
{
    pthread_mutex_lock(&workers.lock);
    workers.must_end = true;
    struct worker *list = workers.list;
    workers.list = NULL;
    pthread_cond_broadcast(&workers.called);
    pthread_mutex_unlock(&workers.lock);
    for (struct worker *worker; (worker = list) != NULL; free(worker)) {
        list = worker->next;
        pthread_join(worker->thread, NULL);
    }
    workers.must_end = false;
}

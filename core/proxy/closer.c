/* core/proxy/closer.c: see lane.h. */
#include "core/proxy/lane.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/thread.h"
#include "core/check/check.h"
#include "core/sync/spin.h"
#include "core/transport/progress.h"

#include <sched.h>
#include <string.h>

enum { HOT_POLLS = 256, AWAKE_NS = 50000 }; /* without a look at the clock; after the last batch */

static struct {
    struct ist_batch *batch; /* NULL: it is free */
    struct ist_requests *requests;
    bool is_running, must_end;
    pthread_t thread;
    pthread_mutex_t lock; /* for sleeping and waking */
    pthread_cond_t changed;
} closer = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool has_news(void) { return ist_load_acquire(&closer.batch) != NULL || ist_load_acquire(&closer.must_end); }

/* Kernels that make one quiet soon make another one, and to be woken takes longer. */
static void stay_awake(void)
{
    uint64_t end_ns = 0;
    for (uint32_t polls = 0; !has_news(); polls++) {
        if (polls < HOT_POLLS) {
            ist_pause();
            continue;
        }
        uint64_t now_ns = ist_clock_ns();
        if (end_ns == 0) end_ns = now_ns + AWAKE_NS;
        if (now_ns >= end_ns) return;
        sched_yield();
    }
}

static void *run(void *unused)
{
    struct ist_batch *batch;
    (void)unused;
    ist_spin_is_beside = true;
    ist_check_enter(); /* these operations are checked as the server's, if at all */
    for (;;) {
        stay_awake();
        pthread_mutex_lock(&closer.lock);
        while ((batch = closer.batch) == NULL && !closer.must_end) pthread_cond_wait(&closer.changed, &closer.lock);
        pthread_mutex_unlock(&closer.lock);
        if (batch == NULL) return NULL;
        ist_batch_complete(batch);
        ist_batch_report(batch, closer.requests);
        ist_store_release(&closer.batch, NULL); /* pairs with the acquire in ist_closer_is_free() */
    }
}

bool ist_closer_is_free(void) { return ist_load_acquire(&closer.batch) == NULL; }

static void start(void)
{
    closer.must_end = false;
    int error = ist_quiet_thread_create(&closer.thread, "isthmus closer", run, NULL);
    if (error != 0)
        ist_die(ist_batch_routine,
                ist_fail(ISTHMUS_ERR_NO_MEMORY,
                         "cannot start another thread for kernels' requests: pthread_create: %s; raise 'ulimit -u'",
                         strerror(error)));
    closer.is_running = true;
}

void ist_closer_take(struct ist_batch *batch, struct ist_requests *requests)
{
    closer.requests = requests;
    pthread_mutex_lock(&closer.lock);
    ist_store_release(&closer.batch, batch); /* pairs with the acquire in has_news() */
    pthread_cond_signal(&closer.changed);
    pthread_mutex_unlock(&closer.lock);
    if (!closer.is_running) start();
}

void ist_closer_end(void)
{
    if (!closer.is_running) return;
    pthread_mutex_lock(&closer.lock);
    ist_store_release(&closer.must_end, true);
    pthread_cond_signal(&closer.changed);
    pthread_mutex_unlock(&closer.lock);
    pthread_join(closer.thread, NULL);
    closer.is_running = false;
}

void ist_closer_forget(void)
{
    pthread_mutex_init(&closer.lock, NULL);
    pthread_cond_init(&closer.changed, NULL);
    closer.is_running = false;
    closer.batch = NULL;
}

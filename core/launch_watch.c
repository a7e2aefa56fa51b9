/* core/launch_watch.c: while the launcher's server is asked for the job. A server that greets a PE which is stopped then may serve no other
 * one (PMIx 4.2), so that the calls to it last for ever, and its launcher does not hear of an end either. So a thread looks after
 * the next process of the job on this host until the calls have returned, and ends the job with it.
 * Not under isthmus-run, which sees stops by itself. What comes after is in host_pes.c. */
#include "core/runtime.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/note.h"
#include "core/base/process.h"
#include "core/siblings.h"
#include "core/topo/host_id.h"
#include "core/transport/quiet_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 250 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t over;
    pthread_t thread;
    bool is_running, is_over;
    int32_t pid; /* of the next one; 0: it is not known so far */
    int pe;
    unsigned stopped_ms; /* by looks, not by the clock: a job that is suspended as a whole loses nobody */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

/* The server goes on when the stopped process has ended, and the launcher hears of both. */
static _Noreturn void end_with(int pe, int32_t pid)
{
    if (ist_fatal_claim())
        ist_error("PE %d on %s (pid %d) has been stopped for %u s (SIGSTOP?) while the job started, and is killed; "
                  "ISTHMUS_PULSE_TIMEOUT=0 waits for it",
                  pe, ist_host_name(), (int)pid, (unsigned)ist_runtime.config.pulse_timeout_s);
    kill((pid_t)pid, SIGKILL);
    ist_fatal_yield();
    ist_end_job(EXIT_FAILURE);
}

static void look(void)
{
    struct ist_process process;
    if (watch.pid == 0) watch.pe = ist_sibling_next(&watch.pid);
    if (watch.pid == 0 || !ist_process_read(watch.pid, &process) || process.state != 'T') {
        watch.stopped_ms = 0;
        return;
    }
    if (!ist_siblings_are_suspended()) watch.stopped_ms += LOOK_EVERY_MS;
    if (watch.stopped_ms < ist_runtime.config.pulse_timeout_s * 1000) return;
    if (ist_sibling_is(watch.pe, watch.pid)) end_with(watch.pe, watch.pid);
    watch.pid = 0; /* it has ended, and somebody else has its number */
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (!watch.is_over) {
        struct timespec until = ist_clock_until_ms(LOOK_EVERY_MS);
        if (pthread_cond_timedwait(&watch.over, &watch.lock, &until) == 0) continue;
        pthread_mutex_unlock(&watch.lock);
        look();
        pthread_mutex_lock(&watch.lock);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* Without a thread there is no watch, and nothing else is amiss. */
void ist_launch_watch_begin(void)
{
    bool has_server = ist_config_plugin_value("PMIX_NAMESPACE") != NULL;
    bool sees_stops = ist_note_page != NULL && ist_note_page->launcher != 0;
    if (!has_server || sees_stops || ist_runtime.config.pulse_timeout_s == 0) return;
    watch.is_over = false;
    watch.pid = 0;
    watch.stopped_ms = 0;
    watch.is_running = ist_quiet_thread_create(&watch.thread, "isthmus-launch", run) == 0;
}

void ist_launch_watch_end(void)
{
    if (!watch.is_running) return;
    pthread_mutex_lock(&watch.lock);
    watch.is_over = true;
    pthread_cond_signal(&watch.over);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    watch.is_running = false;
}

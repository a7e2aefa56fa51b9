/* core/life/launch_watch.c: the watch during requests to the launcher's server. A server that is connecting a PE which
 * gets stopped may serve no other one (PMIx 4.2), so that calls to it never return, and its launcher does not notice an
 * end either. So until the calls return, a thread watches the next process of the job on this host, and ends the job if
 * that is stopped.
 * What it gains: such a job ends after ISTHMUS_PULSE_TIMEOUT (5 s), as after every other stop, and names the PE.
 * Without it the job hangs until a user ends it: ISTHMUS_START_TIMEOUT is counted from the open bootstrap on, and an
 * end of the waiting PEs alone would leave launcher, server and the stopped PE behind, because the server goes on only
 * when the stopped process has ended. Random stops of PEs find it (tests/faults), a test hits it (r13_stopped,
 * greeted). Not under isthmus-run, which detects stops by itself. Later waits are in processes.c. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/note.h"
#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHECK_EVERY_MS = 250 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t over;
    pthread_t thread;
    bool is_running, is_over;
    int32_t pid; /* of the next one; 0: not known yet */
    int pe;
    unsigned stopped_ms; /* counted in polls, not by the clock: a job that is suspended as a whole loses no PE */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

/* The server continues when the stopped process has ended, and the launcher detects both ends. */
static _Noreturn void end_with(int pe, int32_t pid)
{
    if (ist_verdict_claim())
        ist_error("PE %d on %s (pid %d) has been stopped for %u s (SIGSTOP?) while the job started, and is killed; "
                  "ISTHMUS_PULSE_TIMEOUT=0 waits for it",
                  pe, ist_host_name(), (int)pid, (unsigned)ist_runtime.config.pulse_timeout_s);
    kill((pid_t)pid, SIGKILL);
    ist_fatal_yield();
    ist_end_job(EXIT_FAILURE);
}

static void check(void)
{
    struct ist_process process;
    if (watch.pid == 0) watch.pe = ist_sibling_next(&watch.pid);
    if (watch.pid == 0 || !ist_process_read(watch.pid, &process) || process.state != 'T') {
        watch.stopped_ms = 0;
        return;
    }
    if (!ist_siblings_are_suspended()) watch.stopped_ms += CHECK_EVERY_MS;
    if (watch.stopped_ms < ist_runtime.config.pulse_timeout_s * 1000) return;
    if (ist_sibling_is(watch.pe, watch.pid)) end_with(watch.pe, watch.pid);
    watch.pid = 0; /* it has ended, and another process has its number */
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (!watch.is_over) {
        struct timespec until = ist_clock_until_ms(CHECK_EVERY_MS);
        if (ist_clock_wait(&watch.over, &watch.lock, &until) == 0) continue;
        pthread_mutex_unlock(&watch.lock);
        check();
        pthread_mutex_lock(&watch.lock);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* Without a thread there is no watch, which is no failure. */
void ist_launch_watch_begin(void)
{
    bool has_server = ist_config_plugin_value("PMIX_NAMESPACE") != NULL;
    bool sees_stops = ist_note_page != NULL && ist_note_page->launcher != 0;
    if (!has_server || sees_stops || ist_runtime.config.pulse_timeout_s == 0) return;
    watch.is_over = false;
    watch.pid = 0;
    watch.stopped_ms = 0;
    watch.is_running = ist_quiet_thread_create(&watch.thread, "isthmus-launch", run, NULL) == 0;
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

/* core/transport/progress.c: see progress.h.
 * The thread polls the transports' descriptors and one of its own, on which stop() is told. */
#include "core/transport/progress.h"

#include "core/base/atomic.h"
#include "core/base/log.h"
#include "core/transport/registry.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct {
    bool is_running;
    pthread_t thread;
    int stop_fd;
    uint32_t n_sources;
    struct pollfd fds[IST_MAX_TRANSPORTS + 1]; /* the last one is stop_fd */
    struct ist_transport *sources[IST_MAX_TRANSPORTS];
    pthread_mutex_t lock; /* one caller of the progress slots at a time */
    bool has_loss;        /* loss is written once, before this is set */
    char loss[400];
} progress = {.stop_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* A lost peer ends the job where somebody waits for it; a PE that leaves in good order is not waited for. */
static void note_failure(const struct ist_transport *t, isthmus_status status)
{
    if (status != ISTHMUS_ERR_PEER_LOST) {
        ist_warn("transport %s: progress failed: %s", t->name, ist_fail_text());
    } else if (!progress.has_loss) {
        ist_info("%s", ist_fail_text());
        snprintf(progress.loss, sizeof progress.loss, "%s", ist_fail_text());
        ist_store_release(&progress.has_loss, true); /* pairs with the acquire in ist_progress_loss() */
    }
}

const char *ist_progress_loss(void) { return ist_load_acquire(&progress.has_loss) ? progress.loss : NULL; }

static void progress_locked(void)
{
    for (uint32_t i = 0; i < progress.n_sources; i++) {
        struct ist_transport *t = progress.sources[i];
        int32_t n = t->ops.progress(t->handle);
        if (n < 0) note_failure(t, n);
    }
}

void ist_progress_poll(void)
{
    if (progress.n_sources == 0 || pthread_mutex_trylock(&progress.lock) != 0) return;
    progress_locked();
    pthread_mutex_unlock(&progress.lock);
}

/* Every transport says on which descriptor to sleep. false: one of them has work now. */
static bool arm_all(void)
{
    for (uint32_t i = 0; i < progress.n_sources; i++) {
        struct ist_transport *t = progress.sources[i];
        int32_t fd = -1;
        isthmus_status status = t->ops.arm(t->handle, &fd);
        if (status == ISTHMUS_ERR_AGAIN) return false;
        if (status != ISTHMUS_OK) ist_warn("transport %s: cannot sleep on it: %s", t->name, ist_fail_text());
        progress.fds[i].fd = fd; /* -1: poll leaves it out */
    }
    return true;
}

static void *run(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&progress.lock);
        progress_locked();
        bool can_sleep = arm_all();
        pthread_mutex_unlock(&progress.lock);
        int ready = poll(progress.fds, progress.n_sources + 1, can_sleep ? -1 : 0);
        if (ready < 0 && errno != EINTR) {
            ist_warn("progress thread: poll: %s", strerror(errno));
            return NULL;
        }
        if (progress.fds[progress.n_sources].revents != 0) return NULL;
    }
}

/* Signals belong to the program's threads. */
static int create_quiet_thread(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    int error = pthread_create(&progress.thread, &attributes, run, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) pthread_setname_np(progress.thread, "isthmus");
    return error;
}

/* Those that ever have anything to do. */
static void collect_sources(void)
{
    progress.n_sources = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        int32_t fd = -1;
        if (t->state != IST_TRANSPORT_OPEN || (t->ops.arm(t->handle, &fd) == ISTHMUS_OK && fd < 0)) continue;
        progress.sources[progress.n_sources] = t;
        progress.fds[progress.n_sources++] = (struct pollfd){.fd = -1, .events = POLLIN};
    }
}

isthmus_status ist_progress_start(void)
{
    collect_sources();
    if (progress.n_sources == 0) return ISTHMUS_OK;
    progress.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (progress.stop_fd < 0) return ist_fail_errno(ISTHMUS_ERR_NO_MEMORY, "progress thread: eventfd");
    progress.fds[progress.n_sources] = (struct pollfd){.fd = progress.stop_fd, .events = POLLIN};
    int error = create_quiet_thread();
    if (error != 0) {
        close(progress.stop_fd);
        progress.stop_fd = -1;
        return ist_fail(ISTHMUS_ERR_NO_MEMORY, "progress thread: pthread_create: %s", strerror(error));
    }
    progress.is_running = true;
    return ISTHMUS_OK;
}

void ist_progress_stop(void)
{
    if (progress.is_running) {
        uint64_t one = 1;
        while (write(progress.stop_fd, &one, sizeof one) < 0 && errno == EINTR) {}
        pthread_join(progress.thread, NULL);
        close(progress.stop_fd);
    }
    progress.is_running = false;
    progress.stop_fd = -1;
    progress.n_sources = 0;
    progress.has_loss = false;
}

void ist_progress_forget(void)
{
    progress.is_running = false;
    progress.n_sources = 0;
    pthread_mutex_init(&progress.lock, NULL);
}

/* core/life/exit.c: how a PE ends when it does not call shmem_finalize and return: global_exit, exit before finalize,
 * return from main without finalize, start_pes.
 * The aim each time: no crash, no hang of other PEs, no resources left behind, and the exit status that the program
 * chose.
 * A PE that exits with status 0 and without finalize leaves: its operations are completed, it sets a word of its
 * symmetric memory, sends a bye to its neighbours on other hosts, and disconnects from the launcher. A peer that waits
 * in a collective for longer than a moment looks for these, because the collective will never complete. After an exit
 * with another status the launcher ends the job. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/atomic.h"
#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/note.h"
#include "core/base/process.h"
#include "core/coll/sync.h"
#include "core/ops/order.h"
#include "core/proxy/device.h"
#include "core/runtime.h"
#include "core/stream/stream.h"
#include "core/team/internal_area.h"
#include "core/transport/peer.h"
#include "core/transport/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_global_exit; /* exit() is running because of shmem_global_exit */
static bool has_forked;     /* this process is a child of a PE */
static pid_t pe_pid;        /* of the process that initialised; 0: none yet */
static bool is_within_call; /* exit() was called by a handler of a signal that has interrupted a call of the library */

/* A child of a PE is none. Not every child knows that: those of _Fork() in other libraries and of the system call clone
 * run no handlers. One of vfork() that calls exit() by mistake has this PE's memory, and must not end its session. */
static bool is_child(void) { return has_forked || (pe_pid != 0 && getpid() != pe_pid); }

void ist_exit_begin(void) { pe_pid = getpid(); }

/* A failed completion at exit is only logged: the peer may have left before, which is no error of the program. */
static void forgive(isthmus_status status)
{
    if (status != ISTHMUS_OK) ist_info("operations that were under way at exit: %s", ist_fail_text());
}

static void drain_one(ist_ctx *ctx) { forgive(ist_drain(ctx, "exit")); }

static void complete_operations(void)
{
    ist_device_leave(drain_one);
    ist_ctx_each(drain_one);
    ist_streams_leave();
    forgive(ist_drain_notices());
}

static void leave(void)
{
    if (!is_within_call) complete_operations();
    ist_store_release(&ist_internal_area()->has_left, 1); /* pairs with the acquire in has_left() */
    ist_liveness_leave(false);
    ist_info("this PE exits without shmem_finalize");
    ist_runtime.nesting = 0;
}

static bool has_session(void)
{
    return ist_runtime.boot != NULL || (ist_note_page != NULL && ist_note_page->phase == IST_PHASE_INIT);
}

/* A call that a signal has interrupted may hold locks, malloc's too, and transports may be in the midst of an
 * operation. So operations are not completed then, the progress thread is not joined, and what may block all the same,
 * such as destructors, or the walk over the frames if it has to load the unwinder, is bounded. */
static void check_for_call(int status)
{
    static bool is_checked;
    if (is_checked || is_child() || !has_session()) return;
    is_checked = true;
    ist_verdict_bound_exit(status);
    fflush(NULL);
    is_within_call = ist_exit_is_within_call();
    if (!is_within_call) ist_verdict_release_exit();
}

/* Runs after the program's own exit handlers, because it is registered before main. */
static void on_exit_handler(int status, void *unused)
{
    (void)unused;
    static bool has_run;
    if (has_run || is_child()) return; /* the parent's session is not the child's */
    has_run = true;
    check_for_call(status);
    if (is_global_exit && ist_runtime.boot != NULL) {
        fflush(NULL);
        ist_runtime.boot->ops->abort(ist_runtime.boot, status);
        _exit(status);
    }
    if (ist_runtime.nesting > 0 && status != 0) return; /* a failure: the launcher ends the job */
    if (ist_runtime.nesting > 0 && ist_runtime.finalize_at_exit && !is_within_call)
        ist_finalize("start_pes");
    else if (ist_runtime.nesting > 0)
        leave();
    ist_boot_leave();
}

void ist_exit_after_fork(void) { has_forked = true; }

/* Transports may have loaded libraries whose destructors run before a handler that was registered at load. global_exit
 * does not need those libraries, and the program's handlers run first. */
static void before_destructors(int status, void *unused)
{
    check_for_call(status);
    if (!is_global_exit) on_exit_handler(status, unused);
    if (is_within_call)
        ist_progress_halt();
    else if (!is_child())
        ist_progress_stop();
}

void ist_exit_before_destructors(void)
{
    static bool is_registered;
    if (!is_registered) is_registered = on_exit(before_destructors, NULL) == 0;
}

/* ---- threads that end, and not main by its return ----
 * A process ends with its last thread, but the launcher's library has one of its own, which lasts as long as the
 * session with the launcher: until the process ends. So the session ends before, with the first of these threads that
 * ends by itself once main has: main itself, and those that finalize. A later init opens another session. */

static pthread_key_t thread_end;

static void on_thread_end(void *unused)
{
    struct ist_process own;
    (void)unused;
    if (is_child() || !ist_process_read(getpid(), &own)) return;
    if (own.has_lost_main_thread || gettid() == getpid()) ist_runtime_end_idle_session();
}

void ist_exit_watch_thread(void) { (void)pthread_setspecific(thread_end, &thread_end); }

/* At load: the library stays loaded until the process ends (it is linked with -z nodelete), so the handler does too. */
__attribute__((constructor)) static void register_exit_handler(void)
{
    on_exit(on_exit_handler, NULL);
    if (pthread_key_create(&thread_end, on_thread_end) == 0) ist_exit_watch_thread();
}

_Noreturn void ist_exit_all(int exit_code)
{
    if (ist_runtime.boot == NULL) exit(exit_code);
    is_global_exit = true;
    exit(exit_code);
}

/* Returns true if this PE of our host has set the word in its memory that it has left. Of a PE never used as a peer
 * only the process state is checked. */
static bool has_left(int pe)
{
    const struct ist_peer *peer = ist_peer_known(pe);
    const struct ist_attached_extent *first = peer != NULL ? ist_peer_extent(peer, IST_SEGMENT_HEAP, 0) : NULL;
    const struct ist_internal_area *area = first != NULL ? (const void *)first->alias : NULL;
    return area != NULL && ist_load_acquire(&area->has_left) != 0; /* acquire: pairs with the release in leave() */
}

/* Called from long waits of any kind: ends the job if a transport has lost a PE. The delay allows for a PE that leaves
 * in good order, or that failed and has reported it. */
static void check_losses(int sightings_needed)
{
    static _Thread_local int sightings;
    const char *loss = ist_progress_loss();
    if (loss == NULL || ++sightings < sightings_needed) return;
    const char *routine = ist_sync_routine();
    ist_die(routine != NULL ? routine : "a wait", ist_fail(ISTHMUS_ERR_PEER_LOST, "%s", loss));
}

/* Called from long waits. A collective of all PEs cannot complete after one has left. The PE must be seen as gone for
 * longer than a launcher takes to end the job of a failed PE, whose failure has been reported already; it may also
 * leave in good order just after the collective that this PE is about to leave. */
void ist_exit_poll(void)
{
    enum { SIGHTINGS = 12 }; /* four a second */
    static _Thread_local int suspect = -1, sightings;
    const ist_boot *boot = ist_runtime.boot;
    if (boot == NULL) return;
    check_losses(SIGHTINGS);
    int left = ist_processes_poll();
    if (ist_sync_routine() == NULL) return; /* any PE may satisfy a wait on a variable */
    for (int i = 0; i < boot->n_local && left < 0; i++)
        if (has_left(boot->local_pes[i])) left = boot->local_pes[i];
    if (left < 0) left = ist_liveness_exited();
    sightings = left >= 0 && left == suspect ? sightings + 1 : 0;
    if (sightings >= SIGHTINGS)
        ist_misuse(ist_sync_routine(),
                   "waits for PE %d, which has exited without shmem_finalize; let every PE call it, or exit from none",
                   left);
    suspect = left;
}

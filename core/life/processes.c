/* core/life/processes.c: the PEs of this host as processes of the system: has one ended, is one stopped for too long?
 * Called from long waits. Where isthmus-run is the parent it detects stops by itself, also while no PE waits; other
 * launchers do not. What a peer's memory shows about it is in exit.c.
 * It opens no paths, and does little at a time: a host may have 128 PEs that all wait. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/clock.h"
#include "core/base/fatal.h"
#include "core/base/note.h"
#include "core/base/process.h"
#include "core/runtime.h"
#include "core/topo/topo.h"
#include "core/transport/peer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECKS_PER_POLL = 16, PID_UNKNOWN = 0, PID_HIDDEN = -1 };
/* The longest time counted between two polls of a wait; if more has passed, this process did not run. */
static const uint64_t most_per_poll_ns = 300000000;

static struct {
    pthread_mutex_t lock;           /* of all that follows; a caller that finds it taken skips the check */
    struct ist_boot_process *known; /* by index in local_pes; pid: or one of those above */
    int n, next, ended;             /* `ended`: the PE that has ended; -1: none */
    int stopped;                    /* a PE that is stopped; -1: none */
    uint64_t stopped_ns, polled_ns;
} pes = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = -1, .stopped = -1};

/* A process number may be reused; with its start time it names one process. */
static struct ist_boot_process with_start(int32_t pid)
{
    struct ist_process process;
    if (pid <= 0 || !ist_process_read(pid, &process)) return (struct ist_boot_process){.pid = PID_HIDDEN};
    return (struct ist_boot_process){.pid = pid, .started = process.started};
}

/* The card is freed again: a PE never used as a peer costs 8 bytes here. */
static struct ist_boot_process find_on_card(int pe)
{
    static const struct ist_boot_process hidden = {.pid = PID_HIDDEN};
    struct ist_card card;
    void *bytes;
    size_t n_bytes;
    const ist_boot *boot = ist_runtime.boot;
    if (boot->ops->get(ist_runtime.boot, pe, ist_peers_card_key(), &bytes, &n_bytes) != ISTHMUS_OK) return hidden;
    if (ist_card_read(bytes, n_bytes, &card) != ISTHMUS_OK) return hidden;
    int32_t pid = card.pid;
    ist_card_fini(&card);
    return pid > 0 && ist_sibling_is(pe, pid) ? with_start(pid) : hidden;
}

static struct ist_boot_process find(int place)
{
    const ist_boot *boot = ist_runtime.boot;
    if (boot->local_pes[place] == boot->pe) return (struct ist_boot_process){.pid = PID_HIDDEN};
    if (boot->local_processes == NULL) return find_on_card(boot->local_pes[place]);
    struct ist_boot_process known = boot->local_processes[place], here = with_start(known.pid);
    if (here.started != known.started) here.pid = PID_HIDDEN; /* it may be in another container */
    return here;
}

/* Returns 'X' if it has ended, and 0 if its state is unknown or isthmus-run watches it. */
static char state_of(int place)
{
    struct ist_process process;
    struct ist_boot_process *known = &pes.known[place];
    if (known->pid == PID_UNKNOWN) *known = find(place);
    if (known->pid == PID_HIDDEN) return 0;
    if (!ist_process_read(known->pid, &process)) return kill(known->pid, 0) != 0 && errno == ESRCH ? 'X' : 0;
    if (process.started != known->started) return 'X';
    bool is_child_of_launcher = ist_note_page != NULL && process.parent == ist_note_page->launcher;
    return process.state == 'T' && is_child_of_launcher ? 0 : process.state;
}

static void check_next(void)
{
    int n_checks = pes.n < CHECKS_PER_POLL ? pes.n : CHECKS_PER_POLL;
    for (int i = 0; i < n_checks; i++) {
        pes.next = (pes.next + 1) % pes.n;
        char state = state_of(pes.next);
        if (state == 'X') pes.ended = pes.next;
        if (state == 'T' && pes.stopped < 0) pes.stopped = pes.next;
    }
}

static _Noreturn void report_stopped(void)
{
    char text[400];
    bool has_launcher = ist_life_request()->kind != IST_BOOTSTRAP_UID;
    snprintf(text, sizeof text,
             "PE %d on %s (pid %d) has been stopped for %u s (SIGSTOP?)%s; ISTHMUS_PULSE_TIMEOUT=0 waits for it",
             ist_runtime.boot->local_pes[pes.stopped], ist_host_name(), (int)pes.known[pes.stopped].pid,
             (unsigned)ist_runtime.config.pulse_timeout_s, has_launcher ? "" : " and is killed");
    if (!has_launcher) ist_verdict_condemn(pes.known[pes.stopped].pid);
    ist_end_job_saying(text);
}

/* Counts the time between polls and not the clock's: while this PE does not run, it does not wait for the other. */
static void count_stop(uint64_t since_ns)
{
    if (state_of(pes.stopped) != 'T') {
        pes.stopped = -1;
        pes.stopped_ns = 0;
        return;
    }
    if (!ist_siblings_are_suspended()) pes.stopped_ns += since_ns < most_per_poll_ns ? since_ns : most_per_poll_ns;
    if (pes.stopped_ns >= ist_runtime.config.pulse_timeout_s * 1000000000u) report_stopped();
}

static bool has_table(void)
{
    const ist_boot *boot = ist_runtime.boot;
    if (boot->n_local < 2) return false;
    if (pes.known == NULL) {
        pes.known = calloc((size_t)boot->n_local, sizeof *pes.known);
        pes.n = pes.known != NULL ? boot->n_local : 0;
        while (pes.n > 0 && boot->local_pes[pes.next] != boot->pe) pes.next++; /* each PE starts at another one */
    }
    return pes.n > 0;
}

static void poll_by(void (*check)(void))
{
    uint64_t now = ist_clock_ns(), since_ns = now - pes.polled_ns;
    pes.polled_ns = now;
    if (pes.stopped < 0 || ist_runtime.config.pulse_timeout_s == 0)
        check();
    else
        count_stop(since_ns);
}

int ist_processes_poll(void)
{
    if (pthread_mutex_trylock(&pes.lock) != 0) return -1;
    int ended = -1;
    if (has_table()) {
        poll_by(check_next);
        if (pes.ended >= 0) ended = ist_runtime.boot->local_pes[pes.ended];
    }
    pthread_mutex_unlock(&pes.lock);
    return ended;
}

bool ist_processes_has_ended(int pe)
{
    if (pthread_mutex_trylock(&pes.lock) != 0) return false;
    bool has_ended = false;
    for (int place = 0; has_table() && place < pes.n; place++) {
        if (ist_runtime.boot->local_pes[place] != pe) continue;
        char state = state_of(place);
        has_ended = state == 'X' || state == 'Z'; /* Z: its parent has not waited for it yet */
    }
    pthread_mutex_unlock(&pes.lock);
    return has_ended;
}

/* ---- while PEs synchronize through the launcher: no card names a PE's process yet, but some launchers do ---- */

/* Each PE watches the next one of its host, so that every stopped PE has a PE that detects it. */
static void check_neighbour(void)
{
    int next = (pes.next + 1) % pes.n;
    int32_t pid = pes.known[next].pid == PID_UNKNOWN ? ist_sibling_find(ist_runtime.boot->local_pes[next])
                                                     : PID_UNKNOWN;
    if (pid != PID_UNKNOWN) pes.known[next] = with_start(pid);
    if (pes.known[next].pid == PID_UNKNOWN || state_of(next) != 'T') return;
    pes.stopped = next;
}

void ist_processes_poll_in_exchange(void)
{
    pthread_mutex_lock(&pes.lock);
    if (ist_runtime.config.pulse_timeout_s > 0 && has_table())
        poll_by(ist_runtime.boot->local_processes != NULL ? check_next : check_neighbour);
    pthread_mutex_unlock(&pes.lock);
}

void ist_processes_forget(void)
{
    pthread_mutex_init(&pes.lock, NULL); /* after a fork another thread may have had it */
    free(pes.known);
    pes.known = NULL;
    pes.n = pes.next = 0;
    pes.ended = pes.stopped = -1;
    pes.stopped_ns = 0;
}

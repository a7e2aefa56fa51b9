/* core/life/verdict.c: which PE reports why the job ends, and how this PE ends then. Several PEs often detect one
 * fault at once, and one report is enough: a PE claims the job's name on its host, and heartbeats carry the claim to
 * PEs of other hosts. A PE without the claim reports nothing and lets the first one end the job.
 * The order: report, do what ISTHMUS_ABORT requests, notify the launcher, exit.
 * Nothing here allocates: it must work in a process that is out of memory or descriptors. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/base/fatal.h"
#include "core/base/log.h"

#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_FRAMES = 64, STUCK_S = 2, AGREE_MS = 500, RESERVE_BYTES = 1 << 20 };

static struct {
    char job[IST_BOOT_JOB_BYTES]; /* "": there is no other PE on this host */
    int abort_action, frames;     /* frames: the most that a backtrace shows */
    void *reserve;
    pid_t condemned; /* 0: none */
    bool is_exit;    /* the program has called exit() with this code */
    int exit_code;
    struct sigaction action_before; /* at an alarm, likewise */
    struct itimerval alarm_before;
} verdict = {.abort_action = IST_ABORT_EXIT, .frames = 32};

/* Address space kept for the end, when none may be left: the launcher's client allocates without checking for failure.
 * Not needed before the bootstrap is open. */
static void keep_reserve(bool is_wanted)
{
    if (is_wanted == (verdict.reserve != NULL)) return;
    if (verdict.reserve != NULL) (void)munmap(verdict.reserve, RESERVE_BYTES);
    verdict.reserve = NULL;
    if (!is_wanted) return;
    void *space = mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space != MAP_FAILED) verdict.reserve = space;
}

void ist_verdict_begin(const char *job, int abort_action, int frames)
{
    snprintf(verdict.job, sizeof verdict.job, "%s", job);
    verdict.abort_action = abort_action;
    verdict.frames = frames;
}

void ist_verdict_expect_launcher(void) { keep_reserve(true); }

void ist_verdict_stop(void)
{
    verdict.abort_action = IST_ABORT_EXIT;
    keep_reserve(false);
}

/* ---- which PE reports ---- */

/* Is the name held by a PE of this job or by an impostor? The holder listens, so the kernel reports its user. */
static bool is_held_by_own_user(const struct sockaddr_un *address)
{
    enum { TRIES = 20, TRY_MS = 5 }; /* between its bind and its listen */
    struct ucred holder = {.uid = (uid_t)-1};
    socklen_t length = sizeof holder;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failed = -1;
    for (int i = 0; fd >= 0 && i < TRIES && failed != 0; i++) {
        if (i > 0) (void)poll(NULL, 0, TRY_MS);
        failed = connect(fd, (const struct sockaddr *)address, sizeof *address);
    }
    /* Where the system does not report users, the holder counts as an impostor: two reports are better than none. */
    if (failed == 0) (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &length);
    if (fd >= 0) close(fd);
    return holder.uid == geteuid();
}

/* Binds a name in the abstract namespace, which the system gives to one process and releases when that ends. */
bool ist_verdict_claim(void)
{
    if (verdict.job[0] == '\0') return true;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "isthmus-report-%u-%s", (unsigned)geteuid(),
             verdict.job);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* stays open: it is the claim */
    if (fd < 0) return true;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return listen(fd, SOMAXCONN) == 0;
    close(fd);
    return !is_held_by_own_user(&address);
}

/* One PE of the job reports, as far as PEs reach each other. The claim stays with the reporting PE, which may be on
 * this host. */
static bool may_report(void)
{
    ist_liveness_announce_end();
    return !ist_liveness_another_reports() && ist_verdict_claim();
}

/* The claim comes last, because a PE that has it must report: the PE that heartbeats settle on, the lowest one, may not
 * be the one of this host that arrives here first. */
bool ist_verdict_agree(void)
{
    ist_liveness_announce_end();
    if (ist_liveness_is_open()) (void)poll(NULL, 0, AGREE_MS);
    return !ist_liveness_another_reports() && ist_verdict_claim();
}

/* ---- how this PE ends ---- */

void ist_verdict_condemn(int32_t pid) { verdict.condemned = (pid_t)pid; }

/* The stopped process cannot be notified of the end. Called after the others were: otherwise they would report it as
 * the first cause. */
void ist_verdict_kill_condemned(void)
{
    if (verdict.condemned > 0) kill(verdict.condemned, SIGKILL);
}

/* All PEs that found the process stopped may get stuck like this one: then this handler alone can kill it. */
static void end_stuck(int number)
{
    if (verdict.condemned > 0) kill(verdict.condemned, SIGKILL);
    if (verdict.is_exit) _exit(verdict.exit_code);
    signal(number, SIG_DFL);
    raise(number); /* delivered when this handler returns */
}

/* Later steps may block: a stream whose reader is stopped, a launcher that does not reply. An alarm bounds them. */
static void end_in_any_case(void)
{
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    signal(SIGALRM, end_stuck);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    alarm(STUCK_S);
}

void ist_verdict_bound_exit(int exit_code)
{
    const struct itimerval none = {0};
    verdict.is_exit = true;
    verdict.exit_code = exit_code;
    (void)setitimer(ITIMER_REAL, &none, &verdict.alarm_before);
    sigaction(SIGALRM, NULL, &verdict.action_before);
    end_in_any_case();
}

void ist_verdict_release_exit(void)
{
    alarm(0);
    verdict.is_exit = false;
    sigaction(SIGALRM, &verdict.action_before, NULL);
    (void)setitimer(ITIMER_REAL, &verdict.alarm_before, NULL);
}

/* `holds`: waits for the launcher to end this process; as long as it lives, no other PE reports a consequence of its
 * failure. */
static _Noreturn void leave(int exit_code, bool holds)
{
    static int entered; /* a second thread, or a handler, waits here; the first caller continues */
    if (__atomic_exchange_n(&entered, 1, __ATOMIC_ACQ_REL) != 0)
        for (;;) pause();
    keep_reserve(false);
    if (verdict.abort_action == IST_ABORT_BACKTRACE) {
        void *frames[MAX_FRAMES];
        int most = verdict.frames < MAX_FRAMES ? verdict.frames : MAX_FRAMES;
        backtrace_symbols_fd(frames, backtrace(frames, most), STDERR_FILENO);
    }
    if (verdict.abort_action == IST_ABORT_TRAP) __builtin_trap();
    end_in_any_case();
    fflush(NULL);
    if (ist_life_abort(exit_code)) {
        alarm(0); /* the launcher has replied */
        if (holds) ist_fatal_yield();
    }
    _exit(exit_code);
}

/* A PE that does not report waits: the PE that does may not have done so yet, and the launcher would end it too. */
_Noreturn void ist_verdict_end(const struct ist_end *end)
{
    bool reports = false;
    /* A thread that detects why the peer is lost ends this PE in the meantime, with a better message or silently. */
    if (end->cause == IST_END_LOSS) ist_fatal_yield();
    if (end->text != NULL) {
        reports = end->cause == IST_END_LOSS ? ist_verdict_agree() : may_report();
        if (reports)
            ist_error("%s", end->text);
        else
            ist_fatal_yield();
    }
    leave(end->exit_code, reports || end->text == NULL || end->cause != IST_END_JOB);
}

/* Runs on the bootstrap's thread: the job cannot go on, and no other thread would end the process. The PE that has
 * reported why waits a moment, so that no other PE reports it again. */
void ist_life_lost(const char *why, int exit_code)
{
    if (why != NULL && ist_verdict_claim()) {
        ist_error("%s; this PE ends too", why);
        ist_fatal_yield();
    }
    ist_boot_tell();
    _exit(exit_code);
}

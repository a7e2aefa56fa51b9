/* core/base/fatal.c: see fatal.h.
 * The order: report, do what ISTHMUS_ABORT requests, notify the launcher, exit.
 * Nothing here allocates: it must work in a process that is out of memory or descriptors. */
#include "core/base/fatal.h"

#include "core/base/call_site.h"
#include "core/base/config.h"
#include "core/base/log.h"

#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_FRAMES = 64, PATIENCE_MS = 2000, STUCK_S = 2, AGREE_MS = 500, RESERVE_BYTES = 1 << 20 };

static void (*tell_launcher)(int exit_code);
static int abort_action = IST_ABORT_EXIT;
static char job_name[80];
static void *reserve;
static void (*announce_to_peers)(void);
static bool (*another_speaks)(void);

int ist_fatal_frames = 32;

/* Address space kept for the end, when none may be left: the launcher's client allocates without checking for failure.
 * A job without a launcher needs none. */
static void keep_reserve(bool is_wanted)
{
    if (is_wanted == (reserve != NULL)) return;
    if (reserve != NULL) (void)munmap(reserve, RESERVE_BYTES);
    reserve = NULL;
    if (!is_wanted) return;
    void *space = mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space != MAP_FAILED) reserve = space;
}

void ist_fatal_setup(const char *job, void (*tell)(int exit_code), int action)
{
    snprintf(job_name, sizeof job_name, "%s", job != NULL ? job : "");
    tell_launcher = tell;
    abort_action = action;
    keep_reserve(tell != NULL);
}

void ist_fatal_with_peers(void (*announce)(void), bool (*other)(void))
{
    announce_to_peers = announce;
    another_speaks = other;
}

/* Is the name held by a PE of this job or by an impostor? The holder listens, so the kernel reports its user. */
static bool is_held_by_own_user(const struct sockaddr_un *address)
{
    enum { TRIES = 20, TRY_MS = 5 }; /* between its bind and its listen */
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t length = sizeof who;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failed = -1;
    for (int i = 0; fd >= 0 && i < TRIES && failed != 0; i++) {
        if (i > 0) (void)poll(NULL, 0, TRY_MS);
        failed = connect(fd, (const struct sockaddr *)address, sizeof *address);
    }
    if (failed == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) who.uid = (uid_t)-1;
    if (fd >= 0) close(fd);
    return who.uid == geteuid();
}

/* Binds a name in the abstract namespace, which the system gives to one process and releases when that ends. */
bool ist_fatal_claim(void)
{
    if (job_name[0] == '\0') return true;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "isthmus-report-%u-%s", (unsigned)geteuid(), job_name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* stays open: it is the claim */
    if (fd < 0) return true;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return listen(fd, SOMAXCONN) == 0;
    close(fd);
    return !is_held_by_own_user(&address);
}

void ist_fatal_yield(void) { (void)poll(NULL, 0, PATIENCE_MS); }

/* Later steps may block: a stream whose reader is stopped, a launcher that does not reply. An alarm bounds them. */
static void end_in_any_case(void)
{
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    alarm(STUCK_S);
}

/* `holds`: waits for the launcher to end this process; as long as it lives, no other PE reports a consequence of its
 * failure. */
static _Noreturn void leave(int exit_code, bool holds)
{
    static int entered; /* a second thread, or a handler, waits here; the first caller continues */
    if (__atomic_exchange_n(&entered, 1, __ATOMIC_ACQ_REL) != 0)
        for (;;) pause();
    keep_reserve(false);
    if (abort_action == IST_ABORT_BACKTRACE) {
        void *frames[MAX_FRAMES];
        int most = ist_fatal_frames < MAX_FRAMES ? ist_fatal_frames : MAX_FRAMES;
        backtrace_symbols_fd(frames, backtrace(frames, most), STDERR_FILENO);
    }
    if (abort_action == IST_ABORT_TRAP) __builtin_trap();
    end_in_any_case();
    fflush(NULL);
    if (tell_launcher != NULL) {
        tell_launcher(exit_code);
        alarm(0); /* the launcher has replied */
        if (holds) ist_fatal_yield();
    }
    _exit(exit_code);
}

_Noreturn void ist_end_job(int exit_code) { leave(exit_code, true); }

/* One PE of the job reports, as far as PEs reach each other. The claim stays with the reporting PE, which may be on
 * this host. */
static bool may_speak(void)
{
    if (announce_to_peers != NULL) announce_to_peers();
    if (another_speaks != NULL && another_speaks()) return false;
    return ist_fatal_claim();
}

bool ist_fatal_agree(void)
{
    if (!may_speak()) return false;
    if (another_speaks == NULL) return true;
    (void)poll(NULL, 0, AGREE_MS);
    return !another_speaks();
}

_Noreturn void ist_end_job_saying(const char *text)
{
    bool speaks = text != NULL && may_speak();
    if (speaks)
        ist_error("%s", text);
    else if (text != NULL)
        ist_fatal_yield(); /* the PE that reports may not have done so yet, and the launcher would end it too */
    leave(EXIT_FAILURE, speaks || text == NULL);
}

_Noreturn void ist_misuse(const char *routine, const char *fmt, ...)
{
    char text[512], site[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ist_call_site(site, sizeof site);
    if (may_speak())
        ist_error("%s: %s%s", routine, text, site);
    else
        ist_fatal_yield();
    ist_end_job(EXIT_FAILURE);
}

_Noreturn void ist_die(const char *routine, isthmus_status status)
{
    bool is_loss = status == ISTHMUS_ERR_PEER_LOST || status == ISTHMUS_ERR_UNREACHABLE;
    /* A thread that detects why the peer is lost ends this PE in the meantime, with a better message or silently. */
    if (is_loss) ist_fatal_yield();
    if (is_loss ? ist_fatal_agree() : may_speak())
        ist_error("%s: %s (%s)", routine, ist_fail_text(), ist_status_name(status));
    else
        ist_fatal_yield();
    ist_end_job(EXIT_FAILURE);
}

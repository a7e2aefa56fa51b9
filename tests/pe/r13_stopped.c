/* R13: PE n-1 is stopped while the others run and need it, or not. stopped MODE [FILE]: where it is when it stops:
 *   init       before shmem_init, where the others are
 *   greeted    within it: connected to the launcher's server, which serves no other PE until it has sent its identity
 *   put, get   all operate on it
 *   contact    no PE has accessed it so far
 *   barrier    the others are in one
 *   wait       the others wait for what it would write
 *   lock       it holds what the others want
 *   finalize   the others finalize
 *   debugger   in the hands of a debugger for longer than ISTHMUS_PULSE_TIMEOUT, and then no longer: the job ends well
 *   suspended  nowhere: it is in no call until FILE is there; the others wait for it */
#include "check.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GREETED_AFTER_MS = 500 };
static long flag, lock;
static const char *mode;

static int is_mode(const char *name) { return strcmp(mode, name) == 0; }
static void stop(void) { raise(SIGSTOP); }

static int is_last_by_environment(void)
{
    const char *rank = getenv("PMIX_RANK"), *n_pes = getenv("TEST_N_PES");
    return rank != NULL && n_pes != NULL && atoi(rank) == atoi(n_pes) - 1;
}

/* In front of the C library's: PMIx calls this one. */
__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address, socklen_t length);
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    static int has_stopped;
    int failed = (int)syscall(SYS_connect, fd, address, length);
    if (is_mode("greeted") && is_last_by_environment() && !has_stopped) {
        has_stopped = 1;
        stop();
    }
    return failed;
}

/* This time has to pass without any event. */
static void hold(pid_t pid)
{
    enum { HELD_MS = 2500 };
    int status;
    CHECK_EQ(ptrace(PTRACE_ATTACH, pid, NULL, NULL), 0);
    CHECK_EQ(waitpid(pid, &status, __WALL), pid);
    (void)poll(NULL, 0, HELD_MS);
    CHECK_EQ(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
}

static void be_debugged(void)
{
    pid_t me = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t debugger = fork();
    CHECK(debugger >= 0);
    if (debugger == 0) {
        hold(me);
        _exit(0);
    }
    int status;
    while (waitpid(debugger, &status, 0) < 0) {}
    CHECK_EQ(status, 0);
}

static void operate(long round, int is_last)
{
    enum { STOPS_IN = 100 };
    if (is_last && round == STOPS_IN) stop();
    if (is_mode("put"))
        shmem_long_p(&flag, round, pe.n - 1);
    else
        (void)shmem_long_g(&flag, pe.n - 1);
}

static void meet(int is_last, const char *file)
{
    if (is_mode("lock") && is_last) shmem_set_lock(&lock);
    if (is_mode("contact") && is_last) stop();
    if (is_mode("contact")) (void)shmem_long_g(&flag, pe.n - 1);
    shmem_barrier_all();
    if (is_mode("suspended") && pe.me == 0) fputs("ready\n", stderr);
    for (long round = 0; is_mode("put") || is_mode("get"); round++) operate(round, is_last);
    if (is_mode("debugger") && is_last) be_debugged();
    while (is_mode("suspended") && is_last && access(file, F_OK) != 0) (void)poll(NULL, 0, 10);
    if (!is_mode("debugger") && !is_mode("suspended") && is_last) stop();
    if (is_mode("lock")) shmem_set_lock(&lock);
    if (is_mode("wait")) shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
    if (!is_mode("finalize")) shmem_barrier_all();
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "barrier";
    if (is_mode("init") && is_last_by_environment()) stop();
    if (is_mode("greeted") && !is_last_by_environment()) (void)poll(NULL, 0, GREETED_AFTER_MS);
    pe_begin();
    meet(pe.me == pe.n - 1, argc > 2 ? argv[2] : "");
    shmem_finalize();
    return 0;
}

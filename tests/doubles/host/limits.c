/* tests/doubles/host/limits.c: what the PE gets for real before its program starts: limits, variables, namespaces. */
#include "tests/doubles/host/host.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *key;
    int resource;
} limits[] = {{"nofile", RLIMIT_NOFILE}, {"memlock", RLIMIT_MEMLOCK}, {"as", RLIMIT_AS},
              {"fsize", RLIMIT_FSIZE},   {"nproc", RLIMIT_NPROC},     {"stack", RLIMIT_STACK}};

static void set_limits(void)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct host_knob *knob = host_knob_next(limits[i].key, NULL);
        if (knob == NULL) continue;
        unsigned long long soft, hard;
        if (sscanf(knob->value, "%llu %llu", &soft, &hard) != 2) host_give_up("no limit", knob->value);
        const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
        if (setrlimit((unsigned)limits[i].resource, &limit) != 0) host_give_up("setrlimit", strerror(errno));
    }
}

static void set_variables(void)
{
    char name[64], value[HOST_KNOB_BYTES];
    for (const struct host_knob *knob = NULL; (knob = host_knob_next("variable", knob)) != NULL;) {
        if (sscanf(knob->value, "%63s %127s", name, value) != 2) host_give_up("no variable", knob->value);
        setenv(name, value, 0);
    }
}

/* ---- a PID namespace of its own, with the network of the host ---- */

static volatile pid_t inner;

static void pass_on(int number) { kill(inner, number); }

/* What a container's runtime does: it waits for the process inside, and ends as that has ended. */
static void wait_for_inner(void)
{
    static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    int status;
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) signal(passed_on[i], pass_on);
    while (waitpid(inner, &status, 0) < 0)
        if (errno != EINTR) _exit(2);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static void enter_pid_namespace(void)
{
    static const char marked[] = "HOST_DOUBLE_IN_NAMESPACE"; /* by the PE, for the programs that it starts */
    if (host_knob_next("pid_namespace", NULL) == NULL || getenv(marked) != NULL) return;
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
        fprintf(stderr, "host double: no PID namespaces here: %s\n", strerror(errno));
        _exit(HOST_SKIPPED);
    }
    setenv(marked, "1", 1);
    inner = fork();
    if (inner < 0) host_give_up("fork", strerror(errno));
    if (inner > 0) wait_for_inner();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 || mount("proc", "/proc", "proc", 0, NULL) != 0)
        host_give_up("mount of /proc", strerror(errno));
}

__attribute__((constructor)) static void begin(void)
{
    if (!host_now()->is_shown) return;
    enter_pid_namespace();
    set_variables();
    set_limits();
}

/* Clone and exec, with everything between them that makes the child a clean process of its own.
 * Not posix_spawn: it cannot make the kernel kill the child when the launcher dies.
 * Read on in guardian.c for what the kernel does not kill. */
#include "spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that the launcher ignores while it runs: a lost reader of its output, and a terminal that it may not use. */
static const int ignored_signals[] = {SIGPIPE, SIGTTIN, SIGTTOU};
enum { N_IGNORED = sizeof ignored_signals / sizeof ignored_signals[0] };

static struct {
    pid_t launcher;
    sigset_t mask;
    struct sigaction actions[N_IGNORED];
    struct rlimit descriptors;
    unsigned *inherited; /* descriptors above 2 that the launcher was started with, ascending */
    size_t n_inherited;
} original;

static int ascending(const void *a, const void *b)
{
    unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
    return (left > right) - (left < right);
}

/* The user's own descriptors (a shell's process substitution, say) go on to the PEs; no other may, whatever a library
 * in the launcher opens. */
static void remember_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        int fd = atoi(entry->d_name);
        if (fd <= STDERR_FILENO || fd == dirfd(directory)) continue;
        original.inherited = realloc(original.inherited, (original.n_inherited + 1) * sizeof *original.inherited);
        if (!original.inherited) report_and_exit("no memory for the list of open descriptors");
        original.inherited[original.n_inherited++] = (unsigned)fd;
    }
    closedir(directory);
    if (original.n_inherited) qsort(original.inherited, original.n_inherited, sizeof *original.inherited, ascending);
}

/* Later code may then use 0, 1 and 2 without finding a socket there. */
static void open_missing_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

void spawn_prepare(const sigset_t *handled)
{
    open_missing_standard_descriptors();
    remember_descriptors();
    original.launcher = getpid();
    getrlimit(RLIMIT_NOFILE, &original.descriptors);
    sigprocmask(SIG_BLOCK, handled, &original.mask);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < N_IGNORED; i++) sigaction(ignored_signals[i], &ignore, &original.actions[i]);
}

enum launch_status spawn_raise_descriptor_limit(size_t n_descriptors)
{
    struct rlimit limit = original.descriptors;
    if (limit.rlim_cur >= n_descriptors) return LAUNCH_OK;
    if (limit.rlim_max < n_descriptors) {
        report(
            "too few open files for this many PEs: %zu are needed, %llu allowed; raise 'ulimit -Hn' or start fewer PEs",
            n_descriptors, (unsigned long long)limit.rlim_max);
        return LAUNCH_FAILED;
    }
    limit.rlim_cur = n_descriptors;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return LAUNCH_OK;
    report("cannot raise the limit of open files to %zu: %m; raise 'ulimit -n' before", n_descriptors);
    return LAUNCH_FAILED;
}

static void close_what_is_not_inherited(void)
{
    unsigned from = STDERR_FILENO + 1;
    for (size_t i = 0; i < original.n_inherited; i++) {
        if (original.inherited[i] > from) close_range(from, original.inherited[i] - 1, 0);
        from = original.inherited[i] + 1;
    }
    close_range(from, ~0u, 0);
}

/* Runs in the child, on the memory of the launcher, whose calling thread waits: system calls only, and nothing written
 * but *plan->group. Returns only if something failed. */
static void become_program(const struct spawn_plan *plan)
{
    if (setpgid(0, 0) != 0) return;
    *plan->group = getpid(); /* here and not in the launcher, which may be killed before it could */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
    if (getppid() != original.launcher) _exit(LAUNCH_FAILED); /* it died before the line above: no signal will arrive */
    for (int i = 0; i < 3; i++)
        if (plan->stdio[i] >= 0 && dup2(plan->stdio[i], i) < 0) return;
    close_what_is_not_inherited();
    if (plan->cpus && sched_setaffinity(0, plan->cpus_bytes, plan->cpus) != 0) return;
    if (setrlimit(RLIMIT_NOFILE, &original.descriptors) != 0) return;
    for (size_t i = 0; i < N_IGNORED; i++) sigaction(ignored_signals[i], &original.actions[i], NULL);
    sigprocmask(SIG_SETMASK, &original.mask, NULL);
    execve(plan->path, plan->arguments, plan->variables);
}

struct child {
    const struct spawn_plan *plan;
    int error; /* the child's report to the launcher, in the memory that they share */
};

static int child_main(void *argument)
{
    struct child *child = argument;
    become_program(child->plan);
    child->error = errno;
    _exit(LAUNCH_NOT_EXECUTABLE);
}

/* clone() as vfork() does it, on a stack of its own: the child is not given a copy of the launcher's page tables, which
 * the PMIx library makes large, and no thread of the library runs in it. The calling thread waits until the child has
 * executed the program or ended. The launcher has no signal handlers, so none can run on the shared memory. */
pid_t spawn_child(const struct spawn_plan *plan)
{
    static _Alignas(16) char stack[64 * 1024];
    struct child child = {.plan = plan};
    pid_t pid = clone(child_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
    if (pid < 0) return -errno;
    if (child.error == 0) return pid;
    waitpid(pid, NULL, 0);
    *plan->group = 0;
    return -child.error;
}

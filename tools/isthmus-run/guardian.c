/* Watches a pipe whose other end only the launcher has: when the launcher is gone, kills the process groups of the job.
 * Not needed for a PE itself, which the kernel kills with its parent, but for processes that a PE has started (a PE may
 * be a shell script), and the launcher leaves no files, so that there are only processes to clean up.
 * Read on in spawn.c for the process groups. */
#include "guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pid_t pid;
    int launcher_lives; /* write end of the pipe; nothing is ever written */
} guardian;

/* Its own session: neither the terminal's signals nor a kill of the launcher's process group reach it. It holds none
 * of the launcher's descriptors, so that a reader of the launcher's output sees its end. */
__attribute__((noreturn)) static void watch(int launcher_dies, const volatile pid_t *groups, int n_pes)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "isthmus-guard");
    if (dup2(launcher_dies, 0) == 0) close_range(1, ~0u, 0);
    if (chdir("/") != 0) _exit(LAUNCH_FAILED); /* not to hold a file system busy; "/" is always there */

    char nothing;
    while (read(0, &nothing, 1) > 0) continue;
    for (int i = 0; i < n_pes; i++)
        if (groups[i] > 0) kill(-groups[i], SIGKILL);
    _exit(LAUNCH_OK);
}

pid_t *guardian_start(int n_pes)
{
    int pipe_ends[2];
    size_t size_bytes = (size_t)n_pes * sizeof(pid_t);
    pid_t *groups = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (groups == MAP_FAILED || pipe2(pipe_ends, O_CLOEXEC) != 0) report_and_exit("cannot start the guardian: %m");
    guardian.pid = fork();
    if (guardian.pid < 0) report_and_exit("cannot start the guardian: %m");
    if (guardian.pid == 0) watch(pipe_ends[0], groups, n_pes);
    close(pipe_ends[0]);
    guardian.launcher_lives = pipe_ends[1];
    return groups;
}

pid_t guardian_pid(void) { return guardian.pid; }

void guardian_stop(void)
{
    close(guardian.launcher_lives);
    waitpid(guardian.pid, NULL, 0);
}

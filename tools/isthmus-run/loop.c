/* One poll() over signals, the server's events, the terminal and the PEs' pipes; no waiting anywhere else.
 * Not a thread per anything: only the PMIx library has threads.
 * Read on in job.c. */
#include "loop.h"
#include "input.h"
#include "output.h"
#include "start.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

void loop_signals(sigset_t *handled)
{
    static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigemptyset(handled);
    sigaddset(handled, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        struct sigaction action;
        sigaction(passed_on[i], NULL, &action);
        if (action.sa_handler != SIG_IGN) sigaddset(handled, passed_on[i]);
    }
}

static void take_server_events(struct job *job)
{
    for (struct server_event *event; (event = server_next_event());) {
        job_server_event(job, event);
        server_event_destroy(event);
    }
}

struct end {
    pid_t pid;
    int wait_status;
};

static bool is_end(int wait_status) { return !WIFSTOPPED(wait_status) && !WIFCONTINUED(wait_status); }

/* Stops and continuations go to the job at once. */
static size_t collect_ends(struct job *job, struct end *ends, size_t room)
{
    size_t n = 0;
    while (n < room) {
        ends[n].pid = waitpid(-1, &ends[n].wait_status, WNOHANG | WUNTRACED | WCONTINUED);
        if (ends[n].pid <= 0) break;
        if (is_end(ends[n].wait_status))
            n++;
        else
            job_child_stopped(job, ends[n].pid, ends[n].wait_status);
    }
    return n;
}

/* The kernel does not report in which order children ended. Of those found together, a signal comes first: a PE that
 * was killed makes others fail in their fences, seldom the other way round, and the first failure is the job's. */
static void reap_children(struct job *job)
{
    struct end ends[64];
    for (size_t n; (n = collect_ends(job, ends, sizeof ends / sizeof ends[0])) > 0;) {
        take_server_events(job); /* first their requests to the server: that they finalize, or abort the job */
        for (size_t i = 0; i < n; i++)
            if (WIFSIGNALED(ends[i].wait_status)) job_child_ended(job, ends[i].pid, ends[i].wait_status);
        for (size_t i = 0; i < n; i++)
            if (!WIFSIGNALED(ends[i].wait_status)) job_child_ended(job, ends[i].pid, ends[i].wait_status);
    }
}

static void take_signals(struct job *job, int signal_fd)
{
    struct signalfd_siginfo signals[16];
    for (ssize_t length; (length = read(signal_fd, signals, sizeof signals)) > 0;)
        for (size_t i = 0; i < (size_t)length / sizeof signals[0]; i++)
            if (signals[i].ssi_signo != SIGCHLD) job_signal(job, (int)signals[i].ssi_signo);
    reap_children(job); /* one SIGCHLD may stand for many children */
}

/* Milliseconds for poll(), rounded up so that the time has come when it returns. */
static int until(int64_t when_ns)
{
    if (when_ns == 0) return -1;
    int64_t left_ms = (when_ns - monotonic_ns() + 999999) / 1000000;
    if (left_ms < 0) return 0;
    return left_ms > 3600000 ? 3600000 : (int)left_ms;
}

void loop_run(struct job *job, const struct options *options, const sigset_t *handled)
{
    enum { SIGNALS, EVENTS, FIXED };
    size_t n_pipes = options->tag_output ? 2 * (size_t)job->n_pes : 0;
    struct pollfd *polled = zeroed_memory(FIXED + n_pipes + 1, sizeof *polled);
    int signal_fd = signalfd(-1, handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0) report_and_exit("cannot wait for signals: signalfd: %m");
    polled[SIGNALS] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
    polled[EVENTS] = (struct pollfd){.fd = server_event_fd(), .events = POLLIN};

    for (job_settle(job); job->phase != JOB_OVER || !output_is_complete(); job_settle(job)) {
        size_t n_output = output_poll(polled + FIXED), n = FIXED + n_output;
        bool has_input = input_poll(&polled[n]);
        int n_ready = poll(polled, n + has_input, until(job_next_time_ns(job)));
        if (n_ready < 0 && errno != EINTR) report_and_exit("cannot wait for the PEs: poll: %m");
        job_time_passed(job, monotonic_ns());
        if (n_ready <= 0) continue;
        take_server_events(job);
        if (polled[SIGNALS].revents) take_signals(job, signal_fd);
        if (has_input && polled[n].revents) input_ready();
        output_ready(polled + FIXED, n_output);
        for (int pe; job_lacks_pe(job, &pe);) start_stand_in(job, pe);
    }
    close(signal_fd);
    free(polled);
}

/* The reaction to a PE that ends, fails or aborts, to a signal, to the timeout; and the steps from there to the end.
 * Not what happened in which order: the loop reports one event after the other.
 * Read on in loop.c. */
#include "job.h"
#include "children.h"
#include "explain.h"
#include "input.h"
#include "pe_list.h"
#include "stopped.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* After SIGTERM a PE has this long to end itself; with the time to die of SIGKILL it makes less than the 5 s
 * promised. */
static const int64_t terminating_ns = 2000000000;
/* SIGKILL needs longer only for a process inside the kernel, in a driver say; then the launcher does not wait for
 * it. */
static const int64_t killing_ns = 2000000000;
/* A process that a PE has started may be the end of a pipeline that is still writing a file. */
static const int64_t lingering_ns = 500000000;
/* A process on its way out needs microseconds for the rest of it, seconds only if a driver does not let it go. */
static const int64_t suspicion_ns = 500000000;

void job_init(struct job *job, const struct options *options, pid_t *groups)
{
    *job = (struct job){.n_pes = options->n_pes, .phase = JOB_RUNNING, .suspect = -1};
    job->pes = zeroed_memory((size_t)job->n_pes, sizeof *job->pes);
    for (int i = 0; i < job->n_pes; i++) job->pes[i].group = &groups[i];
    if (options->timeout_ns) job->times_out_ns = monotonic_ns() + options->timeout_ns;
    job->timeout_s = (double)options->timeout_ns / 1e9;
}

void job_fini(struct job *job)
{
    for (int i = 0; i < job->n_pes; i++) *job->pes[i].group = 0; /* nothing for the guardian to do */
    free(job->pes);
}

static void signal_groups(const struct job *job, int signal_number, int spared)
{
    for (int i = 0; i < job->n_pes; i++)
        if (*job->pes[i].group > 0 && i != spared) kill(-*job->pes[i].group, signal_number);
}

static void enter_phase(struct job *job, enum job_phase phase, int64_t lasts_ns)
{
    job->phase = phase;
    job->phase_ends_ns = lasts_ns ? monotonic_ns() + lasts_ns : 0;
}

static void terminate(struct job *job, int spared)
{
    enter_phase(job, JOB_TERMINATING, terminating_ns);
    signal_groups(job, SIGTERM, spared);
    signal_groups(job, SIGCONT, spared); /* a stopped process would not see the other */
    if (job->n_running == 0) children_signal(SIGTERM);
}

static void kill_all(struct job *job)
{
    if (job->phase != JOB_KILLING) enter_phase(job, JOB_KILLING, killing_ns);
    signal_groups(job, SIGKILL, -1);
    if (job->n_running == 0) children_signal(SIGKILL);
}

void job_end(struct job *job, int exit_status, int spared)
{
    if (job->phase != JOB_RUNNING) return; /* the first reason counts */
    job->exit_status = exit_status;
    terminate(job, spared);
}

/* "; ending the other 3 PEs", or nothing if there are none. */
static const char *ending_others(int n_others)
{
    static char text[64];
    if (n_others == 0) return "";
    if (n_others == 1) return "; ending the other PE";
    snprintf(text, sizeof text, "; ending the other %d PEs", n_others);
    return text;
}

static int exit_status_of(const struct pe *pe)
{
    return WIFSIGNALED(pe->wait_status) ? 128 + WTERMSIG(pe->wait_status) : WEXITSTATUS(pe->wait_status);
}

/* Returns a PE that has exited with status 0 but without PMIx_Finalize, or -1 if there is none. */
static int deserter(const struct job *job)
{
    for (int i = 0; i < job->n_pes; i++) {
        const struct pe *pe = &job->pes[i];
        if (pe->pid && !pe->running && exit_status_of(pe) == 0 && pe->connected && !pe->finalized) return i;
    }
    return -1;
}

static const char *what_it_left_out(const struct pe *pe) { return pe->was_replaced ? "initializing" : "finalizing"; }

static void report_failure(const struct job *job, int i)
{
    const struct pe *pe = &job->pes[i];
    int early = deserter(job);
    if (WIFSIGNALED(pe->wait_status))
        report("PE %d (pid %d) was killed by signal %d (%s%s)%s", i, (int)pe->pid, WTERMSIG(pe->wait_status),
               strsignal(WTERMSIG(pe->wait_status)), WCOREDUMP(pe->wait_status) ? ", core dumped" : "",
               ending_others(job->n_running));
    else if (early >= 0) /* the likely cause: the library reports to the others that a fence has lost a member */
        report("PE %d (pid %d) exited with status 0 without %s, then PE %d (pid %d) exited with status %d%s", early,
               (int)job->pes[early].pid, what_it_left_out(&job->pes[early]), i, (int)pe->pid,
               WEXITSTATUS(pe->wait_status), ending_others(job->n_running));
    else
        report("PE %d (pid %d) exited with status %d%s", i, (int)pe->pid, WEXITSTATUS(pe->wait_status),
               ending_others(job->n_running));
}

/* A fence waits for a PE that has ended: nothing but the launcher can end that. The library's event may arrive before
 * the kernel's, so this is checked at both. */
static void check_stuck_fence(struct job *job)
{
    int i = job->has_stuck_fence && job->phase == JOB_RUNNING ? deserter(job) : -1;
    if (i < 0) return;
    report("PE %d (pid %d) exited with status 0 without %s, and the others wait for it in a fence%s", i,
           (int)job->pes[i].pid, what_it_left_out(&job->pes[i]), ending_others(job->n_running));
    job_end(job, LAUNCH_FAILED, -1);
}

/* The first failure ends the job, and is the one reported to the user. */
static void pe_failed(struct job *job, int i)
{
    if (job->phase != JOB_RUNNING) return;
    if (!job->was_interrupted) report_failure(job, i);
    job_end(job, exit_status_of(&job->pes[i]), -1);
}

/* A dying PE has closed its connection to the server before the kernel reports its end. The others may learn it from
 * the server and fail in the meantime, so that they seem to be first. */
static bool someone_is_dying(const struct job *job)
{
    for (int i = 0; i < job->n_pes; i++)
        if (job->pes[i].running && process_is_exiting(job->pes[i].pid)) return true;
    return false;
}

static void judge_suspect(struct job *job)
{
    int i = job->suspect;
    if (i < 0 || (monotonic_ns() < job->suspect_until_ns && someone_is_dying(job))) return;
    job->suspect = -1;
    pe_failed(job, i);
}

/* Returns the PE of a process, or -1 for a process that a PE has left behind. */
static int pe_of(const struct job *job, pid_t pid)
{
    for (int i = 0; i < job->n_pes; i++)
        if (job->pes[i].running && job->pes[i].pid == pid) return i;
    return -1;
}

void job_child_stopped(struct job *job, pid_t pid, int wait_status)
{
    int i = pe_of(job, pid);
    if (i >= 0) stopped_changed(job, &job->pes[i], wait_status);
}

void job_child_ended(struct job *job, pid_t pid, int wait_status)
{
    int i = pe_of(job, pid);
    if (i < 0) return;
    struct pe *pe = &job->pes[i];
    pe->running = false;
    pe->wait_status = wait_status;
    job->n_running--;
    if (exit_status_of(pe) == 0) {
        check_stuck_fence(job);
    } else if (WIFSIGNALED(wait_status)) {
        pe_failed(job, i);
    } else if (job->suspect < 0) {
        job->suspect = i;
        job->suspect_until_ns = monotonic_ns() + suspicion_ns;
    }
}

static void pe_aborted(struct job *job, const struct server_event *event)
{
    if (job->phase != JOB_RUNNING) return;
    if (event->message && event->message[0])
        report("PE %d (pid %d) aborted the job with status %d: %s", event->pe, (int)job->pes[event->pe].pid,
               event->status, event->message);
    int exit_status = event->status & 0xff;
    if (exit_status == 0 && event->status != 0) exit_status = LAUNCH_FAILED; /* 256 is not success */
    job_end(job, exit_status, -1); /* that PE too: an abort is the last thing it does */
}

void job_server_event(struct job *job, const struct server_event *event)
{
    if (event->kind == SERVER_FENCE_STUCK) {
        job->has_stuck_fence = true;
        check_stuck_fence(job);
        return;
    }
    if (event->pe < 0 || event->pe >= job->n_pes) return;
    struct pe *pe = &job->pes[event->pe];
    switch (event->kind) {
    case SERVER_CONNECTED: /* again, if the PE is a script that starts one program after another */
        pe->connected = true;
        pe->finalized = false;
        break;
    case SERVER_FINALIZED: pe->finalized = true; break;
    case SERVER_ABORTED: pe_aborted(job, event); break;
    case SERVER_FENCE_STUCK: break;
    }
}

/* The first signal is for the PEs, which may handle it (a checkpoint). A second one means "now". */
static void interrupt(struct job *job, int signal_number)
{
    bool is_second = job->was_interrupted || job->phase != JOB_RUNNING;
    job->was_interrupted = true;
    if (!is_second) {
        signal_groups(job, signal_number, -1);
        return;
    }
    if (job->phase == JOB_RUNNING) job->exit_status = 128 + signal_number;
    kill_all(job);
}

void job_signal(struct job *job, int signal_number)
{
    switch (signal_number) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT: interrupt(job, signal_number); break;
    case SIGTSTP:
        signal_groups(job, SIGTSTP, -1);
        raise(SIGSTOP); /* until SIGCONT; SIGTSTP itself is blocked here */
        break;
    case SIGCONT:
        signal_groups(job, SIGCONT, -1);
        input_continue();
        break;
    case SIGUSR1: /* a request for a report; a PE that it would end does not get it */
        explain_report(job);
        for (int i = 0; i < job->n_pes; i++)
            if (job->pes[i].running && process_catches(job->pes[i].pid, SIGUSR1)) kill(-*job->pes[i].group, SIGUSR1);
        break;
    default: signal_groups(job, signal_number, -1); break;
    }
}

static void time_out(struct job *job)
{
    char text[512];
    struct pe_list running = pe_list_in(text, sizeof text);
    for (int i = 0; i < job->n_pes; i++)
        if (job->pes[i].running) pe_list_add(&running, i);
    job->times_out_ns = 0;
    explain_report(job);
    report("timeout after %g s; still running: %s; ending %s", job->timeout_s, pe_list_end(&running),
           job->n_running == 1 ? "it" : "them");
    job_end(job, LAUNCH_TIMEOUT, -1);
}

static void check_stopped(struct job *job, int64_t now_ns)
{
    int i = stopped_too_long(job, now_ns);
    if (i < 0) return;
    const struct pe *pe = &job->pes[i];
    report("PE %d (pid %d) has been stopped for %llu s (SIG%s); ISTHMUS_PULSE_TIMEOUT=0 waits for it%s", i,
           (int)pe->pid, (unsigned long long)job->stop_limit_s, sigabbrev_np(pe->stop_signal),
           ending_others(job->n_running - 1));
    job_end(job, 128 + pe->stop_signal, -1);
}

void job_time_passed(struct job *job, int64_t now_ns)
{
    if (job->phase == JOB_RUNNING) check_stopped(job, now_ns);
    if (job->phase == JOB_RUNNING && job->times_out_ns && now_ns >= job->times_out_ns) time_out(job);
    if (!job->phase_ends_ns || now_ns < job->phase_ends_ns) return;
    if (job->phase == JOB_LINGERING) {
        terminate(job, -1);
    } else if (job->phase == JOB_TERMINATING) {
        kill_all(job);
    } else if (job->phase == JOB_KILLING) {
        report("some processes still exist after SIGKILL and are left behind; they wait in the kernel, see ps -o "
               "pid,stat,wchan");
        job->phase = JOB_OVER;
    }
}

int64_t job_next_time_ns(const struct job *job)
{
    if (job->phase != JOB_RUNNING) return job->phase_ends_ns;
    int64_t next_ns = job->suspect >= 0 ? job->suspect_until_ns : job->times_out_ns;
    return job->stop_tick_ns && (!next_ns || job->stop_tick_ns < next_ns) ? job->stop_tick_ns : next_ns;
}

/* A process group exists as long as it has members, and only so long its number cannot belong to another. */
static bool forget_empty_groups(struct job *job)
{
    bool all_empty = true;
    for (int i = 0; i < job->n_pes; i++) {
        struct pe *pe = &job->pes[i];
        if (pe->running || *pe->group == 0) continue;
        if (kill(-*pe->group, 0) != 0 && errno == ESRCH)
            *pe->group = 0;
        else
            all_empty = false;
    }
    return all_empty;
}

void job_settle(struct job *job)
{
    judge_suspect(job);
    bool are_empty = forget_empty_groups(job);
    if (job->n_running > 0 || job->phase == JOB_OVER) return;
    if (are_empty && !children_exist()) {
        job->phase = JOB_OVER;
        return;
    }
    if (job->phase == JOB_RUNNING) enter_phase(job, JOB_LINGERING, lingering_ns);
    if (job->phase == JOB_KILLING) kill_all(job); /* also those whose parent has just died */
}

bool job_lacks_pe(const struct job *job, int *pe)
{
    bool has_connected = false;
    int missing = -1;
    for (int i = 0; i < job->n_pes; i++) {
        const struct pe *at = &job->pes[i];
        has_connected = has_connected || (at->running && at->connected && !at->finalized);
        if (missing < 0 && at->pid && !at->running && !at->connected && !at->was_replaced) missing = i;
    }
    *pe = missing;
    return job->phase == JOB_RUNNING && has_connected && missing >= 0;
}

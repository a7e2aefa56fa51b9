/* Counts the time that PEs are stopped, in ticks of the launcher and not by the clock: while the launcher itself is
 * stopped, or has no processor, or no PE runs at all, the job is suspended as a whole, and no PE is lost by that.
 * Not the message and the end of the job: those are in job.c.
 * Read on in core/life/liveness.c, which counts the same way. */
#include "stopped.h"

#include "core/base/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { TICKS_PER_TIMEOUT = 6 };

/* The library refuses any other value, so the result does not matter then. */
static uint64_t seconds_of(const char *value)
{
    enum { MOST_S = 86400 };
    char *end;
    unsigned long seconds = strtoul(value, &end, 10);
    return *end == '\0' && seconds <= MOST_S ? seconds : 0;
}

static const char *preset_of(const char *variable)
{
    static const struct {
        const char *name, *preset;
    } variables[] = {
#define IST_VAR(field, name, type, of, preset, accepted, help) {name, preset},
#include "core/base/config.def"
    };
    size_t i = 0;
    while (strcmp(variables[i].name, variable) != 0) i++;
    return variables[i].preset;
}

void stopped_init(struct job *job, const char *value)
{
    job->stop_limit_s = seconds_of(value && value[0] ? value : preset_of("ISTHMUS_PULSE_TIMEOUT"));
}

static int64_t tick_ns(const struct job *job) { return (int64_t)job->stop_limit_s * 1000000000 / TICKS_PER_TIMEOUT; }

void stopped_changed(struct job *job, struct pe *pe, int wait_status)
{
    pe->stop_signal = WIFSTOPPED(wait_status) ? WSTOPSIG(wait_status) : 0;
    pe->stopped_ticks = 0;
    if (pe->stop_signal && job->stop_limit_s && !job->stop_tick_ns) job->stop_tick_ns = monotonic_ns() + tick_ns(job);
}

static char state_of(const struct pe *pe)
{
    struct ist_process process;
    return ist_process_read(pe->pid, &process) ? process.state : 'Z';
}

static bool someone_runs(const struct job *job)
{
    for (int i = 0; i < job->n_pes; i++) {
        char state = job->pes[i].running ? state_of(&job->pes[i]) : 'Z';
        if (state != 'Z' && state != 'T' && state != 't') return true;
    }
    return false;
}

/* A debugger may have taken a stopped PE over since, or released it. */
static bool is_lost(struct pe *pe)
{
    pe->stopped_ticks = state_of(pe) == 'T' ? pe->stopped_ticks + 1 : 0;
    return pe->stopped_ticks >= TICKS_PER_TIMEOUT;
}

int stopped_too_long(struct job *job, int64_t now_ns)
{
    int lost = -1;
    bool is_any_stopped = false, is_counted = someone_runs(job);
    if (!job->stop_tick_ns || now_ns < job->stop_tick_ns) return -1;
    for (int i = 0; i < job->n_pes; i++) {
        struct pe *pe = &job->pes[i];
        if (!pe->running || !pe->stop_signal) continue;
        is_any_stopped = true;
        if (is_counted && is_lost(pe) && lost < 0) lost = i;
    }
    job->stop_tick_ns = is_any_stopped ? now_ns + tick_ns(job) : 0;
    return lost;
}

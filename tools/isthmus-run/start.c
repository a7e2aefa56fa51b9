/* Gives each PE its variables, standard descriptors and CPUs, and starts it.
 * Not the common part of the environment (environment.c).
 * Read on in spawn.c. */
#include "start.h"
#include "binding.h"
#include "environment.h"
#include "input.h"
#include "output.h"
#include "program.h"
#include "spawn.h"

#include <pmix.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char stand_in_variable[] = "ISTHMUS_RUN_STAND_IN";

static int open_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) report_and_exit("cannot open /dev/null: %m");
    return fd;
}

/* Tagged output goes through pipes of the launcher; PE 0's input may. */
static bool open_stdio(const struct options *options, int pe, int null, int stdio[3])
{
    stdio[0] = null;
    stdio[1] = stdio[2] = -1;
    if (pe == 0 && !input_open(&stdio[0])) return false;
    return !options->tag_output || output_open(pe, &stdio[1], &stdio[2]);
}

static void close_stdio(const struct options *options, int pe, const int stdio[3])
{
    if (pe == 0) input_started(stdio[0]);
    if (options->tag_output) output_started(stdio[1], stdio[2]);
}

static enum launch_status start_pe(struct job *job, const struct options *options, const char *path,
                                   char *const *common_variables, int i, int null)
{
    struct pe *pe = &job->pes[i];
    struct spawn_plan plan = {
        .path = path,
        .arguments = options->program,
        .cpus = binding_of(i),
        .cpus_bytes = binding_set_bytes(),
        .group = pe->group,
    };
    if (!open_stdio(options, i, null, plan.stdio)) return LAUNCH_FAILED;
    char **own_variables = server_variables(i);
    char **variables = environment_join(common_variables, own_variables);
    plan.variables = variables;
    pid_t pid = spawn_child(&plan);
    free(variables);
    environment_destroy(own_variables);
    close_stdio(options, i, plan.stdio);

    if (pid == -EAGAIN || pid == -ENOMEM) {
        report("cannot start PE %d of %d: %s", i, job->n_pes, strerror(-pid));
        return LAUNCH_FAILED;
    }
    if (pid < 0) return program_report_failure(options->program[0], path, -pid);
    pe->pid = pid;
    pe->running = true;
    job->n_running++;
    return LAUNCH_OK;
}

void start_pes(struct job *job, const struct options *options, const char *path, char *const *common_variables)
{
    int null = open_null();
    enum launch_status status = LAUNCH_OK;
    for (int i = 0; i < job->n_pes && status == LAUNCH_OK; i++)
        status = start_pe(job, options, path, common_variables, i, null);
    close(null);
    if (status != LAUNCH_OK) job_end(job, (int)status, -1);
}

void start_stand_in(struct job *job, int pe)
{
    char *const arguments[] = {(char *)"isthmus-run", NULL};
    char mark[64];
    snprintf(mark, sizeof mark, "%s=1", stand_in_variable);
    char *common_variables[] = {mark, NULL};
    char **own_variables = server_variables(pe);
    char **variables = environment_join(common_variables, own_variables);
    static pid_t group; /* no process signals it: it ends by itself, or with the launcher */
    int null = open_null();
    struct spawn_plan plan = {
        .path = "/proc/self/exe",
        .arguments = arguments,
        .variables = variables,
        .stdio = {null, null, null},
        .group = &group,
    };
    job->pes[pe].was_replaced = true; /* tried once, whatever the result */
    spawn_child(&plan);
    close(null);
    free(variables);
    environment_destroy(own_variables);
}

void stand_in_main(void)
{
    if (!getenv(stand_in_variable)) return;
    pmix_proc_t who;
    PMIx_Init(&who, NULL, 0);
    _exit(LAUNCH_OK); /* without PMIx_Finalize: that is the point */
}

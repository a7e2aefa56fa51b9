/* isthmus-run, also called oshrun: starts the PEs of a job on this machine, serves them PMIx, and waits for them.
 * Not a resource manager: for more than one host there is mpirun, prterun or srun.
 * Read on here for the order of things, then in loop.c and job.c. */
#include "binding.h"
#include "children.h"
#include "environment.h"
#include "explain.h"
#include "guardian.h"
#include "loop.h"
#include "output.h"
#include "program.h"
#include "spawn.h"
#include "start.h"
#include "stopped.h"

#include <stdlib.h>
#include <unistd.h>

/* Per PE: a connection to the server, and two pipes, of which both ends are open while it is being started. */
static size_t descriptors_for(int n_pes) { return 128 + 4 * (size_t)n_pes; }

static int run(const struct options *options, const char *path, const sigset_t *handled)
{
    struct job job;
    job_init(&job, options, guardian_start(options->n_pes));
    children_adopt();
    explain_init(options->n_pes);
    char **variables = environment_create(options);
    stopped_init(&job, environment_value(variables, "ISTHMUS_PULSE_TIMEOUT"));
    environment_prepare_server();

    enum launch_status status = server_start(options->n_pes);
    if (status == LAUNCH_OK) {
        if (options->bind_core) binding_plan(options->n_pes);
        if (options->tag_output) output_init(options->n_pes);
        start_pes(&job, options, path, variables);
        loop_run(&job, options, handled);
    }
    int exit_status = status == LAUNCH_OK ? job.exit_status : (int)status;
    job_fini(&job);
    environment_destroy(variables);
    guardian_stop();
    return exit_status;
}

int main(int argc, char **argv)
{
    stand_in_main();
    sigset_t handled;
    loop_signals(&handled);
    spawn_prepare(&handled);

    struct options options;
    char *path = NULL;
    int exit_status = (int)options_parse(argc, argv, &options);
    if (exit_status == LAUNCH_OK && !options.finished) {
        exit_status = (int)program_find(options.program[0], &path);
        if (exit_status == LAUNCH_OK) exit_status = (int)spawn_raise_descriptor_limit(descriptors_for(options.n_pes));
        if (exit_status == LAUNCH_OK) exit_status = run(&options, path, &handled);
    }
    free(path);
    options_fini(&options);
    /* Not PMIx_server_finalize(), which now and then waits for ever for a lock when PEs have just been killed, and not
     * exit(), whose handlers would take the library apart while its threads run. There is nothing to close that the
     * kernel does not close: the server has no files. */
    _exit(exit_status);
}

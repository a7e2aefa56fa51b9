/* Waits for the events of the job until it is over.
 * Not the reactions (job.h).
 * Read on in loop.c. */
#ifndef ISTHMUS_RUN_LOOP_H
#define ISTHMUS_RUN_LOOP_H

#include "job.h"

#include <signal.h>

/* The signals that the loop handles; those that were ignored when the launcher started (nohup, a shell's `&`) stay
 * ignored, for the launcher as for the PEs. */
void loop_signals(sigset_t *handled);

/* Returns when the job is over and all output has been printed. */
void loop_run(struct job *job, const struct options *options, const sigset_t *handled);

#endif

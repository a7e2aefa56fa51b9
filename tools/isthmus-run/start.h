/* Starts the PEs of a job.
 * Not how a process is started (spawn.h).
 * Read on in start.c. */
#ifndef ISTHMUS_RUN_START_H
#define ISTHMUS_RUN_START_H

#include "job.h"

/* Starts all PEs. If one cannot be started, reports it and ends the job: those that run already end as in any
 * failure. */
void start_pes(struct job *job, const struct options *options, const char *path, char *const *common_variables);

/* Starts something that connects to the server as this PE and is gone. The library then takes the PE for lost and
 * releases the fences that wait for it; it has no other report of a PE that never connected. */
void start_stand_in(struct job *job, int pe);

/* The stand-in's code; main() calls it first. Returns only if this process is no stand-in. */
void stand_in_main(void);

#endif

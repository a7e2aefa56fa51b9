/* PEs in a stop of job control (SIGSTOP, SIGTSTP, SIGTTIN): one that stays so while others run counts as lost.
 * Not a PE that a debugger holds: the kernel tells that to the debugger, and its state is another.
 * Read on in job.c for what follows. */
#ifndef ISTHMUS_RUN_STOPPED_H
#define ISTHMUS_RUN_STOPPED_H

#include "job.h"

/* As signs of life, by the variable that the PEs have; `value` NULL: they do not have it. */
void stopped_init(struct job *job, const char *value);

/* What waitpid() said of a PE that lives. */
void stopped_changed(struct job *job, struct pe *pe, int wait_status);

/* The PE that has been stopped for too long; -1: none. */
int stopped_too_long(struct job *job, int64_t now_ns);

#endif

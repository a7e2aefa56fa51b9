/* PEs in a stop of job control (SIGSTOP, SIGTSTP, SIGTTIN): one that stays so while others run counts as lost.
 * Not a PE that a debugger holds: the kernel reports that to the debugger, and its state is another.
 * Read on in job.c for the reactions. */
#ifndef ISTHMUS_RUN_STOPPED_H
#define ISTHMUS_RUN_STOPPED_H

#include "job.h"

/* As signs of life, by the variable that the PEs have; `value` NULL: they do not have it. */
void stopped_init(struct job *job, const char *value);

/* The status that waitpid() returned for a live PE. */
void stopped_changed(struct job *job, struct pe *pe, int wait_status);

/* Returns the PE that has been stopped for too long, or -1 if there is none. */
int stopped_too_long(struct job *job, int64_t now_ns);

#endif

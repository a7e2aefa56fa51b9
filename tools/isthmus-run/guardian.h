/* A small process that outlives the launcher, to clean up when the launcher is killed with -9.
 * Not used on any other way out: then the launcher itself has ended all PEs before.
 * Read on in guardian.c. */
#ifndef ISTHMUS_RUN_GUARDIAN_H
#define ISTHMUS_RUN_GUARDIAN_H

#include "launch.h"

#include <sys/types.h>

/* Starts the guardian. Returns one place for a process group per PE, all 0, shared with it: groups that stand there
 * when the launcher is gone are killed. Before any thread exists. */
pid_t *guardian_start(int n_pes);

pid_t guardian_pid(void);

/* Releases the guardian and waits for it. All places must be 0 again, or it does its work. */
void guardian_stop(void);

#endif

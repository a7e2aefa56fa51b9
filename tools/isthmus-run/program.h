/* Where the program to start is.
 * Not its start (spawn.h). Found once for all PEs, so that a wrong name is one message and no process.
 * Read on in program.c. */
#ifndef ISTHMUS_RUN_PROGRAM_H
#define ISTHMUS_RUN_PROGRAM_H

#include "launch.h"

/* *path: the file to execute for this name, as a shell would find it; allocated. Reports a missing file. */
enum launch_status program_find(const char *name, char **path);

/* Reports why `path` could not be executed, and returns the status for it. */
enum launch_status program_report_failure(const char *name, const char *path, int error);

#endif

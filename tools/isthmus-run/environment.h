/* The environment that PEs start with, and the one the launcher itself goes on with.
 * Not the variables that identify a PE: server_variables() adds those for each PE.
 * Read on in environment.c. */
#ifndef ISTHMUS_RUN_ENVIRONMENT_H
#define ISTHMUS_RUN_ENVIRONMENT_H

#include "options.h"

/* The environment common to all PEs: the launcher's environment without the traces of an outer launcher, the variables
 * of -x, and a secret of this job. NULL-terminated, allocated; destroy with environment_destroy(). */
char **environment_create(const struct options *options);
void environment_destroy(char **variables);

const char *environment_value(char *const *variables, const char *name); /* NULL: it is not set */

/* `common`, then `own`, in one array that borrows all strings; release with free(). */
char **environment_join(char *const *common, char *const *own);

/* Sets the launcher's own environment so that its PMIx server makes no files and loses no time.
 * After environment_create(), before server_start(). */
void environment_prepare_server(void);

#endif

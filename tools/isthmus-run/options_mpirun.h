/* Options of Open MPI's mpirun that isthmus-run accepts, so that a script may call it in the place of mpirun.
 * Not the options of isthmus-run itself (options.c). */
#ifndef ISTHMUS_RUN_OPTIONS_MPIRUN_H
#define ISTHMUS_RUN_OPTIONS_MPIRUN_H

#include "options.h"

typedef enum launch_status (*option_reader)(struct options *options, const char *name, const char *value);

struct option {
    const char *name;
    const char *value_name; /* NULL: takes no value; [=: may have one, behind = */
    option_reader read;
};

extern const struct option options_mpirun[]; /* a row without a name ends it */

/* Reads a number of PEs. LAUNCH_USAGE: one line has been printed. */
enum launch_status options_read_count(int *n_pes, const char *name, const char *value);

/* Makes -n of the PEs per host if it is missing, and checks that one host is enough for it. */
enum launch_status options_check_per_host(struct options *options);

#endif

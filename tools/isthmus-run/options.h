/* The options of the command line.
 * Not the environment of the PEs (environment.h), and nothing is started here.
 * Read on in options.c, whose table is the list of options; options_mpirun.c has those of mpirun. */
#ifndef ISTHMUS_RUN_OPTIONS_H
#define ISTHMUS_RUN_OPTIONS_H

#include "launch.h"

#include <stdbool.h>

struct options {
    int n_pes;
    int n_pes_per_host; /* 0: any number */
    bool tag_output;
    bool bind_core;
    const char *profile;  /* the value for ISTHMUS_PROFILE; NULL: none */
    bool finished;        /* --help or --version has been answered */
    int64_t timeout_ns;   /* 0: none */
    const char **exports; /* arguments of -x, in order; borrowed from argv */
    int n_exports;
    char **program; /* PROGRAM ARGS..., borrowed from argv, ends with NULL */
};

/* Fills *options. LAUNCH_USAGE: one line has been printed. */
enum launch_status options_parse(int argc, char **argv, struct options *options);
void options_fini(struct options *options);

#endif

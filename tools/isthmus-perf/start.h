/* tools/isthmus-perf/start.h: what precedes a measurement: the launcher, and one command line on all PEs. */
#ifndef ISTHMUS_PERF_START_H
#define ISTHMUS_PERF_START_H

#include "tools/isthmus-perf/options.h"

/* Returns the number of this PE by its launcher's variables; -1: no launcher has started this process. */
int start_launcher_pe(void);

/* Replaces this process by isthmus-run with two PEs of this program. Returns only if that fails, after a message. */
void start_under_launcher(char **argv);

/* Before shmem_init: where the heap shall be. */
void start_choose_memory(const struct options *options);

/* Collective. Returns true if the value is true on all PEs. */
bool start_on_all(bool value);

/* Collective. Returns the value of PE `lead`. */
long start_share(long value, int lead);

/* Collective. Refuses, in options->refusal on all PEs, what this job cannot do; PEs with different command lines. */
void start_check_job(int argc, char **argv, struct options *options);

#endif

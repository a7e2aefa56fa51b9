/* Starts one child process.
 * Not the decision which children there are, and no waiting for them (job.h).
 * Read on in spawn.c. */
#ifndef ISTHMUS_RUN_SPAWN_H
#define ISTHMUS_RUN_SPAWN_H

#include "launch.h"

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

struct spawn_plan {
    const char *path;
    char *const *arguments;
    char *const *variables;
    int stdio[3];          /* descriptors to become 0, 1 and 2; -1: the launcher's own */
    const cpu_set_t *cpus; /* NULL: as the launcher */
    size_t cpus_bytes;
    pid_t *group; /* out: the child's process group, written before the program runs */
};

/* Remembers the state that a child gets back: signal mask and dispositions, descriptor limit, open descriptors. Then
 * blocks *handled, so that these signals wait for a signalfd. First thing in main(), before any thread exists. */
void spawn_prepare(const sigset_t *handled);

/* Makes room for so many descriptors in the launcher, or reports that the system does not allow them. */
enum launch_status spawn_raise_descriptor_limit(size_t n_descriptors);

/* Starts the program in a process group of its own, to be killed when the launcher dies. Returns its pid, or minus the
 * errno of what failed. */
pid_t spawn_child(const struct spawn_plan *plan);

#endif

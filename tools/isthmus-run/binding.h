/* Which CPUs a PE may run on with --bind core.
 * Not NUMA placement or memory policy: one core per PE, in the order of their numbers.
 * Read on in binding.c. */
#ifndef ISTHMUS_RUN_BINDING_H
#define ISTHMUS_RUN_BINDING_H

#include <sched.h>
#include <stddef.h>

/* Looks up the cores that the launcher may use. Warns and leaves all PEs unbound if there are fewer than n_pes. */
void binding_plan(int n_pes);

/* The set for this PE, or NULL if it is not bound. */
const cpu_set_t *binding_of(int pe);
size_t binding_set_bytes(void);

#endif

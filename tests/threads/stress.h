/* tests/threads/stress.h: what the parts of the stress job share. A lane is one thread of each PE: its threads take
 * the same steps, and have a team and memory of their own; lanes do not wait for one another. */
#ifndef TESTS_THREADS_STRESS_H
#define TESTS_THREADS_STRESS_H

#include "../pe/check.h"

#include <ishmem.h>
#include <nvshmem.h>
#include <stdbool.h>

enum { LANES = 4, WORDS = 24, PES_MOST = 16, STRESS_LOCKED = 20 /* sums under a lock in a step */ };

struct lane {
    int number;
    shmem_team_t team; /* of all PEs, numbered as the world */
    nvshmem_team_t nv; /* likewise */
    ishmem_team_t is;
    uint64_t steps_random; /* the same on all PEs: what the lane does next */
    uint64_t random;       /* of this thread */
    long step;             /* grows, the same on all PEs */
    /* Symmetric: written by the left neighbour's thread of this lane, and by collectives. */
    long *from_left, *words, *source, *dest;
    uint64_t *signal;
    uint64_t n_signals; /* sent to the right, and so on */
    long n_added;       /* to the sums of all lanes */
};

extern long stress_sums[PES_MOST], stress_counters[3], stress_locks[3];
extern shmem_ctx_t stress_ctx; /* any thread uses it */

/* check.h has a `pe` in each file. */
void ops_begin(uint64_t seed);
void teams_begin(uint64_t seed);

void part_locks(struct lane *lane);
void part_rma(struct lane *lane);
void part_atomics(struct lane *lane);
void part_signals(struct lane *lane);
void part_waits(struct lane *lane);
void part_contexts(struct lane *lane);
void part_shared_context(struct lane *lane);
void part_collectives(struct lane *lane);
void part_other_faces(struct lane *lane);
void part_splits(struct lane *lane);
void part_allocations(struct lane *lane); /* lane 0: collective over the world */
void part_queries(struct lane *lane);
void part_fork(struct lane *lane);
void part_cancel(struct lane *lane);

/* The value of word i that PE `pe` writes in this step. */
static inline long stress_value(const struct lane *lane, int pe, int i)
{
    return lane->step * 100000 + lane->number * 10000 + pe * 100 + i;
}

#endif

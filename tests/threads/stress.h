/* tests/threads/stress.h: what the parts of the stress job share. A lane is one thread of each PE: its threads take
 * the same steps, and have a team and memory of their own; lanes do not wait for one another. */
#ifndef TESTS_THREADS_STRESS_H
#define TESTS_THREADS_STRESS_H

#include "../pe/check.h"

#include <ishmem.h>
#include <nvshmem.h>
#include <shmemx.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LANES = 4, WORDS = 24, PES_MOST = 16, STRESS_LOCKED = 20 /* sums under a lock in a step */ };
enum { LARGE = 3000 }; /* longs: more than collectives move as messages with a flag, or than one copy of a transport */

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
    long *large_from_left, *large_source, *large_dest; /* LARGE longs, and so many for each PE */
    uint64_t *signal;
    uint64_t n_signals; /* sent to the right, and so on */
    long n_added;       /* to the sums of all lanes */
};

extern long stress_sums[PES_MOST], stress_counters[3], stress_locks[3];
extern shmem_ctx_t stress_ctx; /* any thread uses it */

/* check.h has a `pe` in each file. */
void ops_begin(uint64_t seed);
void memory_begin(uint64_t seed);
void teams_begin(uint64_t seed);
void large_begin(uint64_t seed);
void faces_begin(uint64_t seed);

void part_locks(struct lane *lane);
void part_rma(struct lane *lane);
void part_atomics(struct lane *lane);
void part_signals(struct lane *lane);
void part_waits(struct lane *lane);
void part_contexts(struct lane *lane);
void part_shared_context(struct lane *lane);
void part_collectives(struct lane *lane);
void part_large_collectives(struct lane *lane);
void part_large_rma(struct lane *lane);
void part_other_faces(struct lane *lane);
void part_splits(struct lane *lane);
void part_team_init(struct lane *lane);
void part_allocations(struct lane *lane);      /* lane 0: collective over the world */
void part_symmetric_buffer(struct lane *lane); /* lane 0: likewise */
void part_start_and_end(struct lane *lane);    /* lane 0: likewise */
void part_buffers(struct lane *lane);
void part_queries(struct lane *lane);
void part_regions(struct lane *lane);
void part_fork(struct lane *lane);
void part_cancel(struct lane *lane);

/* What the interfaces in C++ add to parts. */
enum { FACES_COMPLETIONS = 6 };
void faces_complete(size_t way); /* all puts that this thread has issued on default contexts */
bool faces_flush(size_t way);    /* their sources only; false: this way flushes nothing */
void faces_allocate(size_t n_bytes);
void faces_queries(struct lane *lane);
void faces_start_and_end(void);
bool faces_buffer_register(void *buffer, size_t n_bytes);
bool faces_buffer_unregister(void *buffer);
void faces_context(struct lane *lane);
void faces_split(struct lane *lane);

/* The value of word i that PE `pe` writes in this step. */
static inline long stress_value(const struct lane *lane, int pe, int i)
{
    return lane->step * 100000 + lane->number * 10000 + pe * 100 + i;
}

static inline long stress_large_value(const struct lane *lane, int pe, int i)
{
    return stress_value(lane, pe, 0) * 0x10000 + i;
}

#ifdef __cplusplus
}
#endif

#endif

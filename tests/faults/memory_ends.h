/* tests/faults/memory_ends.h: the routines during which memory ends (memory_routines.c), and what they share with the
 * program that calls them (memory_ends.c). */
#ifndef TESTS_FAULTS_MEMORY_ENDS_H
#define TESTS_FAULTS_MEMORY_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include <shmem.h>

enum { MOST_PES = 16, MOST_BLOCKS = 300, N = 1 << 12, FAILED = -1 };

enum {
    MAY_END = 1, /* the job, with one message; else the routine has a result that says so */
    ONCE = 2,    /* in a job: its first use is meant */
    ALONE = 4,   /* its result is each PE's own */
    COLD = 8,    /* no PE has used another one before */
    ARMS = 16,   /* by itself */
    FAR = 32,    /* MAY_END on a network: it reaches memory that has come since */
    USES_ID = 64 /* that of a team: each call needs another one */
};

struct routine {
    const char *name;
    long (*call)(void);
    void (*undo)(void); /* after a call that has succeeded, before the next one */
    void (*before)(void), (*after)(void);
    int kind, repeats; /* repeats: calls that are not undone, each until it meets no failure; 0: one, undone */
};

extern const struct routine routines[];
extern const size_t n_routines;

/* ---- of memory_ends.c ---- */

/* Of the preloaded double. */
extern void (*arm)(long attempt, int stays);
extern long (*disarm)(void);

extern struct run {
    int victim, stays, file;
    long attempt, failures;
} run;

extern long source[N], dest[N * MOST_PES], mine[2]; /* mine: this PE's result, and how many of its attempts failed */

/* ---- of memory_routines.c ---- */

extern struct made {
    void *blocks[MOST_BLOCKS], *pages;
    int n;
    shmem_team_t odd, inner, row, column;
    shmem_ctx_t ctx;
    uint64_t id;
} made;

void routines_know_pe(void);                   /* after init: check.h has a `pe` in each file */
long where(const void *block);                 /* in the heap, from the first block; FAILED: NULL */
void share_id(void);                           /* the next id of a team, of the PE after the one before */
void collect_all(shmem_team_t team, size_t n); /* all collectives; arms by itself if an attempt is to fail */
void connect_to_all(void);                     /* by every kind of operation */

#endif

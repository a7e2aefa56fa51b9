/* tests/differential/differential.h: the library against a model that does one step after the other.
 *
 * Every PE draws the same steps from the seed. A step has one actor, or a team; its actor or members run it, and every
 * PE applies it to its model of all PEs' memory. Steps between two barriers are an epoch: in it no byte has two users
 * that could access it in another order than the list's (claims.c sees to that). At the end of an epoch the PE's memory
 * equals the model, byte by byte; what a call returns is compared at once. */
#ifndef TESTS_DIFFERENTIAL_DIFFERENTIAL_H
#define TESTS_DIFFERENTIAL_DIFFERENTIAL_H

#include "../pe/check.h" /* its state and checks belong to differential.c */

#include <stdbool.h>

enum {
    SLOT_BYTES = 128,
    SLOTS = 192,
    MEMORY_BYTES = SLOT_BYTES * SLOTS,
    PES_MAX = 8,
    TEAMS = 5,   /* 0 is the world */
    CONTEXTS = 4 /* of each PE; 0 is the default one */
};

extern int my_pe, n_pes;

/* ---- memory and its model ---- */

extern unsigned char *memory;                      /* symmetric */
extern unsigned char model[PES_MAX][MEMORY_BYTES]; /* of all PEs */

/* ---- random numbers, the same on all PEs ---- */

extern uint64_t common;
static inline size_t pick(size_t bound) { return random_below(&common, bound); }
static inline bool chance(size_t one_in) { return pick(one_in) == 0; }

/* ---- steps ---- */

struct step {
    const struct step_kind *kind;
    int actor, target;                    /* PEs of the world */
    size_t dest, source;                  /* offsets in memory */
    size_t size, nelems, dst, sst, bsize; /* of elements in bytes; counts and strides in elements */
    uint64_t value, cond, expected;
    int context, team, way, root;
};

struct step_kind {
    const char *name;
    size_t weight; /* how often it is drawn */
    /* Fills in the step and claims what it touches. Returns false if it is not possible now: draw another one. */
    bool (*plan)(struct step *);
    /* On the PEs that take part, before the model changes. NULL: nothing to run. */
    void (*run)(struct step *);
    void (*apply)(struct step *); /* on all PEs; NULL: nothing changes */
};

extern const struct step_kind rma_steps[], amo_steps[], team_steps[], collective_steps[], sync_steps[];

/* Ends the job with the seed and the step. */
void mismatch(const struct step *step, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void compare_value(const struct step *step, const char *what, uint64_t seen, uint64_t expected);

static inline bool takes_part_alone(const struct step *step) { return step->actor == my_pe; }

/* ---- claims on memory, for the rest of the epoch ---- */

void claims_clear(void);
/* [offset, offset + length) of a PE's memory. Returns false if it conflicts with another use. */
bool claim_read(int of_pe, size_t offset, size_t length, int actor);
bool claim_write(int of_pe, size_t offset, size_t length, int actor);
/* The same for memory that no PE has used in this epoch: any PE may write it before its owner is there. */
bool claim_fresh(int of_pe, size_t offset, size_t length, int actor);
bool claim_add(int of_pe, size_t offset); /* by any PE, with 64-bit additions only */
/* The actor's earlier writes have reached their targets: it may use that memory again. */
void claims_settle(int actor);
/* `to` knows that the data is there, and owns it from now on. */
void claims_hand_over(int of_pe, size_t offset, size_t length, int to);

/* Random room for length bytes, a multiple of `align`. */
size_t any_offset(size_t length, size_t align);

/* ---- teams and contexts ---- */

struct team {
    bool is_live;
    int n, member[PES_MAX]; /* numbers in the world */
    shmem_team_t handle;    /* on members */
};
extern struct team teams[TEAMS];

int team_number(const struct team *team, int world_pe); /* -1: not a member */

/* A live context of the actor and a target that it reaches, or the default one. */
void pick_context(struct step *step);
shmem_ctx_t context_of(const struct step *step);
int target_number(const struct step *step); /* of the step's target in its context's team */

/* A random live team. */
int any_team(void);

void complete_all(void); /* quiet on all contexts of this PE */
void start_teams(void);
void end_teams(void);

/* ---- threads beside the steps (lanes.c) ---- */

enum { LANES_MAX = 4 };
void start_lanes(int n); /* of this PE; the library was initialised for them */
void end_lanes(void);

/* What the lock protects, on PE 0, and what it is to be. */
extern long lock_counter, lock_expected;

#endif

/* tests/litmus/engine.h: what all ordering shapes share: places, delays, rounds, counting and the verdict.
 * Not the shapes themselves: their list is shapes.def, their steps are mp.c, words.c, stores.c and meetings.c.
 *
 * A shape is a small program of two to four actors with an outcome that must never be seen, or that may be. It runs
 * many rounds; each draws the places of its variables, the routines that access them, the payload's size and the
 * delays. */
#ifndef LITMUS_ENGINE_H
#define LITMUS_ENGINE_H

#include <shmem.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIT_MAX_PES = 16, LIT_REGISTERS = 2, LIT_SKIPPED = 77, LIT_BLOCK_WORDS = 64 };

/* The order call between two steps. */
enum lit_order { NONE, FENCE, QUIET, LOCAL_COMPLETE, REMOTE_COMMIT, LC_THEN_RC, RC_THEN_LC };

enum lit_verdict { ALLOWED, FORBIDDEN };

/* Where the words of a shape lie: T and U are any PEs, the actors included. */
enum lit_targets { ANY_TARGETS, SAME_TARGET, TWO_TARGETS };

struct lit_round;

struct lit_shape {
    const char *name;        /* as in the list of litmus tests */
    const char *requirement; /* the one on which the verdict rests */
    int n_actors;
    enum lit_verdict verdict;
    void (*act)(struct lit_round *round, int me);     /* the steps; every PE calls it */
    bool (*outcome)(uint64_t (*seen)[LIT_REGISTERS]); /* Returns true if seen[actor] is the judged outcome. */
    void (*after)(struct lit_round *round); /* on PE 0, when all is quiet; its registers are then set. NULL: none */
    enum lit_order order;
    enum lit_targets targets;
    int reader; /* the PE that waits for the flag */
    uint64_t (*read)(const struct lit_round *round,
                     const uint64_t *word); /* how a shape without atomics reads from T */
    bool is_nbi;                            /* the payload is written without waiting for it */
    bool has_payload;                       /* the size of d and e varies */
    bool needs_alias;                       /* it stores through shmem_ptr */
};

/* One round, as one PE has it. All but `seen` is the same on all PEs. */
struct lit_round {
    const struct lit_shape *shape;
    uint64_t number;        /* from 1; what every word of the payload holds afterwards */
    uint64_t *x, *y;        /* words that are raced for */
    uint64_t *f, *g;        /* flags */
    uint64_t *d, *e;        /* payload, read only after synchronisation */
    uint64_t *spare_signal; /* for put_signal where the signal does not matter */
    size_t n_words;         /* of d and of e */
    int t, u;
    shmem_ctx_t ctx, other_ctx;
    uint64_t dice; /* draws the routines */
    uint64_t seen[LIT_REGISTERS];
};

/* Spins 0 to 2 microseconds; in half of the cases not at all. Different on every PE. */
void lit_delay(void);

/* The order call on round->ctx, with delays around it. */
void lit_order(const struct lit_round *round, enum lit_order order);

/* Fill d or e on `pe` with the round's number, by one of the routines that the shape admits. */
void lit_write_payload(const struct lit_round *round, uint64_t *payload, int pe);

/* The round's payload in private memory of this PE, and how many words of a copy of it are not this round's. */
uint64_t *lit_source(const struct lit_round *round);
uint64_t lit_stale_words(const struct lit_round *round, const uint64_t *copy);
uint64_t lit_stale_here(const struct lit_round *round, const uint64_t *payload);       /* by plain loads */
uint64_t lit_stale_at(const struct lit_round *round, const uint64_t *payload, int pe); /* by a get */

/* Set a flag of `pe` from 0 to 1, by any routine that ends a wait; wait for it. */
void lit_raise(const struct lit_round *round, uint64_t *flag, int pe);
void lit_await(const struct lit_round *round, uint64_t *flag);

/* Atomics on round->ctx. */
void lit_set(const struct lit_round *round, uint64_t *word, uint64_t value, int pe);
uint64_t lit_fetch(const struct lit_round *round, const uint64_t *word, int pe);
uint64_t lit_fetch_add(const struct lit_round *round, uint64_t *word, uint64_t value, int pe);

/* Runs a shape on all PEs, for so many rounds unless LITMUS_ROUNDS is set. Returns the exit status of this PE. */
int lit_run(const struct lit_shape *shape, uint64_t rounds);

#endif

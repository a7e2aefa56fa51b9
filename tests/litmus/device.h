/* tests/litmus/device.h: what the ordering shapes whose actors are kernels share. An actor is a kernel's thread, a
 * kernel's block, or a thread of the host; the steps are the same text for all of them. Not the shapes with host PEs
 * only, which have an engine of their own: engine.h.
 *
 * A lane is one actor on each PE. All lanes of a launch run at once, each for many rounds; every round draws routines,
 * places, sizes and delays, the same on all PEs. The rounds of a batch have words of their own, so that the actors of a
 * lane meet once in a batch only. Words only grow: what other lists of litmus tests call 1 is lit_new(round), and
 * everything below it is 0.
 *
 * Written for the CPU device, and as one file (tests/gpu/litmus.cu) for nvcc and a GPU, where no actor is the host: its
 * loads do not reach the memory of a GPU. */
#ifndef LITMUS_DEVICE_H
#define LITMUS_DEVICE_H

#include "../cpu_device/kernel.h"

#ifndef __CUDACC__
#include <shmem.h>
#endif
#include <stddef.h>
#include <stdint.h>

/* What the files share, and what is theirs. */
#ifdef __CUDACC__
#define LIT_SHARED static __device__
#define LIT_OWN static __device__
#else
#define LIT_SHARED
#define LIT_OWN static
#endif

enum { LIT_PES = 8, LIT_LANES = 6, LIT_BATCH = 16, LIT_PAYLOAD = 128, LIT_SEEN = 2 };

enum lit_order { NONE, FENCE, QUIET };
enum lit_verdict { ALLOWED, FORBIDDEN };
enum lit_targets { ANY_TARGETS, SAME_TARGET };

/* Symmetric: one for each lane and round of a batch in the heap, and one in static data. */
struct lit_memory {
    uint64_t words[4 * 8]; /* x or d, y or f, e, g: side by side, or on their own lines */
    uint64_t payload[2][LIT_PAYLOAD], source[LIT_PAYLOAD], copy[LIT_PAYLOAD];
    uint64_t met[LIT_PES];               /* by PE, of a batch's first round: how often it has met the others */
    uint64_t seen[2][LIT_PES][LIT_SEEN]; /* on PE 0, of odd and even batches */
    uint64_t stale;                      /* of a group's threads */
};

struct lit_round;

struct lit_shape {
    const char *name, *requirement;
    int n_actors;
    enum lit_verdict verdict;
    void (*act)(struct lit_round *r);            /* the steps of PE r->me */
    bool (*outcome)(uint64_t (*seen)[LIT_SEEN]); /* of seen[PE] */
    bool has_payload;                            /* it may have more than one word, and be put by a group of threads */
    enum lit_targets targets;
    enum lit_order order;
    void (*after)(struct lit_round *r); /* on PE 0, when all is complete; its registers are set then */
    int reader;                         /* the PE that waits for the flag */
    bool is_nbi;                        /* the payload is put without waiting for it */
    bool is_of_team;                    /* it calls a collective: one lane, kernels only */
    bool needs_alias;
    bool is_rare; /* many rounds are needed */
};

struct lit_round {
    const struct lit_shape *shape;
    struct lit_memory *memory; /* in the heap */
    uint64_t *x, *y, *f, *g, *d, *e;
    uint64_t number, dice, delays; /* number: from 0 */
    size_t n_words;                /* of d and e */
    int me, n_pes, t, u, scope;
    uint64_t seen[LIT_SEEN];
};

/* The list, as actors read it and as the host does, which takes no steps. */
#ifdef __CUDACC__
LIT_OWN const struct lit_shape *lit_shape_of(size_t i);
static const struct lit_shape *lit_names_of(size_t i);
static size_t lit_n_shapes(void);
#else
const struct lit_shape *lit_shape_of(size_t i);
#define lit_names_of lit_shape_of
size_t lit_n_shapes(void);
#endif

#ifdef __CUDACC__
LIT_OWN bool lit_is_host(void) { return false; }
#else
static inline bool lit_is_host(void) { return isthmus_cpu_thread_v1 == NULL; }
#endif
LIT_OWN inline bool lit_leads(const struct lit_round *r) { return isthmus_dev_is_leader(r->scope); }
LIT_OWN inline uint64_t lit_new(const struct lit_round *r) { return 2 * (r->number / LIT_BATCH + 1); }

/* Up to 2 microseconds, often none. */
LIT_SHARED void lit_delay(struct lit_round *r);

/* By all threads of an actor: the payload with the round's number to `pe`; the order call of the shape, by one thread
 * for what all have done; waiting for a flag. */
LIT_SHARED void lit_put_payload(struct lit_round *r, uint64_t *payload, int pe);
LIT_SHARED void lit_put_signal(struct lit_round *r, uint64_t *payload, uint64_t *signal, int pe);
LIT_SHARED void lit_order(struct lit_round *r, enum lit_order order);
LIT_SHARED void lit_await(struct lit_round *r, uint64_t *flag);
LIT_SHARED uint64_t lit_stale_here(struct lit_round *r,
                                   const uint64_t *payload); /* how many words are old, in the leader */
LIT_SHARED uint64_t lit_stale_at(struct lit_round *r, const uint64_t *payload, int pe);
LIT_SHARED void lit_fill(struct lit_round *r, uint64_t *words); /* by plain stores */

/* By the leader. */
LIT_SHARED void lit_raise(struct lit_round *r, uint64_t *flag, int pe);
LIT_SHARED void lit_await_at_least(uint64_t *word, uint64_t value);
LIT_SHARED bool lit_is_at_least(uint64_t *word, uint64_t value);

#endif

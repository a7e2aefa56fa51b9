/* core/sync/spin.h: how a wait passes its time: a short spin, then it yields the processor each time round. Where a
 * network ends the wait, it finally sleeps: until something arrives, if arrivals wake this PE; else it naps between
 * polls of its variable, for an eighth of the time that it has waited, at least 50 us and at most ISTHMUS_NAP. Where a
 * store ends it, and each PE has a processor, it naps instead of yielding while other threads compute there, since each
 * yield gives them a time slice. Not the condition of the wait (wait.h). With more PEs than processors, and while two
 * share one, the spin is almost nothing: the awaited PE needs the processor that a spinning PE would burn. */
#ifndef IST_SYNC_SPIN_H
#define IST_SYNC_SPIN_H

#include "core/base/atomic.h"
#include "core/base/note.h"
#include "core/base/status.h"

#include <isthmus/idle.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a wait of the program is for, by its arguments. */
struct ist_wait_set;
struct ist_awaited {
    const char *routine;
    const void *ivar;
    uint64_t value;
    size_t size;
    int cmp;
    bool is_signed;
    int behind;                     /* the PE before this one at a lock; -1: it is no lock */
    const struct ist_wait_set *set; /* several variables; NULL: one */
    enum ist_quantity quantity;     /* of them */
};

struct ist_spin {
    uint32_t rounds;
    uint32_t yields;
    uint64_t deadline_ns; /* of the next report of this wait; 0: not set so far */
    /* On a network only. */
    uint64_t start_ns, n_events; /* the first idle yield; events handled by this PE's threads until the last one */
    uint32_t n_busy;             /* yields, one after another, that had something to do */
    struct isthmus_idle idle;    /* since there was something to do */
    /* What the wait is for, noted if it lasts; NULL for a collective. */
    const struct ist_awaited *awaited;
    bool is_noted;
};

extern uint32_t ist_spin_rounds; /* before the first yield; any thread's yields adapt it */

/* What can end a wait of this PE. */
enum ist_spin_peers {
    IST_SPIN_LOCAL,  /* stores of PEs that load and store */
    IST_SPIN_REMOTE, /* only what wakes this PE when it arrives (ISTHMUS_CAP_WAKES): a wait serves it itself rather than
                      * wake the progress thread for it, and can sleep until that thread has something to serve */
    IST_SPIN_MIXED,  /* that, and stores, which wake no thread: a sleep is a nap */
    IST_SPIN_SILENT, /* stores from a network that reports no arrivals, in quick succession: likewise, but the first nap
                      * comes later */
    IST_SPIN_N
};

/* The kind of waits of a PE: has_network: a transport to other hosts is open; wakes: its arrivals wake this PE;
 * has_stores: other PEs of this host, or other threads of this PE, store. */
enum ist_spin_peers ist_spin_peers_of(bool has_network, bool wakes, bool has_stores);

/* spin_ns UINT64_MAX: decide from how many PEs share how many processors. nap_ns: the longest nap of a wait,
 * UINT64_MAX: the usual one; 0: waits never nap. */
void ist_spin_init(uint64_t spin_ns, uint64_t nap_ns, int n_local, int n_cpus, enum ist_spin_peers peers);
void ist_spin_expect(enum ist_spin_peers peers); /* from now on */
void ist_spin_expect_stores(void);               /* from now on: other threads of this PE store too */
bool ist_spin_is_oversubscribed(void);
const char *ist_spin_describe(void); /* how a wait that lasts passes its time, for the log */

/* This thread is the library's own and waits beside the program: in a long wait it naps, and leaves the processor to
 * the threads that compute. */
extern _Thread_local bool ist_spin_is_beside __attribute__((tls_model("initial-exec")));

/* Yields; now and then makes progress, and four times a second reports the wait to core/life, which may end the job
 * (base/fatal.h). */
void ist_spin_yield(struct ist_spin *spin) IST_COLD;

/* Before the first yield. Returns false when it is time for it. */
static inline bool ist_spin_briefly(uint32_t *rounds)
{
    enum { HOT_ROUNDS = 64 }; /* without a pause: a flag that is about to arrive is seen 10 ns sooner */
    uint32_t round = (*rounds)++;
    if (IST_UNLIKELY(round >= ist_load_relaxed(&ist_spin_rounds))) return false;
    if (round >= HOT_ROUNDS) ist_pause();
    return true;
}

static inline void ist_spin_once(struct ist_spin *spin)
{
    if (!ist_spin_briefly(&spin->rounds)) ist_spin_yield(spin);
}

/* After the last round: clears the note that this thread waits. */
static inline void ist_spin_end(const struct ist_spin *spin)
{
    if (IST_UNLIKELY(spin->is_noted)) ist_note_over();
}

/* awaited.c: called now and then by a long wait: notes it (base/note.h), or the value that it sees by now. since_ns 0:
 * it is noted already. NULL: a collective waits. */
void ist_awaited_note(const struct ist_awaited *awaited, uint64_t since_ns, uint64_t now_ns);

#endif

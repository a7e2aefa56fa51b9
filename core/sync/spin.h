/* core/sync/spin.h: how a wait passes its time: a short spin, then it gives the processor away each time round.
 * Not what is waited for (wait.h). With more PEs than processors the spin is almost nothing: whoever is waited for needs
 * the processor that a spinning PE would burn. */
#ifndef IST_SYNC_SPIN_H
#define IST_SYNC_SPIN_H

#include "core/base/atomic.h"
#include "core/base/status.h"

#include <stdbool.h>

struct ist_spin {
    uint32_t rounds;
    uint32_t yields;
    uint64_t deadline_ns; /* of the next look around; 0: not set so far */
};

extern uint32_t ist_spin_rounds; /* before the first yield */

/* spin_ns UINT64_MAX: decide from how many PEs share how many processors. on_network: what is waited for may come through
 * a transport that a processor has to serve; then a wait serves it itself rather than wake the progress thread for it. */
void ist_spin_init(uint64_t spin_ns, int n_local, int n_cpus, bool on_network);
bool ist_spin_is_oversubscribed(void);

/* Yield; now and then make progress, and look whether waiting still makes sense (ist_spin_on_long_wait). */
void ist_spin_yield(struct ist_spin *spin) IST_COLD;

/* `look` is called four times a second from waits that last; it may end the job. NULL: nobody looks. */
void ist_spin_on_long_wait(void (*look)(void));

static inline void ist_spin_once(struct ist_spin *spin)
{
    enum { HOT_ROUNDS = 64 }; /* without a pause: a flag that is about to arrive is seen 10 ns sooner */
    uint32_t round = spin->rounds++;
    if (IST_LIKELY(round < ist_spin_rounds)) {
        if (round >= HOT_ROUNDS) ist_pause();
        return;
    }
    ist_spin_yield(spin);
}

#endif

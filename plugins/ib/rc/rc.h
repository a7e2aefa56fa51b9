/* plugins/ib/rc/rc.h: atomics that the peers' adapters execute (ISTHMUS_ATOMICS=nic), for the plugin's other files.
 * Under the worker's lock but for open and close. */
#ifndef ISTHMUS_IB_RC_H
#define ISTHMUS_IB_RC_H

#include "plugins/ib/ib.h"
#include "plugins/ib/rc/rc_qp.h"

/* Opened after UCX, which prepares libibverbs for forks, and closed after the workers. Sets tr->adapter, or the reason
 * why there is none. */
isthmus_status ib_rc_open(isthmus_tr *tr);
void ib_rc_close(isthmus_tr *tr);
isthmus_status ib_rc_worker_open(struct ib_worker *worker);
void ib_rc_worker_close(struct ib_worker *worker);
int ib_rc_progress(struct ib_worker *worker);
int ib_rc_arm(struct ib_worker *worker); /* the descriptor to sleep on besides UCX's; -1: there is none */

isthmus_status ib_rc_connect(struct ib_ep *ep,
                             enum ib_wait wait); /* before the first atomic. The lock is released meanwhile */

/* Returns true if the adapters of both PEs have masked operations, which is known once a worker has connected to that
 * peer. Also without the lock. */
static inline bool ib_rc_has_masked(const isthmus_path *path)
{
    return __atomic_load_n(&path->has_masked, __ATOMIC_RELAXED);
}
void ib_rc_ep_fail(const struct ib_ep *ep); /* the peer is lost */
void ib_rc_ep_close(struct ib_ep *ep);

/* An atomic to start. *fetched is written when it is complete; until then it counts in `batch`, which gets its failure,
 * and in `also`. `fetched` and `also` may be NULL. */
struct ib_rc_amo {
    uint64_t address;
    uint32_t rkey;
    void *fetched;
    struct ib_batch *batch, *also;
};

/* Returns false if there is no room: wait until worker->room is not pending. */
bool ib_rc_start(struct ib_ep *ep, const struct ib_rc_amo *amo, const struct ib_word_op *op);

#endif

/* plugins/common/p2p_chan.h: a channel of the engine, for the two files that keep it: p2p_data.c has puts, gets and
 * order, p2p_amo.c atomics. See p2p.h. */
#ifndef ISTHMUS_P2P_CHAN_H
#define ISTHMUS_P2P_CHAN_H

#include "plugins/common/p2p_priv.h"

enum { P2P_BATCHES = 4 };

struct isthmus_chan {
    isthmus_tr *tr;
    void *stream;
    pthread_mutex_t lock; /* of all that follows, and of submitting */
    uint64_t submitted, completed, borrowed;
    char *stage;
    size_t stage_used;
    uint64_t *result; /* of a fetching atomic; where the stage begins */
    uint64_t *mark;   /* behind it: the stream writes its progress there, on request */
    uint64_t marked;  /* up to which it has been */
    uint32_t n_gets;  /* whose bytes are in the stage, or will be */
    uint32_t n_tests; /* of commits that were not complete */

    struct p2p_batch *batches;           /* P2P_BATCHES of them, behind the mark */
    uint64_t batch_numbers[P2P_BATCHES]; /* of the launches that had them last */
    uint32_t batch;                      /* the one of the latest launch that had one */
};

enum {
    P2P_STAGE_FIRST = 2 * sizeof(uint64_t) + P2P_BATCHES * sizeof(struct p2p_batch)
}; /* where its free part begins */

/* All with the lock, which the functions that wait give to others meanwhile. */
void p2p_note_completed(isthmus_chan *chan, uint64_t all);

/* Waits until the operation with this number is done. */
isthmus_status p2p_wait_for(isthmus_chan *chan, uint64_t number);

/* Has the stream write its mark when it has done this operation, unless it does so anyway. */
isthmus_status p2p_ask_for_mark(isthmus_chan *chan, uint64_t number);

/* Polls for the mark, for as long as that is cheaper than a wait in the driver, and for any word that the device
 * writes. Also without the lock. */
bool p2p_is_marked_soon(const isthmus_chan *chan, uint64_t number);
bool p2p_is_soon(const uint64_t *word, uint64_t least);

/* A copy of a few bytes that are the caller's again on return. */
isthmus_status p2p_put_staged(isthmus_chan *chan, void *dest, const void *source, size_t length_bytes);

/* p2p_amo.c */
isthmus_amo_fn p2p_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags);

#endif

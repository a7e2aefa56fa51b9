/* core/proxy/lane.h: requests of kernels in one context: the open batch collects them, while the operations of the
 * batch before complete. So batches complete in the order of their tickets, and no request waits for a completion. And
 * the closer, for transports that cannot commit without a wait. Not which request goes into which lane: proxy.c. */
#ifndef IST_PROXY_LANE_H
#define IST_PROXY_LANE_H

#include "core/ops/commit.h"
#include "core/proxy/batch.h"

struct ist_lane {
    struct ist_batch batches[2]; /* of one context, or with a closer of two */
    struct ist_batch *open;
    struct ist_batch *closing; /* NULL: none */
    bool is_behind_fence;      /* a copy of closing->has_fence, because the closer may reset that field */
    struct ist_commit commit;  /* of the batch that is closing, without a closer */
};

/* A lane of one context. */
isthmus_status ist_lane_init(struct ist_lane *lane);
void ist_lane_fini(struct ist_lane *lane); /* its operations are complete; accepts a zeroed struct */

/* Gives the open batch a context of its own, before a closer gets the other one. Ends the job if there is none. */
void ist_lane_split(struct ist_lane *lane);

/* The open batch is closing from now on. */
void ist_lane_turn(struct ist_lane *lane);

enum ist_lane_result {
    IST_LANE_IDLE,   /* nothing has happened */
    IST_LANE_BUSY,   /* a completion has begun, or replies have gone out */
    IST_LANE_BLOCKED /* kernels wait for the open batch, which a transport cannot complete without a wait */
};

/* Completes what can be completed without a wait. Not while a closer has a batch. */
enum ist_lane_result ist_lane_advance(struct ist_lane *lane, struct ist_requests *requests);

/* Returns true if operations may be under way that a fence has ordered before what comes now. */
static inline bool ist_lane_has_fence(const struct ist_lane *lane)
{
    return lane->open->has_fence || (lane->closing != NULL && lane->is_behind_fence);
}

/* Returns true if no kernel waits for it. */
static inline bool ist_lane_is_done(const struct ist_lane *lane)
{
    return lane->closing == NULL && !ist_batch_is_awaited(lane->open);
}

/* ---- the closer (closer.c) ----
 * A thread that waits for the completion of a batch where a transport cannot commit without a wait (commit_start in
 * isthmus/transport.h is absent). It exists once the first such wait is needed. */

/* Starts the thread unless it runs, and gives it a batch, whose context no other thread uses until the closer is free:
 * it completes the batch and replies. Ends the job if there is no thread to be had. The closer is free. */
void ist_closer_take(struct ist_batch *batch, struct ist_requests *requests);

bool ist_closer_is_free(void);

/* Ends the thread, which first completes what it has. Accepts any state. */
void ist_closer_end(void);

/* In a child after fork. */
void ist_closer_forget(void);

#endif

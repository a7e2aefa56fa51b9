/* core/ops/commit.h: quiet without a wait, for a thread that has more to do meanwhile. Not quiet itself (order.h). */
#ifndef IST_OPS_COMMIT_H
#define IST_OPS_COMMIT_H

#include "core/ops/order.h"

/* The completion of all operations that a context had issued when it began. */
struct ist_commit {
    uint32_t to_start, to_test; /* bit i: transport i has still to begin it; or to complete it */
    bool has_device_gets;
    uint64_t tickets[IST_MAX_TRANSPORTS];
};

/* Begins one. Returns false if a transport in use cannot commit without a wait; then nothing was begun. One at a time
 * in a context. */
bool ist_commit_begin(ist_ctx *ctx, struct ist_commit *out, const char *routine);

/* Makes progress. Returns true once all is complete, as after quiet; the caller calls ist_mark_unused() if nothing was
 * issued since. Ends the job if a transport fails. */
bool ist_commit_advance(ist_ctx *ctx, struct ist_commit *commit, const char *routine);

/* Makes the progress that operations of this context need. Ends the job if a transport fails. */
void ist_ctx_poll(ist_ctx *ctx, const char *routine);

/* A transport has returned AGAIN: notes the wait, and makes progress, so that it may take the operation later. */
void ist_make_room(ist_ctx *ctx, uint32_t transport, const struct ist_channel *channel) IST_COLD;

#endif

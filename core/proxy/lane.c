/* core/proxy/lane.c: see lane.h. */
#include "core/proxy/lane.h"

#include "core/base/fatal.h"

#include <string.h>

isthmus_status ist_lane_init(struct ist_lane *lane)
{
    memset(lane, 0, sizeof *lane);
    lane->open = &lane->batches[0];
    isthmus_status status = ist_batch_context(&lane->batches[0].ctx);
    lane->batches[1].ctx = lane->batches[0].ctx;
    return status;
}

void ist_lane_fini(struct ist_lane *lane)
{
    ist_ctx *first = lane->batches[0].ctx, *second = lane->batches[1].ctx;
    if (second != NULL && second != first) ist_ctx_destroy(second);
    if (first != NULL) ist_ctx_destroy(first);
    memset(lane, 0, sizeof *lane);
}

static struct ist_batch *other_than(struct ist_lane *lane, const struct ist_batch *batch)
{
    return batch == &lane->batches[0] ? &lane->batches[1] : &lane->batches[0];
}

void ist_lane_split(struct ist_lane *lane)
{
    isthmus_status status = ist_batch_context(&other_than(lane, lane->open)->ctx);
    if (status != ISTHMUS_OK) ist_die(ist_batch_routine, status);
}

void ist_lane_turn(struct ist_lane *lane)
{
    lane->closing = lane->open;
    lane->is_behind_fence = lane->closing->has_fence;
    lane->open = other_than(lane, lane->closing);
}

/* Returns true if the batch that is closing is complete. */
static bool finish(struct ist_lane *lane, struct ist_requests *requests)
{
    ist_ctx *ctx = lane->closing->ctx;
    if (!ist_commit_advance(ctx, &lane->commit, ist_batch_routine)) return false;
    if (!lane->open->is_used) ist_mark_unused(ctx);
    ist_batch_report(lane->closing, requests);
    lane->closing = NULL;
    return true;
}

/* With aliases only there is nothing to wait for. */
enum ist_lane_result ist_lane_advance(struct ist_lane *lane, struct ist_requests *requests)
{
    enum ist_lane_result result = IST_LANE_IDLE;
    if (lane->closing != NULL) {
        if (!finish(lane, requests)) return IST_LANE_IDLE;
        result = IST_LANE_BUSY;
    }
    if (!ist_batch_is_awaited(lane->open)) return result;
    if (ist_order_is_simple(lane->open->ctx)) {
        ist_batch_complete(lane->open);
        ist_batch_report(lane->open, requests);
        return IST_LANE_BUSY;
    }
    if (!ist_commit_begin(lane->open->ctx, &lane->commit, ist_batch_routine)) return IST_LANE_BLOCKED;
    ist_lane_turn(lane);
    (void)finish(lane, requests);
    return IST_LANE_BUSY;
}

/* core/ops/region.h: regions of nvshmemx.h: the stretches in which a thread's short puts may share messages.
 * A region belongs to the thread that starts it. Inside, each short put that goes through a transport goes by its slot
 * put_more, which may keep it back until `post`: at the end of the region, in each wait that lasts, before what the
 * program can wait with in a loop (nvshmemx.h), and where the next put goes by another context or transport. So one
 * channel at a time has puts of this thread. Quiet and fence need no step here: the transport's own cover the puts. */
#ifndef IST_OPS_REGION_H
#define IST_OPS_REGION_H

#include "core/ops/target.h"

/* Of this thread. */
struct ist_region {
    bool is_batching;
    bool has_puts; /* that may be kept back: of `ctx`, by `transport` */
    uint32_t transport, hints;
    const ist_ctx *ctx;
    const char *routine; /* of the last put: any call may post, and fail for it */
    uint64_t handle;     /* 0: the thread is in no region */
};
extern _Thread_local struct ist_region ist_region __attribute__((tls_model("initial-exec")));

void ist_region_start(uint32_t hints, bool is_batching);
void ist_region_stop(void); /* takes a thread that is in none */

/* The put of `n` bytes from host memory. Returns false if nothing was started. The source may be reused after true. */
bool ist_region_put(const struct ist_transfer *t, const struct ist_target *far, const char *near,
                    const isthmus_lmem *near_mem, size_t n) IST_COLD;

/* Starts what is kept back. */
void ist_region_post_slow(void) IST_COLD;
static inline void ist_region_post(void)
{
    if (IST_UNLIKELY(ist_region.has_puts)) ist_region_post_slow();
}

#endif

/* core/ops/checker.h: the calls of operations, ordering and waits into ISTHMUS_CHECK=1.
 * The checks themselves are in core/check, above these floors because they use their operations; core/check registers
 * its functions here. While the mode is on, no call takes a fast path (ist_fast_paths_close), so that all checks are on
 * slow paths. Off, it costs one test of one flag there. */
#ifndef IST_OPS_CHECKER_H
#define IST_OPS_CHECKER_H

#include "core/ops/transfer.h"

enum ist_check_order { IST_CHECK_FENCE, IST_CHECK_LOCAL_COMPLETE, IST_CHECK_REMOTE_COMMIT, IST_CHECK_QUIET };

struct ist_checker {
    /* Any operation with a contiguous range on either side, before it begins. Ends the job if the range is not
     * symmetric. Returns true for a get that is held back: the caller has nothing to do. */
    bool (*transfer)(const struct ist_transfer *t);

    /* An ordering call of the program begins. */
    void (*order)(ist_ctx *ctx, enum ist_check_order what, const char *routine);

    /* A wait or test of the program has seen its value in `ivar`. */
    void (*seen)(const void *ivar, size_t size, const char *routine);

    /* This PE may know of other PEs' accesses now: it has left a barrier or sync, got a lock, or fetched a value. */
    void (*synchronised)(void);

    /* [addr, addr + length_bytes) must lie in one live block if it lies in the heap. */
    void (*heap_range)(const char *routine, const char *argument, const void *addr, size_t length_bytes);
};

/* ISTHMUS_CHECK, between init and finalize; core/check sets both. */
extern bool ist_check_on;
extern const struct ist_checker *ist_checker; /* valid while the mode is on */

/* Nesting depth of this thread in routines whose operations are the library's own, not the program's. */
extern _Thread_local int ist_check_depth __attribute__((tls_model("initial-exec")));
static inline void ist_check_enter(void) { ist_check_depth++; }
static inline void ist_check_leave(void) { ist_check_depth--; }

/* Returns true if this thread runs a call of the program, not one of the library's own, and is in no barrier or sync:
 * those use the default context, as the program does. */
bool ist_check_is_on_program(void) IST_COLD;

/* Returns true if this call is to be checked. */
IST_INLINE bool ist_check_applies(void) { return IST_UNLIKELY(ist_check_on) && ist_check_is_on_program(); }

/* The functions of the table, while the mode is on. */
static inline bool ist_check_transfer(const struct ist_transfer *t) { return ist_checker->transfer(t); }
static inline void ist_check_order(ist_ctx *ctx, enum ist_check_order what, const char *routine)
{
    ist_checker->order(ctx, what, routine);
}
static inline void ist_check_seen(const void *ivar, size_t size, const char *routine)
{
    ist_checker->seen(ivar, size, routine);
}
static inline void ist_check_synchronised(void) { ist_checker->synchronised(); }

#endif

/* core/check/check.h: ISTHMUS_CHECK=1: the mistakes that leave no trace where they are made. docs/checking.md lists
 * them.
 * Not the comparison of collectives (coll/same_call.h), nor the checks of every call (ops/target.h).
 *
 * While the mode is on no call takes a fast path (ist_fast_paths_close), so that all checks are on slow paths, which
 * call ist_check_applies() first. Off, the mode costs that one test on paths that are slow already.
 * Subjects: blocks.c allocated blocks; pending.c buffers of operations under way; shadow.c which PE has accessed which
 * words of a PE; mixed.c and unordered.c, which read that; leaks.c the end. finding.h reports the mistakes. */
#ifndef IST_CHECK_CHECK_H
#define IST_CHECK_CHECK_H

#include "core/ctx/ctx.h"

/* ISTHMUS_CHECK, between init and finalize. */
extern bool ist_check_on;

/* Nesting depth of this thread in routines whose operations are the library's own, not the program's. */
extern _Thread_local int ist_check_depth __attribute__((tls_model("initial-exec")));

bool ist_check_is_on_program(void) IST_COLD;

/* Returns true if this call is to be checked. */
IST_INLINE bool ist_check_applies(void) { return IST_UNLIKELY(ist_check_on) && ist_check_is_on_program(); }

static inline void ist_check_enter(void) { ist_check_depth++; }
static inline void ist_check_leave(void) { ist_check_depth--; }

/* After the default context exists, and before it ends. Not collective. */
isthmus_status ist_check_init(bool is_on);
void ist_check_fini(void);

/* ---- what operations report before they begin ---- */

enum ist_check_kind { IST_CHECK_READ, IST_CHECK_WRITE, IST_CHECK_ATOMIC };

struct ist_checked_op {
    const char *routine;
    ist_ctx *ctx;
    int pe; /* in the context's team */
    enum ist_check_kind kind;
    const char *remote_name, *local_name; /* of the arguments */
    const void *remote, *local;           /* local NULL: there is no such buffer */
    size_t length_bytes;                  /* of both, but of atomics that fetch nothing */
    bool is_nbi;
    bool is_fetch; /* an atomic that changes nothing */
    bool is_block; /* one of several of a strided put or get */
    /* The data of a put with signal, whose flag is that signal, or the signal itself, whose data is of the same
     * call. */
    bool has_signal;
};

/* Any operation with a contiguous range on either side. Ends the job if the range is not symmetric. Returns true for a
 * get that is held back: the caller has nothing to do. */
bool ist_check_op(const struct ist_checked_op *op) IST_COLD;

/* ---- order.c, waits, barriers and syncs, locks ---- */

enum ist_check_order { IST_CHECK_FENCE, IST_CHECK_LOCAL_COMPLETE, IST_CHECK_REMOTE_COMMIT, IST_CHECK_QUIET };

/* An ordering call of the program begins. */
void ist_check_order(ist_ctx *ctx, enum ist_check_order what, const char *routine) IST_COLD;

/* A wait or test of the program has seen its value in `ivar`. */
void ist_check_seen(const void *ivar, size_t size, const char *routine) IST_COLD;

/* This PE may know of other PEs' accesses now: it has left a barrier or sync, got a lock, or fetched a value. */
void ist_check_synchronised(void) IST_COLD;

/* Returns the same number on all PEs for corresponding symmetric addresses, 0 for other addresses. */
uint64_t ist_check_place(const void *addr);

/* ---- buffers of other calls ---- */

/* The heap: [addr, addr + length_bytes) must lie in one live block if it lies in the heap. */
void ist_check_heap_range(const char *routine, const char *argument, const void *addr, size_t length_bytes) IST_COLD;
void ist_check_block_made(const void *block, size_t size_bytes, const char *routine) IST_COLD;
void ist_check_block_gone(const void *block, const char *routine) IST_COLD;

/* A collective reads or writes these: no pending operation may use them. */
void ist_check_local_read(const char *routine, const char *argument, const void *addr, size_t length_bytes) IST_COLD;
void ist_check_local_write(const char *routine, const char *argument, const void *addr, size_t length_bytes) IST_COLD;

#endif

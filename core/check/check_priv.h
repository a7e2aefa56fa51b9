/* core/check/check_priv.h: shared by the files of this folder. */
#ifndef IST_CHECK_CHECK_PRIV_H
#define IST_CHECK_CHECK_PRIV_H

#include "core/base/status.h"
#include "core/check/check.h"

#include <stddef.h>
#include <stdint.h>

/* One mutex for all tables: the mode is not about speed. Not held while the program's own operations run. */
extern pthread_mutex_t ist_check_lock;

/* For accesses to the tables of other PEs: used by this folder only, under the lock. */
extern ist_ctx *ist_check_ctx;

/* When this PE may last have synchronised with another one (synchronised() in check.c). */
extern uint64_t ist_check_synchronised_ns;

/* An operation as the tables see it. */
struct ist_check_access {
    const struct ist_transfer *op;
    const void *caller;
    int world_pe;
    uint64_t now_ns;
};

/* [a, a + a_bytes) and [b, b + b_bytes) have a byte in common. */
static inline bool ist_check_ranges_meet(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

void ist_check_heap_range(const char *routine, const char *argument, const void *addr, size_t length_bytes) IST_COLD;
void ist_blocks_init(void);
void ist_blocks_leaks(void); /* those that are still allocated, one line for each call that made some */
void ist_blocks_fini(void);

bool ist_pending_add(const struct ist_check_access *access); /* after ist_pending_compare; returns true if held back */
void ist_pending_compare(const struct ist_check_access *access);
void ist_pending_complete(ist_ctx *ctx); /* executes the gets that were held back, compares the sums, forgets all */
void ist_pending_fini(void);

void ist_mixed_note(const struct ist_check_access *access);

void ist_unordered_note(const struct ist_check_access *access);
void ist_unordered_order(const ist_ctx *ctx, bool completes); /* false: a fence */
void ist_unordered_seen(const void *ivar, size_t size, const char *routine);
void ist_unordered_synchronised(void);
void ist_unordered_fini(void);

/* ---- findings (finding.c): what is reported without ending the job ----
 * One line for each kind of mistake and call site. Not the mistakes that end the job (ist_misuse in base/fatal.h). */

enum ist_finding {
    IST_FINDING_FREED,     /* memory of the heap in no live block */
    IST_FINDING_CHANGED,   /* the source of an operation under way */
    IST_FINDING_IN_USE,    /* a buffer of an operation under way */
    IST_FINDING_MIXED,     /* accesses of different kinds to one location */
    IST_FINDING_UNORDERED, /* a flag that can overtake its data */
    IST_FINDING_LEAK,
};

/* "isthmus: PE 3: check: ROUTINE: TEXT; called in main (a.out+0x11d4)", the first time for this kind, routine and
 * caller; others are counted. A leak has "leak" in place of "check". */
void ist_finding(enum ist_finding kind, const char *routine, const void *caller, const char *fmt, ...) IST_PRINTF(4, 5)
    IST_COLD;

/* Reports how often each finding was repeated, then forgets all. */
void ist_findings_end(void);

/* ", called in main (a.out+0x11d4)", for the middle of a text; "" for NULL. Cached, because looking up a name takes
 * long. */
const char *ist_finding_site(const void *caller);

#endif

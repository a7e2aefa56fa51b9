/* core/check/finding.h: what ISTHMUS_CHECK=1 reports without ending the job: one line for each kind of mistake and call
 * site. Not the mistakes that end the job (ist_misuse in base/fatal.h). */
#ifndef IST_CHECK_FINDING_H
#define IST_CHECK_FINDING_H

#include "core/base/status.h"

#include <stddef.h>

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

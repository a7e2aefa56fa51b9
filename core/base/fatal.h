/* core/base/fatal.h: the end of the job because of a mistake of the program, or a loss that it cannot survive.
 * Not for failures that can be returned (status.h). */
#ifndef IST_BASE_FATAL_H
#define IST_BASE_FATAL_H

#include "core/base/status.h"

#include <stdbool.h>

/* One line, "isthmus: PE 3: ROUTINE: TEXT", then the whole job ends with a non-zero status. TEXT names the argument, its
 * value and what would be right: "pe is 9; valid: 0 to 7". */
_Noreturn void ist_misuse(const char *routine, const char *fmt, ...) IST_PRINTF(2, 3) IST_COLD;

/* The same for a failure below, whose text is this thread's ist_fail_text(). */
_Noreturn void ist_die(const char *routine, isthmus_status status) IST_COLD;

/* Ends the job with `exit_code`: streams are flushed, the launcher ends the other PEs. What ISTHMUS_ABORT asks for (a
 * backtrace, a trap for a debugger) happens first. */
_Noreturn void ist_end_job(int exit_code) IST_COLD;

/* The same with a message that is about the job and not about a routine; NULL: another PE says why. */
_Noreturn void ist_end_job_saying(const char *text) IST_COLD;

/* Several PEs often find the same fault at once, and one line is enough: true for the first of this job's PEs on this host
 * to ask, from then until it ends. Who gets false says nothing and lets the first one end the job (ist_fatal_yield). */
bool ist_fatal_claim(void);
bool ist_fatal_agree(void); /* the same among all of the job's PEs, as far as they hear of each other; takes a moment */
void ist_fatal_yield(void);

extern int ist_fatal_frames; /* how many frames a backtrace shows at most */

/* Where PEs hear of one another besides: `announce` tells them that this PE ends the job and says why; `another_speaks` is
 * true when another PE does. NULL, NULL: no longer. */
void ist_fatal_with_peers(void (*announce)(void), bool (*another_speaks)(void));

/* Set by the runtime: the job's name ("" or NULL: nobody to share with), how to tell the launcher (NULL: there is none),
 * and the action of ISTHMUS_ABORT. */
void ist_fatal_setup(const char *job, void (*tell_launcher)(int exit_code), int abort_action);

#endif

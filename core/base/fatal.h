/* core/base/fatal.h: the end of the job because of a mistake of the program, or a loss that it cannot survive.
 * Not for failures that can be returned (status.h). One PE of the job reports the reason, and the launcher ends the
 * others: core/life/verdict.c. */
#ifndef IST_BASE_FATAL_H
#define IST_BASE_FATAL_H

#include "core/base/status.h"

#include <stdbool.h>

/* Reports one line, "isthmus: PE 3: ROUTINE: TEXT", and ends the whole job with a non-zero status. TEXT names the
 * argument, its value and what is valid: "pe is 9; valid: 0 to 7". */
_Noreturn void ist_misuse(const char *routine, const char *fmt, ...) IST_PRINTF(2, 3) IST_COLD;

/* The same for a failure of a lower layer, whose text is this thread's ist_fail_text(). */
_Noreturn void ist_die(const char *routine, isthmus_status status) IST_COLD;

/* Ends the job with `exit_code`: streams are flushed, and the launcher ends the other PEs. The action of ISTHMUS_ABORT
 * (a backtrace, a trap for a debugger) happens first. */
_Noreturn void ist_end_job(int exit_code) IST_COLD;

/* The same with a message about the job and not about a routine; NULL if another PE reports the reason. */
_Noreturn void ist_end_job_saying(const char *text) IST_COLD;

/* Waits for a moment, in which the PE that reports the reason ends the job. */
void ist_fatal_yield(void);

#endif

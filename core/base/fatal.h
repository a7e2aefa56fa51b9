/* core/base/fatal.h: the end of the job because of a mistake of the program, or a loss that it cannot survive.
 * Not for failures that can be returned (status.h). */
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

/* Several PEs often detect one fault at once, and one report is enough. Returns true to the first caller among this
 * job's PEs on this host, from then until that PE ends. A PE that gets false reports nothing and lets the first one end
 * the job (ist_fatal_yield). */
bool ist_fatal_claim(void);
/* The same among all PEs of the job, as far as they reach each other; takes half a second. */
bool ist_fatal_agree(void);
void ist_fatal_yield(void);

extern int ist_fatal_frames; /* the most frames that a backtrace shows */

/* Another channel between PEs: `announce` notifies them that this PE ends the job and reports the reason;
 * `another_speaks` returns true if another PE does. NULL, NULL: removed. */
void ist_fatal_with_peers(void (*announce)(void), bool (*another_speaks)(void));

/* Set by the runtime: the job's name ("" or NULL: no other PE on this host), the function that notifies the launcher
 * (NULL: there is none), and the action of ISTHMUS_ABORT. */
void ist_fatal_setup(const char *job, void (*tell_launcher)(int exit_code), int abort_action);

#endif

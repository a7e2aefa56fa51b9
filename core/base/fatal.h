/* core/base/fatal.h: the end of the job because of a mistake of the program, or a loss that it cannot survive; and the
 * reports of ends, long waits and new paths to core/life.
 * Not for failures that can be returned (status.h). One PE of the job reports the reason, and the launcher ends the
 * others: core/life/verdict.c. */
#ifndef IST_BASE_FATAL_H
#define IST_BASE_FATAL_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

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

/* ---- reports to core/life, which lies above ----
 * Through one callback, which core/life registers once, when the library is loaded. In a program without core/life,
 * such as a unit test, they are dropped. */

struct ist_card;

enum ist_life_event_kind {
    /* A wait has lasted for another quarter of a second. The callback checks whether waiting still makes sense; it may
     * end the job. */
    IST_LIFE_WAIT_IN_CALL,      /* a call of the program */
    IST_LIFE_WAIT_IN_SLOT,      /* a slot of a transport, which may hold locks of the core */
    IST_LIFE_WAIT_IN_BOOTSTRAP, /* a call of the bootstrap, which may serve no other call until the wait ends */
    IST_LIFE_CONNECT,           /* this PE opens a path to `peer`, through a network */
    IST_LIFE_HAS_ENDED,         /* the callback sets *has_ended if the PE `pe` is known to have ended or left */
    IST_LIFE_END                /* this PE ends the job; the callback does not return */
};

enum ist_end_cause {
    IST_END_FAILURE, /* a mistake of the program, or a failure of a call: other PEs may make the same one */
    IST_END_LOSS,    /* of a PE, found in a call: every PE that waits for the lost one finds it */
    IST_END_JOB      /* found by a check of the job, or already reported */
};

struct ist_end {
    enum ist_end_cause cause;
    int exit_code;
    const char *text; /* NULL: there is nothing to report, or another PE reports it */
};

struct ist_life_event {
    enum ist_life_event_kind kind;
    const struct ist_card *peer; /* of CONNECT; borrowed for the call */
    int pe;                      /* of HAS_ENDED, like the next one */
    bool *has_ended;
    const struct ist_end *end; /* of END */
};

void ist_life_register(void (*callback)(const struct ist_life_event *event));

void ist_life_report(const struct ist_life_event *event);

static inline void ist_life_report_wait(enum ist_life_event_kind kind)
{
    const struct ist_life_event event = {.kind = kind};
    ist_life_report(&event);
}

/* ---- the place in the program from which the current library call was made, for messages (call_site.c) ---- */

/* Returns an address in the program's call instruction, or NULL if the frames do not show one. */
const void *ist_caller(void);

/* In a handler of exit(). Returns true if this thread was inside one of the library's calls when it called exit(),
 * other than one that ends the program: a handler of a signal has interrupted the call, which cannot continue. Returns
 * false too if the frames do not show it. */
bool ist_exit_is_within_call(void);

/* Writes "; called in main (a.out+0x11d4)", for addr2line; "" for NULL. */
void ist_call_site_of(const void *caller, char *out, size_t room);

/* Writes the call site of the current call. */
void ist_call_site(char *out, size_t room);

#endif

/* core/base/life_event.h: what the lower floors report to core/life, which lies above them: through one callback, which
 * core/life registers once, when the library is loaded. In a program without core/life, such as a unit test, they are
 * dropped. */
#ifndef IST_BASE_LIFE_EVENT_H
#define IST_BASE_LIFE_EVENT_H

struct ist_card;

enum ist_life_event_kind {
    /* A wait has lasted for another quarter of a second. The callback checks whether waiting still makes sense; it may
     * end the job. */
    IST_LIFE_WAIT_IN_CALL,      /* a call of the program */
    IST_LIFE_WAIT_IN_SLOT,      /* a slot of a transport, which may hold locks of the core */
    IST_LIFE_WAIT_IN_BOOTSTRAP, /* a call of the bootstrap, which may serve no other call until the wait ends */
    IST_LIFE_CONNECT,           /* this PE opens a path to `peer`, through a network */
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
    const struct ist_end *end;   /* of END */
};

void ist_life_register(void (*callback)(const struct ist_life_event *event));

void ist_life_report(const struct ist_life_event *event);

static inline void ist_life_report_wait(enum ist_life_event_kind kind)
{
    const struct ist_life_event event = {.kind = kind};
    ist_life_report(&event);
}

#endif

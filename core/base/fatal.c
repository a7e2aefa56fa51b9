/* core/base/fatal.c: see fatal.h. Makes the text; core/life decides which PE reports it, and ends this process. */
#include "core/base/fatal.h"

#include "core/base/log.h"
#include "core/base/thread.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000 };

static void (*life)(const struct ist_life_event *event); /* written while the library is loaded */

void ist_life_register(void (*callback)(const struct ist_life_event *event)) { life = callback; }

void ist_life_report(const struct ist_life_event *event)
{
    if (life == NULL) return;
    int cancel = ist_cancel_disable();
    life(event);
    ist_cancel_restore(cancel);
}

/* The callback does not return from this event; without one (a unit test) the process ends by itself. */
static _Noreturn void end(enum ist_end_cause cause, int exit_code, const char *text)
{
    const struct ist_end end = {.cause = cause, .exit_code = exit_code, .text = text};
    ist_life_report(&(struct ist_life_event){.kind = IST_LIFE_END, .end = &end});
    if (text != NULL) ist_error("%s", text);
    fflush(NULL);
    _exit(exit_code);
}

_Noreturn void ist_end_job(int exit_code) { end(IST_END_JOB, exit_code, NULL); }

_Noreturn void ist_end_job_saying(const char *text) { end(IST_END_JOB, EXIT_FAILURE, text); }

_Noreturn void ist_misuse(const char *routine, const char *fmt, ...)
{
    char text[512], site[256], line[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ist_call_site(site, sizeof site);
    snprintf(line, sizeof line, "%s: %s%s", routine, text, site);
    end(IST_END_FAILURE, EXIT_FAILURE, line);
}

_Noreturn void ist_die(const char *routine, isthmus_status status)
{
    char line[1280];
    bool is_loss = status == ISTHMUS_ERR_PEER_LOST || status == ISTHMUS_ERR_UNREACHABLE;
    snprintf(line, sizeof line, "%s: %s (%s)", routine, ist_fail_text(), ist_status_name(status));
    end(is_loss ? IST_END_LOSS : IST_END_FAILURE, EXIT_FAILURE, line);
}

void ist_fatal_yield(void) { (void)poll(NULL, 0, PATIENCE_MS); }

/* core/base/status.c: the text of a thread's last failure, and the names of the codes.
 * Nothing is printed here. Contract: status.h. */
#include "core/base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 1024

static _Thread_local char last_text[TEXT_BYTES];

/* The new text may quote the old one ("...: %s", ist_fail_text()), so it is made beside it. */
static void keep_text(int system_error, const char *fmt, va_list args)
{
    char text[TEXT_BYTES];
    int length = vsnprintf(text, sizeof text, fmt, args);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (system_error != 0 && used < sizeof text) {
        char reason[128];
        const char *words = strerror_r(system_error, reason, sizeof reason);
        used += (size_t)snprintf(text + used, sizeof text - used, ": %s", words);
    }
    if (length < 0) text[0] = '\0';
    if (used >= sizeof text) memcpy(text + sizeof text - 4, "...", 4);
    memcpy(last_text, text, sizeof text);
}

isthmus_status ist_fail_v(isthmus_status status, const char *fmt, va_list args)
{
    int saved = errno;
    keep_text(0, fmt, args);
    errno = saved;
    return status;
}

isthmus_status ist_fail(isthmus_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    ist_fail_v(status, fmt, args);
    va_end(args);
    return status;
}

isthmus_status ist_fail_errno(isthmus_status status, const char *fmt, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, fmt);
    keep_text(saved, fmt, args);
    va_end(args);
    errno = saved;
    return status;
}

isthmus_status ist_fail_memory(const char *fmt, ...)
{
    char purpose[TEXT_BYTES / 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(purpose, sizeof purpose, fmt, args);
    va_end(args);
    return ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for %s; start fewer PEs on this host, or raise its memory limit",
                    purpose);
}

const char *ist_fail_text(void) { return last_text; }

const char *ist_status_name(isthmus_status status)
{
    static const struct {
        isthmus_status code;
        const char *name;
    } names[] = {
#define IST_STATUS(code, name) {code, name},
#include "core/base/status.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == status) return names[i].name;
    return "?";
}

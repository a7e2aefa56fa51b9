/* core/base/call_site.c: see call_site.h: the first frame that is not the library's. */
#include "core/base/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FRAMES = 32 };

void ist_call_site(char *out, size_t room)
{
    void *frames[MAX_FRAMES];
    Dl_info own, info;
    *out = '\0';
    int n = backtrace(frames, MAX_FRAMES);
    if (n < 1 || dladdr(frames[0], &own) == 0) return;
    for (int i = 1; i < n; i++) {
        const char *at = (const char *)frames[i] - 1; /* in the call, not behind it */
        if (dladdr(at, &info) == 0 || info.dli_fbase == own.dli_fbase) continue;
        const char *name = strrchr(info.dli_fname, '/');
        snprintf(out, room, "; called %s%s%s%s+%#zx%s", info.dli_sname != NULL ? "in " : "from ",
                 info.dli_sname != NULL ? info.dli_sname : "", info.dli_sname != NULL ? " (" : "",
                 name != NULL ? name + 1 : info.dli_fname, (size_t)(at - (const char *)info.dli_fbase),
                 info.dli_sname != NULL ? ")" : "");
        return;
    }
}

/* core/base/call_site.c: see call_site.h: the first frame that is not the library's. */
#include "core/base/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FRAMES = 32 };

static const char own_address[1]; /* an address in the library */

void ist_call_site(char *out, size_t room)
{
    void *frames[MAX_FRAMES];
    Dl_info own, info;
    *out = '\0';
    int n = backtrace(frames, MAX_FRAMES), i = 0;
    if (dladdr(own_address, &own) == 0) return;
    /* Frames above this function may be those of a tool that watches backtrace(). */
    while (i < n && (dladdr(frames[i], &info) == 0 || info.dli_fbase != own.dli_fbase)) i++;
    for (; i < n; i++) {
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

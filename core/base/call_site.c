/* core/base/call_site.c: see fatal.h: which frames of a thread are the library's. */
#include "core/base/fatal.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 32 };

static const char own_address[1]; /* an address in the library */

static struct dl_find_object own; /* where the library is mapped */
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void find_own(void) { (void)_dl_find_object((void *)(uintptr_t)own_address, &own); }

/* dladdr would also search for a symbol's name, and with ISTHMUS_CHECK this runs in every call. */
static bool is_own(const void *address)
{
    return (const char *)address >= (const char *)own.dlfo_map_start &&
           (const char *)address < (const char *)own.dlfo_map_end;
}

/* Returns the first frame from i on that is the library's, or is not. */
static int skip_to(bool is_wanted, void *const *frames, int n, int i)
{
    while (i < n && is_own((const char *)frames[i] - 1) != is_wanted) i++;
    return i;
}

/* The frame of exit() itself, which is short. */
static bool is_exit(const void *frame)
{
    enum { MOST_BYTES = 64 };
    return (uintptr_t)frame - (uintptr_t)exit <= MOST_BYTES;
}

/* The newest frames are those of the library's exit handlers, then those of exit(), which the library may have called
 * itself. */
bool ist_exit_is_within_call(void)
{
    enum { MOST_FRAMES = 256 };
    void *frames[MOST_FRAMES];
    pthread_once(&own_once, find_own);
    int n = backtrace(frames, MOST_FRAMES);
    int i = skip_to(true, frames, n, skip_to(false, frames, n, skip_to(true, frames, n, 0)));
    if (i < n && is_exit(frames[i - 1])) i = skip_to(true, frames, n, skip_to(false, frames, n, i));
    return i < n;
}

const void *ist_caller(void)
{
    void *frames[MAX_FRAMES];
    pthread_once(&own_once, find_own);
    int n = backtrace(frames, MAX_FRAMES), i = 0;
    /* Frames above this function may belong to a tool that intercepts backtrace(). */
    while (i < n && !is_own(frames[i])) i++;
    while (i < n && is_own((const char *)frames[i] - 1)) i++;
    return i < n ? (const char *)frames[i] - 1 : NULL; /* in the call instruction, not after it */
}

void ist_call_site_of(const void *caller, char *out, size_t room)
{
    Dl_info info;
    *out = '\0';
    if (caller == NULL || dladdr(caller, &info) == 0) return;
    const char *name = strrchr(info.dli_fname, '/');
    snprintf(out, room, "; called %s%s%s%s+%#zx%s", info.dli_sname != NULL ? "in " : "from ",
             info.dli_sname != NULL ? info.dli_sname : "", info.dli_sname != NULL ? " (" : "",
             name != NULL ? name + 1 : info.dli_fname, (size_t)((const char *)caller - (const char *)info.dli_fbase),
             info.dli_sname != NULL ? ")" : "");
}

void ist_call_site(char *out, size_t room) { ist_call_site_of(ist_caller(), out, room); }

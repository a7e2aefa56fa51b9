/* plugins/ib/ib_library.h: functions of libraries that are loaded at run time. */
#ifndef ISTHMUS_IB_LIBRARY_H
#define ISTHMUS_IB_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns false if the library lacks it. POSIX: dlsym's objects and functions have one kind of address. */
static inline bool ib_library_find(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

#endif

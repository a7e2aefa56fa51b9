/* tools/isthmus-perf/doubles.h: libraries that stand for a device or a network in tests. They export the symbol
 * isthmus_double; what is measured with one is no figure of hardware. */
#ifndef ISTHMUS_PERF_DOUBLES_H
#define ISTHMUS_PERF_DOUBLES_H

#include <stddef.h>

/* Sets `out` to the name of the file of the first one that this process has loaded; "": there is none. */
void doubles_find(char *out, size_t room);

#endif

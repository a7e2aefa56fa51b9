/* plugins/ib/ib_load.h: finds and loads libucp. */
#ifndef ISTHMUS_IB_LOAD_H
#define ISTHMUS_IB_LOAD_H

#include <isthmus/transport.h>

#include <limits.h>
#include <stdbool.h>

/* Fills in the handle, which is never closed, and the file that libucp is in. Returns NO_DEVICE if there is none, or if
 * its parts are of two installs; INVALID if ISTHMUS_IB_UCX names none. */
isthmus_status ib_load(const struct isthmus_services *services, void **library, char file[PATH_MAX]);

#endif

/* plugins/ib/ib_registration.h: how host memory is registered with the adapter: all its pages at once, which are
 * pinned, or on demand, page by page as the adapter uses them. */
#ifndef ISTHMUS_IB_REGISTRATION_H
#define ISTHMUS_IB_REGISTRATION_H

#include <isthmus/transport.h>

#include <stdbool.h>

/* Reads the variable REGISTRATION, `pinned` unless it is set. Returns INVALID if its value is neither of the two. */
isthmus_status ib_registration_choose(const struct isthmus_services *services, bool *is_on_demand);

/* Flags of ucp_mem_map for memory of this kind. */
unsigned ib_registration_flags(bool is_on_demand, uint32_t kind);

/* Returns the bytes that adapters have pinned for this process, from such a file as /proc/thread-self/status, or 0 if
 * it has no such line. */
uint64_t ib_registration_pinned_bytes(const char *status_file);

#endif

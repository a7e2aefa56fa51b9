/* plugins/ib/ib_wakes.h: whether writes of peers into this PE's memory wake it.
 * Over TCP each operation is a message that the target's processor receives. An RDMA write, and one through shared
 * memory, is carried out without the target, whose worker has no event then. */
#ifndef IB_WAKES_H
#define IB_WAKES_H

#include <stdbool.h>

/* `resources`: what ucp_context_print_info() writes of a context: every transport that UCX may choose for a peer is in
 * it. Returns true if each of them wakes its target, false if one does not or is unknown, or if the text is not
 * understood. */
bool ib_resources_wake(const char *resources);

#endif

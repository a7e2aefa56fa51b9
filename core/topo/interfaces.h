/* core/topo/interfaces.h: the addresses by which other hosts reach this one, for all of the core that connects hosts:
 * unique ids and heartbeats. The rule is isthmus/interfaces.h, which transports use too. */
#ifndef IST_TOPO_INTERFACES_H
#define IST_TOPO_INTERFACES_H

#include "core/base/status.h"

#include <netinet/in.h>

/* Writes at most `room` addresses, in the order of the system, IPv4 mapped into IPv6, and sets *n. choice: the user's
 * (ISTHMUS_INTERFACE); "" or NULL: none. family: AF_INET, AF_INET6, AF_UNSPEC. Fails if there is no address, or none
 * fits the choice. */
isthmus_status ist_interfaces_find(const char *choice, int family, struct in6_addr *out, size_t room, size_t *n);

#endif

/* core/topo/interfaces.h: the addresses by which other hosts reach this one, for all of the core that connects hosts:
 * unique ids and heartbeats. Transports choose their own.
 * Without a choice by the user: those of interfaces that have a carrier, without the bridges and virtual ends of
 * containers, whose addresses are the same on all hosts; if there are none, those of the bridges; then of interfaces
 * without a carrier; then loopback. */
#ifndef IST_TOPO_INTERFACES_H
#define IST_TOPO_INTERFACES_H

#include "core/base/status.h"

#include <netinet/in.h>

/* Writes at most `room` addresses, in the order of the system, IPv4 mapped into IPv6, and sets *n. names: the user's
 * choice (ISTHMUS_UID_INTERFACE), the beginnings of names with commas between them, or with ^ in front those to leave
 * out; "" or NULL: none. family: AF_INET, AF_INET6, AF_UNSPEC. Fails if there is no address, or none fits the
 * choice. */
isthmus_status ist_interfaces_find(const char *names, int family, struct in6_addr *out, size_t room, size_t *n);

#endif

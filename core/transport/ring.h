/* core/transport/ring.h: the ring of hosts: who looks at whom, so that every host is looked at and none by many. */
#ifndef IST_TRANSPORT_RING_H
#define IST_TRANSPORT_RING_H

#include "core/boot/boot.h"
#include "core/boot/card.h"

/* For the first PE of a host: that of the next host. For every other PE: the first one of its own host. NULL in *out: there is
 * no such PE. */
isthmus_status ist_ring_next(const ist_boot *boot, const struct ist_card **out);

/* Does this PE reach the others? Told at the start and not by the first put: what can be told without a connection, of PE 0, and
 * by the one connection that this PE begins in any case, that to `first_peer` (-1: none). Every host has one with another. */
isthmus_status ist_ring_check(const ist_boot *boot, int first_peer);

#endif

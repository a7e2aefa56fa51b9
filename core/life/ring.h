/* core/life/ring.h: the ring of hosts: every host has one that watches it, and none is watched by many. */
#ifndef IST_LIFE_RING_H
#define IST_LIFE_RING_H

#include "core/boot/boot.h"
#include "core/boot/card.h"

/* Returns, for the first PE of a host, the first PE of the next host, and for every other PE the first one of its own
 * host. *out is NULL if there is no such PE. */
isthmus_status ist_ring_next(const ist_boot *boot, const struct ist_card **out);

/* Checks at start, rather than at the first put that fails, that this PE reaches the others: PE 0 without a connection,
 * and `first_peer` (-1: none) by the one connection that this PE opens in any case. Every host has one to another. */
isthmus_status ist_ring_check(const ist_boot *boot, int first_peer);

#endif

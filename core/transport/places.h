/* core/transport/places.h: where the PEs of this host run, for transports that share out what the host has.
 * Not the cards: those come later, from PEs whose transports are open. Each PE says its own place at the very beginning, so that
 * nobody waits for long, and asks for the others' only when a transport wants to know. */
#ifndef IST_TRANSPORT_PLACES_H
#define IST_TRANSPORT_PLACES_H

#include "core/boot/boot.h"

/* Say where this PE runs. `key` is of this start of the library alone. */
isthmus_status ist_places_publish(ist_boot *boot, const char *key);

/* The PEs of this host, ascending; borrowed until ist_places_close. Where nothing was published, this process alone. */
isthmus_status ist_places_get(const struct isthmus_local_pe **list, uint32_t *n);

uint32_t ist_places_count(void); /* how many they are: asks nobody */

void ist_places_close(void); /* takes any state */

#endif

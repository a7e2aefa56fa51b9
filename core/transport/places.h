/* core/transport/places.h: where the PEs of this host run, for transports that share out what the host has.
 * Not the cards: those come later, from PEs whose transports are open. Each PE publishes its own place at the very beginning, so that
 * no PE waits for long, and its device once the transports to devices are open; it gets those of the others only when a transport asks
 * for them. */
#ifndef IST_TRANSPORT_PLACES_H
#define IST_TRANSPORT_PLACES_H

#include "core/boot/boot.h"

/* Publish where this PE runs, and whether a note with its device will follow. `key` is of this start of the library alone. */
isthmus_status ist_places_publish(ist_boot *boot, const char *key, bool has_device_note);

/* Publish which device holds this PE's heap: ISTHMUS_MEM_ and its PCI address, which may be NULL. Only the first call counts, and none
 * where no note was announced. Peers wait for the note: a PE that cannot start has to publish one too. */
isthmus_status ist_places_publish_device(uint32_t kind, const char *pci_address);

/* The PEs of this host, ascending; borrowed until ist_places_close. Where nothing was published, this process alone. */
isthmus_status ist_places_get(const struct isthmus_local_pe **list, uint32_t *n);

/* The same with their devices. UNSUPPORTED: this PE has not published its own so far, and would wait for PEs that wait for it. */
isthmus_status ist_places_get_all(const struct isthmus_local_place **list, uint32_t *n);

uint32_t ist_places_count(void); /* how many they are: asks nobody */

void ist_places_close(void); /* takes any state */

#endif

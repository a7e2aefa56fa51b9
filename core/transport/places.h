/* core/transport/places.h: the places of this host's PEs, for transports that divide the host's resources.
 * Not the cards, which follow later, from PEs whose transports are open. Each PE publishes its own place first of all,
 * so that no PE waits for long, and its device once the transports to devices are open; it fetches those of the others
 * only if a transport requests them. */
#ifndef IST_TRANSPORT_PLACES_H
#define IST_TRANSPORT_PLACES_H

#include "core/boot/boot.h"

/* Publishes the place of this PE, and whether a note with its device will follow. `key` belongs to this start of the
 * library alone. */
isthmus_status ist_places_publish(ist_boot *boot, const char *key, bool has_device_note);

/* Publishes the device that holds this PE's heap: ISTHMUS_MEM_ and its PCI address, which may be NULL. Only the first
 * call has an effect, and none if no note was announced. Peers wait for the note: a PE that cannot start has to publish
 * one too. */
isthmus_status ist_places_publish_device(uint32_t kind, const char *pci_address);

/* Returns the PEs of this host, ascending; borrowed until ist_places_close. If nothing was published, this process
 * alone. */
isthmus_status ist_places_get(const struct isthmus_local_pe **list, uint32_t *n);

/* The same with their devices. Returns UNSUPPORTED if this PE has not published its own yet, and would wait for PEs
 * that wait for it. */
isthmus_status ist_places_get_all(const struct isthmus_local_place **list, uint32_t *n);

/* The processors that the PEs of this host may use, all together; where this PE's own are enough for all of them,
 * those. No more than the quota of this PE's cgroup grants. */
isthmus_status ist_places_cpus(int *out);

uint32_t ist_places_count(void); /* their number, without a request */

void ist_places_close(void); /* accepts any state */

#endif

/* core/heap/registered.h: buffers that the program has registered as local operands: kept in a table, and registered
 * with the transports that need it. Not symmetric ones (core/memory/malloc.h). Any thread. */
#ifndef IST_HEAP_REGISTERED_H
#define IST_HEAP_REGISTERED_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of any kind. INVALID: NULL, no bytes, managed memory, memory of a device outside its allocations, bytes of a
 * symmetric segment other than static data, or bytes that are registered already. NO_MEMORY: for the table. IO: a
 * transport could not register the memory, and reported why. Nothing has changed then. */
isthmus_status ist_registered_add(void *addr, size_t length_bytes);

/* By the exact start address; INVALID if none starts there. */
isthmus_status ist_registered_remove(void *addr);

/* Returns the registration by the transport of that number of the buffer that holds all of [addr, addr + length_bytes),
 * or NULL if there is no such buffer or it needed no registration. Beside changes, without a lock; valid until that
 * buffer is removed. */
const isthmus_lmem *ist_registered_find(uint32_t transport, const void *addr, size_t length_bytes);

/* Returns true if a buffer holds addr, and its ISTHMUS_MEM_ kind. As ist_registered_find(). */
bool ist_registered_holds(const void *addr, uint32_t *kind);

/* Returns true if one of them holds a byte of [addr, addr + length_bytes): its pages may not be replaced then. */
bool ist_registered_overlaps(const void *addr, size_t length_bytes);

void ist_registered_remove_all(void);
void ist_registered_fini(void); /* accepts any state; no look-up runs meanwhile */

#endif

/* core/heap/registered.h: buffers that the program has registered as local operands: kept in a table, and registered with the
 * transports that want that. Not symmetric ones (core/ops/symmetric_buffers.h). Any thread. */
#ifndef IST_HEAP_REGISTERED_H
#define IST_HEAP_REGISTERED_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of any kind. INVALID: NULL, no bytes, managed memory, memory of a device beyond what was allocated there, bytes of a symmetric segment other than static data, or bytes that are registered already. NO_MEMORY:
 * for the table. IO: a transport could not register the memory, and said why. Nothing has changed then. */
isthmus_status ist_registered_add(void *addr, size_t length_bytes);

/* By the exact start address; INVALID: none starts there. */
isthmus_status ist_registered_remove(void *addr);

/* What the transport of that number gave for the buffer that holds all of [addr, addr + length_bytes); NULL: there is no such
 * buffer, or it needed no registration. Beside changes, without a lock; valid until that buffer is removed. */
const isthmus_lmem *ist_registered_find(uint32_t transport, const void *addr, size_t length_bytes);

/* Is there a buffer that holds addr, and of which ISTHMUS_MEM_? As ist_registered_find(). */
bool ist_registered_holds(const void *addr, uint32_t *kind);

/* Does one of them hold a byte of [addr, addr + length_bytes)? Its pages may not be replaced then. */
bool ist_registered_overlaps(const void *addr, size_t length_bytes);

void ist_registered_remove_all(void); /* takes any state; nobody looks anything up meanwhile */

#endif

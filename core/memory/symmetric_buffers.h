/* core/memory/symmetric_buffers.h: memory of the program's own that becomes symmetric, and private again: collective,
 * because all PEs do it at once or none does. How pages move onto a descriptor is core/heap/static_data.h. */
#ifndef IST_MEMORY_SYMMETRIC_BUFFERS_H
#define IST_MEMORY_SYMMETRIC_BUFFERS_H

#include "core/boot/boot.h"

#include <stddef.h>

void ist_buffers_init(ist_boot *boot, const char *card_key);

/* Collective over all PEs, with equal sizes. The memory keeps address and content. Fails on all PEs if one of them
 * cannot: INVALID (here: not whole pages of private anonymous memory), or the error of the system or a transport.
 * `is_wanted` false: this PE has a reason of its own. */
isthmus_status ist_buffer_make_symmetric(void *addr, size_t length_bytes, bool is_wanted, const char *routine);

/* Collective. Private memory again with its last content, when all PEs have called. INVALID on all PEs if on one of
 * them it is no live symmetric buffer. */
isthmus_status ist_buffer_make_private(void *addr, size_t length_bytes, const char *routine);

void ist_buffers_fini(void); /* all of them, after their segments are withdrawn; takes any state */

#endif

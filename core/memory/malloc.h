/* core/memory/malloc.h: the collective allocation calls: the heap's operations with the barriers that the APIs promise;
 * and symmetric memory that the program provides. Not the book-keeping (core/heap). Size 0 and NULL return at once,
 * without a barrier. */
#ifndef IST_MEMORY_MALLOC_H
#define IST_MEMORY_MALLOC_H

#include "core/boot/boot.h"

#include <stdbool.h>
#include <stddef.h>

void *ist_malloc(size_t size_bytes, size_t align_bytes,
                 const char *routine); /* returns NULL for an alignment that is no power of two */
void *ist_calloc(size_t count, size_t size_bytes, const char *routine);
void *ist_realloc(void *block, size_t size_bytes, const char *routine);
void ist_free(void *block, const char *routine);

/* Synchronises; returns true if the call succeeded on every PE. For calls that end with a barrier and succeed on all
 * PEs or on none. */
bool ist_malloc_agree(bool mine, const char *routine);

void ist_malloc_init(ist_boot *boot, const char *card_key,
                     uint64_t first_limit_bytes); /* at init: the heap is new; boot publishes its growth */

/* ---- memory of the program's own that becomes symmetric, and private again (symmetric_buffers.c) ----
 * Collective, because all PEs do it at once or none does. How pages move onto a descriptor is core/heap/static_data.h.
 * */

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

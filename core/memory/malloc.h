/* core/memory/malloc.h: the collective allocation calls: the heap's operations with the barriers that the APIs promise.
 * Not the book-keeping (core/heap). Size 0 and NULL return at once, without a barrier. */
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

void ist_malloc_init(ist_boot *boot, const char *card_key); /* at init: the heap is new; boot publishes its growth */

#endif

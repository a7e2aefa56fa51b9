/* core/heap/alloc.h: the allocator of a symmetric segment: offsets in, offsets out, without access to the memory.
 * Not the collective part (heap.h has barriers and growth), not thread safe: the caller holds the heap's lock.
 * Two-level segregated fit, O(1). Deterministic: the same calls give the same offsets on every PE. Its metadata lives
 * in private memory, because the segment may be device memory. */
#ifndef IST_HEAP_ALLOC_H
#define IST_HEAP_ALLOC_H

#include "core/base/status.h"

#include <stdbool.h>

#define IST_ALLOC_GRANULE_BYTES \
    64u /* smallest alignment and unit of all blocks: a cache line, so that blocks never share one */
#define IST_ALLOC_NONE UINT64_MAX /* "no offset" */

typedef struct ist_alloc ist_alloc;

struct ist_alloc_stats {
    uint64_t managed_bytes, used_bytes, largest_free_bytes, live_blocks; /* used: in whole granules */
};

/* An allocator that manages [0, managed_bytes) of its segment; managed_bytes may be 0 and is a multiple of the granule.
 */
isthmus_status ist_alloc_create(uint64_t managed_bytes, ist_alloc **out);
void ist_alloc_destroy(ist_alloc *alloc); /* takes NULL */

/* Manage more: [old end, managed_bytes) becomes free memory, joined with a free block before it. */
isthmus_status ist_alloc_grow(ist_alloc *alloc, uint64_t managed_bytes);

/* Private memory for the next take, grow or resize: after OK that call does not fail for want of it. PEs agree on it
 * before all of them take: a give does not always restore the order in which blocks are found. */
isthmus_status ist_alloc_reserve(ist_alloc *alloc);

/* Offset of a new block of at least size_bytes (> 0), a multiple of align_bytes (power of two; less than a granule
 * counts as one). IST_ALLOC_NONE: does not fit (nothing changed). A request that fits into any free block is found:
 * when the good-fit search fails, the one class that may still hold a block is walked (with an alignment, the few
 * classes). */
uint64_t ist_alloc_take(ist_alloc *alloc, uint64_t size_bytes, uint64_t align_bytes);

/* Returns the offset that a take with these arguments would return if it had private memory. Changes nothing. */
uint64_t ist_alloc_room(const ist_alloc *alloc, uint64_t size_bytes, uint64_t align_bytes);

/* How many bytes the segment must manage so that take(size, align) will succeed: for growth. Never less than now.
 * UINT64_MAX when no size could do (overflow). */
uint64_t ist_alloc_needed(const ist_alloc *alloc, uint64_t size_bytes, uint64_t align_bytes);

/* Frees the block that starts at offset. Returns false, with nothing changed, if no live block starts there. */
bool ist_alloc_give(ist_alloc *alloc, uint64_t offset);

/* Shrinks, or grows in place, the block at offset. Returns false, with nothing changed, if there is no such block or it
 * cannot grow here. */
bool ist_alloc_resize(ist_alloc *alloc, uint64_t offset, uint64_t size_bytes);
bool ist_alloc_can_resize(const ist_alloc *alloc, uint64_t offset, uint64_t size_bytes); /* with private memory */

/* Returns the requested size of the live block that starts at offset, or 0 if there is none. */
uint64_t ist_alloc_size(const ist_alloc *alloc, uint64_t offset);

/* The live block that contains offset: true and its start and requested size. O(live blocks): for error texts and
 * checks. */
bool ist_alloc_find(const ist_alloc *alloc, uint64_t offset, uint64_t *start, uint64_t *size_bytes);

void ist_alloc_stats(const ist_alloc *alloc, struct ist_alloc_stats *out);

/* For tests: every invariant of the structure; false with the text of ist_fail_text(). */
bool ist_alloc_check(const ist_alloc *alloc);

#endif

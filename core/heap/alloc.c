/* core/heap/alloc.c: take, give, resize, grow: joins the records (alloc_blocks.c) and the free lists (alloc_index.c).
 * Not the collective allocation calls (heap.h). Every operation that may need records reserves them before it changes
 * anything, so that want of private memory leaves all as it was. */
#include "core/heap/alloc_priv.h"

#include <stdlib.h>

enum {
    RECORDS_PER_CALL = 2
}; /* the most that one call can add: the gap before an aligned block and the rest after it */

isthmus_status ist_alloc_create(uint64_t managed_bytes, ist_alloc **out)
{
    isthmus_status status = ISTHMUS_ERR_NO_MEMORY;
    ist_alloc *alloc = calloc(1, sizeof *alloc);
    if (!alloc) return ist_fail_memory("the bookkeeping of a symmetric segment");
    alloc->resize_array = realloc;
    if (!ist_alloc_blocks_init(alloc)) {
        ist_fail_memory("the bookkeeping of a symmetric segment");
        goto err_destroy;
    }
    status = ist_alloc_grow(alloc, managed_bytes);
    if (status) goto err_destroy;
    *out = alloc;
    return ISTHMUS_OK;

err_destroy:
    ist_alloc_destroy(alloc);
    return status;
}

void ist_alloc_destroy(ist_alloc *alloc)
{
    if (!alloc) return;
    ist_alloc_blocks_fini(alloc);
    free(alloc);
}

isthmus_status ist_alloc_reserve(ist_alloc *alloc)
{
    if (ist_alloc_blocks_reserve(alloc, RECORDS_PER_CALL)) return ISTHMUS_OK;
    return ist_fail_memory("the bookkeeping of %llu symmetric blocks", (unsigned long long)alloc->n_live);
}

isthmus_status ist_alloc_grow(ist_alloc *alloc, uint64_t managed_bytes)
{
    const uint64_t old_bytes = alloc->managed_bytes;
    if (managed_bytes < old_bytes || managed_bytes > IST_ALLOC_MAX_BYTES || managed_bytes % IST_ALLOC_GRANULE_BYTES)
        return ist_fail(ISTHMUS_ERR_INVALID, "a segment of %llu bytes cannot grow to %llu",
                        (unsigned long long)old_bytes, (unsigned long long)managed_bytes);
    if (managed_bytes == old_bytes) return ISTHMUS_OK;
    const isthmus_status status = ist_alloc_reserve(alloc);
    if (status) return status;
    uint32_t last = alloc->blocks[0].prev;
    if (ist_alloc_is_free(alloc, last)) {
        ist_alloc_index_remove(alloc, last);
        alloc->blocks[last].length_bytes += managed_bytes - old_bytes;
    } else {
        last = ist_alloc_block_add(alloc, last, old_bytes, managed_bytes - old_bytes);
    }
    ist_alloc_index_insert(alloc, last);
    alloc->managed_bytes = managed_bytes;
    return ISTHMUS_OK;
}

/* The bytes of a block for that request, and its alignment. Returns false if no segment could hold it. */
static bool round_request(uint64_t size_bytes, uint64_t *length_bytes, uint64_t *align_bytes)
{
    if (size_bytes == 0 || size_bytes > IST_ALLOC_MAX_BYTES) return false;
    if (*align_bytes == 0 || (*align_bytes & (*align_bytes - 1))) return false;
    if (*align_bytes < IST_ALLOC_GRANULE_BYTES) *align_bytes = IST_ALLOC_GRANULE_BYTES;
    *length_bytes = ist_alloc_align_up(size_bytes, IST_ALLOC_GRANULE_BYTES);
    return true;
}

/* Cut a block that is in no free list after length_bytes; the rest, free and in no list either, has a record of its
 * own. */
static uint32_t cut(ist_alloc *alloc, uint32_t block, uint64_t length_bytes)
{
    const uint64_t whole_bytes = alloc->blocks[block].length_bytes;
    const uint64_t rest_offset = alloc->blocks[block].offset + length_bytes;
    alloc->blocks[block].length_bytes = length_bytes;
    return ist_alloc_block_add(alloc, block, rest_offset, whole_bytes - length_bytes);
}

uint64_t ist_alloc_room(const ist_alloc *alloc, uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t length_bytes;
    if (!round_request(size_bytes, &length_bytes, &align_bytes)) return IST_ALLOC_NONE;
    const uint32_t block = ist_alloc_index_search(alloc, length_bytes, align_bytes);
    return block ? ist_alloc_align_up(alloc->blocks[block].offset, align_bytes) : IST_ALLOC_NONE;
}

uint64_t ist_alloc_take(ist_alloc *alloc, uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t length_bytes;
    if (!round_request(size_bytes, &length_bytes, &align_bytes)) return IST_ALLOC_NONE;
    uint32_t block = ist_alloc_index_search(alloc, length_bytes, align_bytes);
    if (!block || !ist_alloc_blocks_reserve(alloc, RECORDS_PER_CALL)) return IST_ALLOC_NONE;
    ist_alloc_index_remove(alloc, block);

    const uint64_t offset = ist_alloc_align_up(alloc->blocks[block].offset, align_bytes);
    if (offset != alloc->blocks[block].offset) {
        const uint32_t gap = block;
        block = cut(alloc, gap, offset - alloc->blocks[gap].offset);
        ist_alloc_index_insert(alloc, gap);
    }
    if (alloc->blocks[block].length_bytes > length_bytes)
        ist_alloc_index_insert(alloc, cut(alloc, block, length_bytes));
    alloc->blocks[block].requested_bytes = size_bytes;
    alloc->used_bytes += length_bytes;
    ist_alloc_live_insert(alloc, block);
    return offset;
}

uint64_t ist_alloc_needed(const ist_alloc *alloc, uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t length_bytes;
    if (!round_request(size_bytes, &length_bytes, &align_bytes)) return UINT64_MAX;
    if (ist_alloc_index_search(alloc, length_bytes, align_bytes)) return alloc->managed_bytes;
    const uint32_t last = alloc->blocks[0].prev; /* nothing fits, so the block will end past the present end */
    const uint64_t from = ist_alloc_is_free(alloc, last) ? alloc->blocks[last].offset : alloc->managed_bytes;
    const uint64_t start = ist_alloc_align_up(from, align_bytes);
    if (start > IST_ALLOC_MAX_BYTES || length_bytes > IST_ALLOC_MAX_BYTES - start) return UINT64_MAX;
    return start + length_bytes;
}

/* Join a free block that is in no list with a free block after it. */
static void join_next(ist_alloc *alloc, uint32_t block)
{
    const uint32_t next = alloc->blocks[block].next;
    if (!ist_alloc_is_free(alloc, next)) return;
    ist_alloc_index_remove(alloc, next);
    alloc->blocks[block].length_bytes += alloc->blocks[next].length_bytes;
    ist_alloc_block_drop(alloc, next);
}

bool ist_alloc_give(ist_alloc *alloc, uint64_t offset)
{
    uint32_t block = ist_alloc_live_lookup(alloc, offset);
    if (!block) return false;
    ist_alloc_live_remove(alloc, block);
    alloc->used_bytes -= alloc->blocks[block].length_bytes;
    alloc->blocks[block].requested_bytes = 0;
    join_next(alloc, block);
    const uint32_t prev = alloc->blocks[block].prev;
    if (ist_alloc_is_free(alloc, prev)) {
        ist_alloc_index_remove(alloc, prev);
        alloc->blocks[prev].length_bytes += alloc->blocks[block].length_bytes;
        ist_alloc_block_drop(alloc, block);
        block = prev;
    }
    ist_alloc_index_insert(alloc, block);
    return true;
}

bool ist_alloc_can_resize(const ist_alloc *alloc, uint64_t offset, uint64_t size_bytes)
{
    uint64_t length_bytes, align_bytes = IST_ALLOC_GRANULE_BYTES;
    const uint32_t block = ist_alloc_live_lookup(alloc, offset);
    if (!block || !round_request(size_bytes, &length_bytes, &align_bytes)) return false;
    const uint64_t old_bytes = alloc->blocks[block].length_bytes;
    const uint32_t next = alloc->blocks[block].next;
    const uint64_t free_bytes = ist_alloc_is_free(alloc, next) ? alloc->blocks[next].length_bytes : 0;
    return length_bytes <= old_bytes || length_bytes - old_bytes <= free_bytes;
}

bool ist_alloc_resize(ist_alloc *alloc, uint64_t offset, uint64_t size_bytes)
{
    if (!ist_alloc_can_resize(alloc, offset, size_bytes)) return false;
    const uint32_t block = ist_alloc_live_lookup(alloc, offset);
    const uint64_t length_bytes = ist_alloc_align_up(size_bytes, IST_ALLOC_GRANULE_BYTES);
    const uint64_t old_bytes = alloc->blocks[block].length_bytes;
    if (length_bytes != old_bytes) {
        if (!ist_alloc_blocks_reserve(alloc, 1)) return false;
        join_next(alloc, block);
        if (alloc->blocks[block].length_bytes > length_bytes)
            ist_alloc_index_insert(alloc, cut(alloc, block, length_bytes));
        alloc->used_bytes += length_bytes - old_bytes;
    }
    alloc->blocks[block].requested_bytes = size_bytes;
    return true;
}

uint64_t ist_alloc_size(const ist_alloc *alloc, uint64_t offset)
{
    const uint32_t block = ist_alloc_live_lookup(alloc, offset);
    return block ? alloc->blocks[block].requested_bytes : 0;
}

bool ist_alloc_find(const ist_alloc *alloc, uint64_t offset, uint64_t *start, uint64_t *size_bytes)
{
    for (uint32_t block = alloc->blocks[0].next; block; block = alloc->blocks[block].next) {
        const struct ist_alloc_block *b = &alloc->blocks[block];
        if (offset < b->offset || offset - b->offset >= b->requested_bytes) continue; /* free: requests no byte */
        *start = b->offset;
        *size_bytes = b->requested_bytes;
        return true;
    }
    return false;
}

void ist_alloc_stats(const ist_alloc *alloc, struct ist_alloc_stats *out)
{
    *out = (struct ist_alloc_stats){.managed_bytes = alloc->managed_bytes,
                                    .used_bytes = alloc->used_bytes,
                                    .largest_free_bytes = ist_alloc_index_largest(alloc),
                                    .live_blocks = alloc->n_live};
}

/* core/heap/alloc_priv.h: shared by the allocator's files: its state, and the helpers of each file.
 * Not for callers (alloc.h). alloc_blocks.c keeps the block records, alloc_index.c the free lists, alloc.c joins them.
 *
 * Blocks cover the managed range without gaps; no two neighbours are both free. A record is named by its index, so that
 * the pool may move when it grows. Record 0 is the sentinel: it closes the address-ordered ring, is never free, and
 * as an index means "none". */
#ifndef IST_HEAP_ALLOC_PRIV_H
#define IST_HEAP_ALLOC_PRIV_H

#include "core/heap/alloc.h"

#include <stddef.h>

#define IST_ALLOC_MAX_BYTES (UINT64_C(1) << 62) /* largest managed range, hence largest block */

/* Free lists are kept by size class: one row per power of two, 32 columns in it. Row 0 holds the sizes below 32
 * granules exactly; a block of row r > 0 is 32 << (r - 1) granules or more. */
enum { IST_ALLOC_COLUMN_BITS = 5, IST_ALLOC_COLUMNS = 1 << IST_ALLOC_COLUMN_BITS, IST_ALLOC_ROWS = 53 };
enum { IST_ALLOC_CLASSES = IST_ALLOC_ROWS * IST_ALLOC_COLUMNS }; /* class = row * columns + column */

struct ist_alloc_block {
    uint64_t offset, length_bytes; /* multiples of the granule */
    uint64_t requested_bytes;      /* the requested size; 0: free */
    uint32_t prev, next;           /* neighbours in the range */
    uint32_t link_prev;            /* free: list of its class */
    uint32_t link_next;            /* free: list of its class; live: chain of its bucket; unused record: the next one */
};

struct ist_alloc {
    struct ist_alloc_block *blocks;
    uint32_t n_room, n_touched; /* records that have memory; records that were ever used, sentinel included */
    uint32_t unused, n_unused;  /* list of records given up */
    uint32_t *buckets;          /* offset to live block */
    uint32_t bucket_bits;
    uint64_t n_live, managed_bytes, used_bytes;
    uint64_t rows_used; /* bit r: some class of row r has a block */
    uint32_t columns_used[IST_ALLOC_ROWS];
    uint32_t heads[IST_ALLOC_CLASSES];
    void *(*resize_array)(void *array, size_t bytes); /* realloc; tests put a failing one here */
};

static inline bool ist_alloc_is_free(const struct ist_alloc *alloc, uint32_t block)
{
    return alloc->blocks[block].requested_bytes == 0;
}

/* --- alloc_blocks.c: records, and the table of live blocks --- */

bool ist_alloc_blocks_init(struct ist_alloc *alloc); /* false if out of memory; fini is still due */
void ist_alloc_blocks_fini(struct ist_alloc *alloc);
bool ist_alloc_blocks_reserve(struct ist_alloc *alloc, uint32_t n); /* the next n adds cannot fail; false: no memory */

/* A record for [offset, offset + length), free, placed after `prev` in the range; reserved before. */
uint32_t ist_alloc_block_add(struct ist_alloc *alloc, uint32_t prev, uint64_t offset, uint64_t length_bytes);
void ist_alloc_block_drop(struct ist_alloc *alloc, uint32_t block);

void ist_alloc_live_insert(struct ist_alloc *alloc, uint32_t block);
void ist_alloc_live_remove(struct ist_alloc *alloc, uint32_t block);
uint32_t ist_alloc_live_lookup(const struct ist_alloc *alloc, uint64_t offset); /* 0 if none starts there */

/* --- alloc_index.c: free blocks by size --- */

void ist_alloc_index_insert(struct ist_alloc *alloc, uint32_t block);
void ist_alloc_index_remove(struct ist_alloc *alloc, uint32_t block);

/* A free block that holds length_bytes (a multiple of the granule) at a multiple of align_bytes; 0: there is none. */
uint32_t ist_alloc_index_search(const struct ist_alloc *alloc, uint64_t length_bytes, uint64_t align_bytes);
uint64_t ist_alloc_index_largest(const struct ist_alloc *alloc); /* bytes; walks one list */
uint32_t ist_alloc_class_of(uint64_t length_bytes);

/* offset rounded up to align_bytes, a power of two; IST_ALLOC_NONE when that overflows. */
static inline uint64_t ist_alloc_align_up(uint64_t offset, uint64_t align_bytes)
{
    const uint64_t up = (offset + (align_bytes - 1)) & ~(align_bytes - 1);
    return up < offset ? IST_ALLOC_NONE : up;
}

#endif

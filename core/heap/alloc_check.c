/* core/heap/alloc_check.c: every invariant of the allocator's structure, for tests. Reads all, changes nothing. */
#include "core/heap/alloc_priv.h"

struct census {
    uint64_t n_live, n_free, n_records, used_bytes;
};

static bool wrong(const char *what, uint64_t offset)
{
    ist_fail(ISTHMUS_ERR_INVALID, "the symmetric heap's bookkeeping is damaged: %s at offset %llu", what,
             (unsigned long long)offset);
    return false;
}

static bool check_live(const struct ist_alloc *alloc, uint32_t block)
{
    const struct ist_alloc_block *b = &alloc->blocks[block];
    if (b->requested_bytes > b->length_bytes) return wrong("a block smaller than requested", b->offset);
    if (b->length_bytes - b->requested_bytes >= IST_ALLOC_GRANULE_BYTES)
        return wrong("a block longer than its request needs", b->offset);
    if (ist_alloc_live_lookup(alloc, b->offset) != block) return wrong("a live block that is not found", b->offset);
    return true;
}

/* The ring in address order: no gap, no overlap, no two free neighbours. */
static bool check_ring(const struct ist_alloc *alloc, struct census *census)
{
    uint64_t end = 0;
    bool was_free = false;
    uint32_t prev = 0;
    for (uint32_t block = alloc->blocks[0].next; block; prev = block, block = alloc->blocks[block].next) {
        const struct ist_alloc_block *b = &alloc->blocks[block];
        const bool is_free = b->requested_bytes == 0;
        if (b->prev != prev) return wrong("a broken backward link", b->offset);
        if (b->offset != end) return wrong("a gap or an overlap", b->offset);
        if (b->length_bytes == 0 || b->length_bytes % IST_ALLOC_GRANULE_BYTES) return wrong("an odd length", b->offset);
        if (is_free && was_free) return wrong("two free neighbours", b->offset);
        if (!is_free && !check_live(alloc, block)) return false;
        census->n_free += is_free;
        census->n_live += !is_free;
        census->used_bytes += is_free ? 0 : b->length_bytes;
        end += b->length_bytes;
        was_free = is_free;
    }
    if (alloc->blocks[0].prev != prev) return wrong("a ring that is not closed", end);
    if (end != alloc->managed_bytes) return wrong("blocks that do not cover the range", end);
    return true;
}

static bool check_class(const struct ist_alloc *alloc, uint32_t size_class, uint64_t *n_free)
{
    const uint32_t columns = alloc->columns_used[size_class / IST_ALLOC_COLUMNS];
    const bool is_used = columns >> (size_class % IST_ALLOC_COLUMNS) & 1;
    const bool is_row_used = alloc->rows_used >> (size_class / IST_ALLOC_COLUMNS) & 1;
    if (is_used != (alloc->heads[size_class] != 0) || is_row_used != (columns != 0))
        return wrong("a bitmap that disagrees with its lists: class number", size_class);
    uint32_t prev = 0;
    for (uint32_t block = alloc->heads[size_class]; block; prev = block, block = alloc->blocks[block].link_next) {
        const struct ist_alloc_block *b = &alloc->blocks[block];
        if (b->requested_bytes) return wrong("a live block in a free list", b->offset);
        if (b->link_prev != prev) return wrong("a broken free list", b->offset);
        if (ist_alloc_class_of(b->length_bytes) != size_class)
            return wrong("a free block in the wrong class", b->offset);
        ++*n_free;
    }
    return true;
}

bool ist_alloc_check(const ist_alloc *alloc)
{
    struct census census = {.n_records = 1}; /* the sentinel */
    uint64_t n_free_listed = 0, n_live_listed = 0;
    if (!check_ring(alloc, &census)) return false;
    for (uint32_t size_class = 0; size_class < IST_ALLOC_CLASSES; size_class++) {
        if (!check_class(alloc, size_class, &n_free_listed)) return false;
    }
    for (uint32_t bucket = 0; bucket >> alloc->bucket_bits == 0; bucket++) {
        for (uint32_t block = alloc->buckets[bucket]; block; block = alloc->blocks[block].link_next) n_live_listed++;
    }
    for (uint32_t block = alloc->unused; block; block = alloc->blocks[block].link_next) census.n_records++;
    if (census.n_records != alloc->n_unused + 1u) return wrong("a wrong count of unused records", 0);
    census.n_records += census.n_free + census.n_live;
    if (census.n_free != n_free_listed) return wrong("a free block in no list or a list too long", 0);
    if (census.n_live != n_live_listed || census.n_live != alloc->n_live) return wrong("a wrong count of blocks", 0);
    if (census.used_bytes != alloc->used_bytes) return wrong("a wrong count of used bytes", 0);
    if (census.n_records != alloc->n_touched) return wrong("a lost record", 0);
    return true;
}

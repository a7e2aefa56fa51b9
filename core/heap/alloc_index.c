/* core/heap/alloc_index.c: free blocks by size: two-level segregated lists with a bitmap per level, last in first out.
 * Not the records themselves (alloc_blocks.c). After Masmano, Ripoll, Crespo, Real: "TLSF: a New Dynamic Memory
 * Allocator for Real-Time Systems" (2004), with the failing path extended so that any fitting block is found. */
#include "core/heap/alloc_priv.h"

static uint32_t log2_floor(uint64_t value) { return 63u - (uint32_t)__builtin_clzll(value); }

static uint32_t class_of_granules(uint64_t granules)
{
    if (granules < IST_ALLOC_COLUMNS) return (uint32_t)granules;
    const uint32_t shift = log2_floor(granules) - IST_ALLOC_COLUMN_BITS;
    const uint32_t column = (uint32_t)(granules >> shift) & (IST_ALLOC_COLUMNS - 1);
    return (shift + 1) * IST_ALLOC_COLUMNS + column;
}

uint32_t ist_alloc_class_of(uint64_t length_bytes) { return class_of_granules(length_bytes / IST_ALLOC_GRANULE_BYTES); }

/* The first class all of whose blocks are at least that long. */
static uint32_t class_that_fits(uint64_t length_bytes)
{
    uint64_t granules = length_bytes / IST_ALLOC_GRANULE_BYTES;
    if (granules >= IST_ALLOC_COLUMNS) granules += (UINT64_C(1) << (log2_floor(granules) - IST_ALLOC_COLUMN_BITS)) - 1;
    return class_of_granules(granules);
}

/* The first class from `from` on that has a block; IST_ALLOC_CLASSES when none has. */
static uint32_t class_used_from(const struct ist_alloc *alloc, uint32_t from)
{
    if (from >= IST_ALLOC_CLASSES) return IST_ALLOC_CLASSES;
    uint32_t row = from / IST_ALLOC_COLUMNS;
    uint32_t columns = alloc->columns_used[row] & (UINT32_MAX << (from % IST_ALLOC_COLUMNS));
    if (!columns) {
        const uint64_t rows = alloc->rows_used & (UINT64_MAX << 1 << row);
        if (!rows) return IST_ALLOC_CLASSES;
        row = (uint32_t)__builtin_ctzll(rows);
        columns = alloc->columns_used[row];
    }
    return row * IST_ALLOC_COLUMNS + (uint32_t)__builtin_ctz(columns);
}

void ist_alloc_index_insert(struct ist_alloc *alloc, uint32_t block)
{
    const uint32_t size_class = ist_alloc_class_of(alloc->blocks[block].length_bytes);
    const uint32_t head = alloc->heads[size_class];
    alloc->blocks[block].link_prev = 0;
    alloc->blocks[block].link_next = head;
    if (head) alloc->blocks[head].link_prev = block;
    alloc->heads[size_class] = block;
    alloc->columns_used[size_class / IST_ALLOC_COLUMNS] |= UINT32_C(1) << (size_class % IST_ALLOC_COLUMNS);
    alloc->rows_used |= UINT64_C(1) << (size_class / IST_ALLOC_COLUMNS);
}

static void class_now_empty(struct ist_alloc *alloc, uint32_t size_class)
{
    uint32_t *columns = &alloc->columns_used[size_class / IST_ALLOC_COLUMNS];
    *columns &= ~(UINT32_C(1) << (size_class % IST_ALLOC_COLUMNS));
    if (!*columns) alloc->rows_used &= ~(UINT64_C(1) << (size_class / IST_ALLOC_COLUMNS));
}

void ist_alloc_index_remove(struct ist_alloc *alloc, uint32_t block)
{
    const uint32_t prev = alloc->blocks[block].link_prev, next = alloc->blocks[block].link_next;
    if (next) alloc->blocks[next].link_prev = prev;
    if (prev) {
        alloc->blocks[prev].link_next = next;
        return;
    }
    const uint32_t size_class = ist_alloc_class_of(alloc->blocks[block].length_bytes);
    alloc->heads[size_class] = next;
    if (!next) class_now_empty(alloc, size_class);
}

static bool holds(const struct ist_alloc *alloc, uint32_t block, uint64_t length_bytes, uint64_t align_bytes)
{
    const struct ist_alloc_block *b = &alloc->blocks[block];
    const uint64_t start = ist_alloc_align_up(b->offset, align_bytes);
    return start - b->offset <= b->length_bytes && b->length_bytes - (start - b->offset) >= length_bytes;
}

/* Every block of the classes [from, end): only for requests that would fail otherwise. */
static uint32_t search_each(const struct ist_alloc *alloc, uint32_t from, uint32_t end, uint64_t length_bytes,
                            uint64_t align_bytes)
{
    for (uint32_t size_class = class_used_from(alloc, from); size_class < end;
         size_class = class_used_from(alloc, size_class + 1)) {
        for (uint32_t block = alloc->heads[size_class]; block; block = alloc->blocks[block].link_next) {
            if (holds(alloc, block, length_bytes, align_bytes)) return block;
        }
    }
    return 0;
}

uint32_t ist_alloc_index_search(const struct ist_alloc *alloc, uint64_t length_bytes, uint64_t align_bytes)
{
    uint32_t unseen_end = class_that_fits(length_bytes);
    const uint32_t size_class = class_used_from(alloc, unseen_end);
    if (size_class < IST_ALLOC_CLASSES && holds(alloc, alloc->heads[size_class], length_bytes, align_bytes))
        return alloc->heads[size_class];
    if (align_bytes > IST_ALLOC_GRANULE_BYTES) { /* a block this much longer holds it wherever it starts */
        const uint64_t front_bytes = align_bytes - IST_ALLOC_GRANULE_BYTES;
        const bool is_possible = front_bytes <= IST_ALLOC_MAX_BYTES - length_bytes;
        unseen_end = is_possible ? class_that_fits(length_bytes + front_bytes) : IST_ALLOC_CLASSES;
        const uint32_t longer = class_used_from(alloc, unseen_end);
        if (longer < IST_ALLOC_CLASSES) return alloc->heads[longer];
    }
    return search_each(alloc, ist_alloc_class_of(length_bytes), unseen_end, length_bytes, align_bytes);
}

uint64_t ist_alloc_index_largest(const struct ist_alloc *alloc)
{
    if (!alloc->rows_used) return 0;
    const uint32_t row = log2_floor(alloc->rows_used);
    const uint32_t column = 31u - (uint32_t)__builtin_clz(alloc->columns_used[row]);
    uint64_t largest = 0;
    for (uint32_t block = alloc->heads[row * IST_ALLOC_COLUMNS + column]; block;
         block = alloc->blocks[block].link_next) {
        if (alloc->blocks[block].length_bytes > largest) largest = alloc->blocks[block].length_bytes;
    }
    return largest;
}

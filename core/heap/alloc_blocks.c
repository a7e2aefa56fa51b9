/* core/heap/alloc_blocks.c: the allocator's records: the pool they come from, their order in the managed range, and the
 * hash table that finds a live block by its offset. Not the choice of a block (alloc_index.c). */
#include "core/heap/alloc_priv.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, FIRST_BUCKET_BITS = 6 };

static uint32_t bucket_of(const struct ist_alloc *alloc, uint64_t offset)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio: spreads regular strides */
    return (uint32_t)(offset / IST_ALLOC_GRANULE_BYTES * golden >> (64 - alloc->bucket_bits));
}

bool ist_alloc_blocks_init(struct ist_alloc *alloc)
{
    alloc->bucket_bits = FIRST_BUCKET_BITS;
    alloc->buckets = calloc((size_t)1 << FIRST_BUCKET_BITS, sizeof *alloc->buckets);
    alloc->blocks = calloc(FIRST_ROOM, sizeof *alloc->blocks);
    if (!alloc->buckets || !alloc->blocks) return false;
    alloc->n_room = FIRST_ROOM;
    alloc->n_touched = 1;
    alloc->blocks[0].requested_bytes = 1; /* the sentinel never joins a neighbour */
    return true;
}

void ist_alloc_blocks_fini(struct ist_alloc *alloc)
{
    free(alloc->blocks);
    free(alloc->buckets);
}

bool ist_alloc_blocks_reserve(struct ist_alloc *alloc, uint32_t n)
{
    if (alloc->n_unused >= n || alloc->n_room - alloc->n_touched >= n - alloc->n_unused) return true;
    if (alloc->n_room > UINT32_MAX / 2) return false;
    const uint32_t room = alloc->n_room * 2; /* more than n: callers ask for a few */
    struct ist_alloc_block *grown = alloc->resize_array(alloc->blocks, room * sizeof *grown);
    if (!grown) return false;
    alloc->blocks = grown;
    alloc->n_room = room;
    return true;
}

uint32_t ist_alloc_block_add(struct ist_alloc *alloc, uint32_t prev, uint64_t offset, uint64_t length_bytes)
{
    uint32_t block = alloc->unused;
    if (block) {
        alloc->unused = alloc->blocks[block].link_next;
        alloc->n_unused--;
    } else {
        block = alloc->n_touched++;
    }
    const uint32_t next = alloc->blocks[prev].next;
    alloc->blocks[block] = (struct ist_alloc_block){
        .offset = offset, .length_bytes = length_bytes, .prev = prev, .next = next};
    alloc->blocks[prev].next = block;
    alloc->blocks[next].prev = block;
    return block;
}

void ist_alloc_block_drop(struct ist_alloc *alloc, uint32_t block)
{
    struct ist_alloc_block *b = &alloc->blocks[block];
    alloc->blocks[b->prev].next = b->next;
    alloc->blocks[b->next].prev = b->prev;
    *b = (struct ist_alloc_block){.link_next = alloc->unused};
    alloc->unused = block;
    alloc->n_unused++;
}

/* Twice the buckets. Without memory for them the table stays as it is: slower, not wrong. */
static void buckets_double(struct ist_alloc *alloc)
{
    const size_t old_bytes = sizeof *alloc->buckets << alloc->bucket_bits;
    uint32_t *grown = alloc->bucket_bits < 31 ? alloc->resize_array(NULL, old_bytes * 2) : NULL;
    if (!grown) return;
    memset(grown, 0, old_bytes * 2);
    free(alloc->buckets);
    alloc->buckets = grown;
    alloc->bucket_bits++;
    for (uint32_t block = alloc->blocks[0].next; block; block = alloc->blocks[block].next) {
        if (ist_alloc_is_free(alloc, block)) continue;
        uint32_t *bucket = &grown[bucket_of(alloc, alloc->blocks[block].offset)];
        alloc->blocks[block].link_next = *bucket;
        *bucket = block;
    }
}

void ist_alloc_live_insert(struct ist_alloc *alloc, uint32_t block)
{
    uint32_t *bucket = &alloc->buckets[bucket_of(alloc, alloc->blocks[block].offset)];
    alloc->blocks[block].link_next = *bucket;
    *bucket = block;
    if (++alloc->n_live > UINT64_C(1) << alloc->bucket_bits) buckets_double(alloc);
}

void ist_alloc_live_remove(struct ist_alloc *alloc, uint32_t block)
{
    uint32_t *at = &alloc->buckets[bucket_of(alloc, alloc->blocks[block].offset)];
    while (*at != block) at = &alloc->blocks[*at].link_next;
    *at = alloc->blocks[block].link_next;
    alloc->n_live--;
}

uint32_t ist_alloc_live_lookup(const struct ist_alloc *alloc, uint64_t offset)
{
    uint32_t block = alloc->buckets[bucket_of(alloc, offset)];
    while (block && alloc->blocks[block].offset != offset) block = alloc->blocks[block].link_next;
    return block;
}

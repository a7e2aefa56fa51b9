/* core/transport/segment.c: see segment.h. */
#include "core/transport/segment.h"

#include "core/base/atomic.h"
#include "core/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ist_segments ist_segments;

static bool takes_kind(const struct ist_transport *t, uint32_t kind)
{
    return t->state == IST_TRANSPORT_OPEN && (t->traits.kinds_expose >> kind & 1) != 0;
}

static bool is_sparse(const struct ist_transport *t) { return (t->traits.traits & ISTHMUS_TRAIT_SPARSE) != 0; }

/* ---- extents ---- */

static void withdraw_extent(struct ist_extent *extent)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        if (extent->exposed[i].key_bytes > 0) ist_cold_unregister(&ist_registry.list[i], extent->exposed[i].lmem);
        free(extent->exposed[i].key);
    }
    free(extent);
}

static isthmus_status expose_through(struct ist_transport *t, const struct isthmus_mem *mem, struct ist_exposure *out)
{
    uint8_t key[ISTHMUS_KEY_MAX_BYTES];
    size_t key_bytes = sizeof key;
    ist_cold_begin(t);
    isthmus_status status = t->ops.expose(t->handle, mem, key, &key_bytes, &out->lmem);
    ist_cold_end(t);
    if (status != ISTHMUS_OK || key_bytes == 0) return status;
    out->key = malloc(key_bytes);
    if (out->key == NULL) {
        ist_cold_unregister(t, out->lmem);
        return ist_fail_memory("a key of %zu bytes", key_bytes);
    }
    memcpy(out->key, key, key_bytes);
    out->key_bytes = (uint32_t)key_bytes;
    return ISTHMUS_OK;
}

/* Returns true if this transport gets the segment once and whole. Memory of a device is exposed in the pieces that
 * exist. */
static bool is_taken_whole(const struct ist_transport *t, const struct ist_segment *segment)
{
    return is_sparse(t) && segment->mem.kind == ISTHMUS_MEM_HOST;
}

/* Exposes the range to each transport; sparse ones got the whole segment with the first extent. */
static isthmus_status expose_extent(const struct ist_segment *segment, const struct isthmus_mem *piece,
                                    struct ist_extent *extent)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        bool is_whole = is_taken_whole(t, segment);
        if (!takes_kind(t, segment->mem.kind) || (is_whole && extent->offset_bytes > 0)) continue;
        isthmus_status status = expose_through(t, is_whole ? &segment->mem : piece, &extent->exposed[i]);
        if (status != ISTHMUS_OK) return status;
    }
    return ISTHMUS_OK;
}

static isthmus_status add_extent(struct ist_segment *segment, const struct isthmus_mem *piece)
{
    if (segment->n_extents == IST_MAX_EXTENTS)
        return ist_fail(ISTHMUS_ERR_LIMIT, "%s cannot grow in more than %d steps; raise ISTHMUS_HEAP_SIZE",
                        segment->name, IST_MAX_EXTENTS);
    struct ist_extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL) return ist_fail_memory("an extent of %s", segment->name);
    extent->offset_bytes = (uint64_t)((uintptr_t)piece->addr - (uintptr_t)segment->mem.addr);
    extent->length_bytes = piece->length_bytes;
    isthmus_status status = expose_extent(segment, piece, extent);
    if (status != ISTHMUS_OK) {
        withdraw_extent(extent);
        return status;
    }
    segment->extents[segment->n_extents] = extent;
    ist_store_release(&segment->n_extents, segment->n_extents + 1); /* pairs with ist_segment_lmem() */
    return ISTHMUS_OK;
}

/* For a segment in one piece of memory: returns the range from the last extent to to_bytes. */
static struct isthmus_mem rest_of(const struct ist_segment *segment, uint64_t to_bytes)
{
    const struct ist_extent *last = segment->n_extents > 0 ? segment->extents[segment->n_extents - 1] : NULL;
    uint64_t from_bytes = last != NULL ? last->offset_bytes + last->length_bytes : 0;
    struct isthmus_mem rest = segment->mem;
    rest.addr = (char *)rest.addr + from_bytes;
    rest.fd_offset_bytes += from_bytes;
    rest.length_bytes = to_bytes - from_bytes;
    return rest;
}

/* ---- segments ---- */

static isthmus_status expose(uint32_t id, const char *name, const struct isthmus_mem *mem, uint64_t first_bytes)
{
    struct ist_segment *segment = &ist_segments.list[id];
    segment->name = name;
    segment->mem = *mem;
    segment->plain_bytes = mem->length_bytes;
    ist_store_release(&segment->base, (uintptr_t)mem->addr);
    ist_store_release(&segment->whole_bytes, mem->length_bytes); /* pairs with ist_segment_range() */
    if (id >= ist_segments.n) ist_store_release(&ist_segments.n, id + 1);
    struct isthmus_mem first = rest_of(segment, first_bytes);
    return mem->length_bytes > 0 && first_bytes > 0 ? add_extent(segment, &first) : ISTHMUS_OK;
}

isthmus_status ist_segment_expose(uint32_t id, const char *name, const struct isthmus_mem *mem, uint64_t first_bytes)
{
    memset(&ist_segments.list[id], 0, sizeof ist_segments.list[id]);
    if (id >= ist_segments.n_at_start) ist_segments.n_at_start = id + 1;
    return expose(id, name, mem, first_bytes);
}

isthmus_status ist_segment_add(uint32_t id, const struct isthmus_mem *piece)
{
    return add_extent(&ist_segments.list[id], piece);
}

bool ist_segments_have_extents(void)
{
    for (uint32_t i = 0; i < ist_registry.n; i++)
        if (takes_kind(&ist_registry.list[i], ISTHMUS_MEM_HOST) && !is_sparse(&ist_registry.list[i])) return true;
    return false;
}

void ist_extent_key(char *out, size_t room, const char *card_key, uint32_t id, uint32_t number)
{
    snprintf(out, room, "%s.%u.%u", card_key, id, number);
}

/* Writes names and keys of what is exposed; an extent is sent as a card with one segment, whose base is its offset. */
static void keys_to_card(struct ist_card *card, uint32_t slot, const struct ist_segment *segment, uint32_t extent)
{
    card->segments[slot].kind = segment->mem.kind;
    uint32_t column = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        if (t->state != IST_TRANSPORT_OPEN) continue;
        memcpy(card->transports[column].name, t->name, sizeof t->name);
        card->transports[column].is_sparse = is_sparse(t);
        if (extent < segment->n_extents) {
            const struct ist_exposure *exposure = &segment->extents[extent]->exposed[i];
            card->segments[slot].keys[column] = (struct ist_blob){exposure->key, exposure->key_bytes};
        }
        column++;
    }
    card->n_transports = column;
}

/* Publishes a card of its own, with that extent as its only segment. */
static isthmus_status publish_extent(ist_boot *boot, const char *key, uint32_t id, uint32_t number)
{
    const struct ist_segment *segment = &ist_segments.list[id];
    struct ist_card card = {.pe = boot->pe, .n_segments = 1};
    struct ist_card_room room;
    void *bytes;
    size_t n_bytes;
    ist_card_use_room(&card, &room);
    keys_to_card(&card, 0, segment, number);
    card.segments[0].id = id;
    card.segments[0].base = segment->extents[number]->offset_bytes;
    card.segments[0].length_bytes = card.segments[0].first_bytes = segment->extents[number]->length_bytes;
    isthmus_status status = ist_card_write(&card, &bytes, &n_bytes);
    if (status != ISTHMUS_OK) return status;
    status = boot->ops->put(boot, key, bytes, n_bytes);
    free(bytes);
    return status;
}

isthmus_status ist_segment_append(ist_boot *boot, const char *card_key, uint32_t id, const struct isthmus_mem *piece,
                                  uint32_t number)
{
    struct ist_segment *segment = &ist_segments.list[id];
    char key[96];
    isthmus_status status = add_extent(segment, piece);
    if (status != ISTHMUS_OK) return status;
    struct ist_extent *extent = segment->extents[segment->n_extents - 1];
    extent->number = number;
    ist_debug("%s: extent %u, %" PRIu64 " bytes at %" PRIu64, segment->name, segment->n_extents - 1,
              extent->length_bytes, extent->offset_bytes);
    ist_extent_key(key, sizeof key, card_key, id, number);
    status = publish_extent(boot, key, id, segment->n_extents - 1);
    if (status != ISTHMUS_OK) withdraw_extent(segment->extents[--segment->n_extents]);
    return status;
}

isthmus_status ist_segment_grow(ist_boot *boot, const char *card_key, uint32_t id, uint64_t to_bytes, uint32_t number)
{
    struct isthmus_mem rest = rest_of(&ist_segments.list[id], to_bytes);
    return ist_segment_append(boot, card_key, id, &rest, number);
}

/* Removes a value that no PE will look up any more. If the launcher cannot remove it, it stays until the job ends. */
static void unpublish(ist_boot *boot, const char *key)
{
    if (boot->ops->remove != NULL && boot->ops->remove(boot, key) != ISTHMUS_OK)
        ist_debug("%s stays published: %s", key, ist_fail_text());
}

void ist_segment_shrink(ist_boot *boot, const char *card_key, uint32_t id)
{
    struct ist_segment *segment = &ist_segments.list[id];
    struct ist_extent *last = segment->extents[--segment->n_extents];
    char key[96];
    if (last->number != 0) {
        ist_extent_key(key, sizeof key, card_key, id, last->number);
        unpublish(boot, key);
    }
    withdraw_extent(last);
}

/* ---- late segments ---- */

void ist_late_key(char *out, size_t room, const char *card_key, uint32_t number)
{
    snprintf(out, room, "%s.late.%u", card_key, number);
}

/* The same on all PEs: all of them add and remove segments in the same order. */
static uint32_t free_id(void)
{
    uint32_t id = ist_segments.n_at_start;
    while (id < ist_segments.n && ist_segments.list[id].mem.length_bytes > 0) id++;
    return id;
}

isthmus_status ist_segment_expose_late(ist_boot *boot, const char *card_key, uint32_t number, const char *name,
                                       const struct isthmus_mem *mem, uint32_t *id)
{
    char key[96];
    uint32_t free = free_id();
    if (free == IST_MAX_SEGMENTS)
        return ist_fail(ISTHMUS_ERR_LIMIT,
                        "%s: %u symmetric buffers are registered already, which is the limit; unregister one before",
                        name, IST_MAX_SEGMENTS - ist_segments.n_at_start);
    ist_store_release(&ist_segments.needs_full_search, true);
    isthmus_status status = expose(free, name, mem, mem->length_bytes);
    ist_late_key(key, sizeof key, card_key, number);
    if (status == ISTHMUS_OK) status = publish_extent(boot, key, free, 0);
    if (status != ISTHMUS_OK) {
        ist_segment_withdraw_late(boot, card_key, free);
        return status;
    }
    ist_segments.list[free].card_number = number;
    *id = free;
    return ISTHMUS_OK;
}

void ist_segment_show_late(uint32_t id, uint32_t number)
{
    ist_store_release(&ist_segments.list[id].late_number, number);
    (void)__atomic_fetch_add(&ist_segments.late_changes, 1, __ATOMIC_RELEASE); /* pairs with catch_up() */
}

void ist_segment_withdraw_late(ist_boot *boot, const char *card_key, uint32_t id)
{
    struct ist_segment *segment = &ist_segments.list[id];
    char key[96];
    if (segment->card_number != 0) {
        ist_late_key(key, sizeof key, card_key, segment->card_number);
        unpublish(boot, key);
    }
    while (segment->n_extents > 0) ist_segment_shrink(boot, card_key, id);
    ist_store_release(&segment->whole_bytes, 0);
    segment->mem.length_bytes = segment->plain_bytes = segment->card_number = 0; /* the id is free */
}

void ist_segments_withdraw(void)
{
    for (uint32_t s = ist_segments.n; s-- > 0;)
        for (uint32_t e = ist_segments.list[s].n_extents; e-- > 0;) withdraw_extent(ist_segments.list[s].extents[e]);
    memset(&ist_segments, 0, sizeof ist_segments);
}

/* ---- the card ---- */

size_t ist_card_room(void)
{
    size_t room = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++)
        if (ist_registry.list[i].state == IST_TRANSPORT_OPEN) room += ist_registry.list[i].traits.card_max_bytes;
    return room;
}

static isthmus_status transports_to_card(struct ist_card *card, uint8_t *room, size_t room_bytes)
{
    uint32_t column = 0;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        if (t->state != IST_TRANSPORT_OPEN) continue;
        size_t length = room_bytes;
        isthmus_status status = t->ops.card(t->handle, room, &length);
        if (status != ISTHMUS_OK) return status;
        card->transports[column++].card = (struct ist_blob){.bytes = room, .length_bytes = (uint32_t)length};
        room += length;
        room_bytes -= length;
    }
    return ISTHMUS_OK;
}

isthmus_status ist_segments_to_card(struct ist_card *card, uint8_t *room, size_t room_bytes)
{
    card->n_segments = ist_segments.n;
    for (uint32_t s = 0; s < ist_segments.n; s++) {
        const struct ist_segment *segment = &ist_segments.list[s];
        keys_to_card(card, s, segment, 0);
        card->segments[s].id = s;
        card->segments[s].base = (uint64_t)(uintptr_t)segment->mem.addr;
        card->segments[s].layout = segment->layout;
        card->segments[s].left_out = segment->left_out;
        card->segments[s].length_bytes = segment->mem.length_bytes;
        card->segments[s].first_bytes = segment->n_extents > 0 ? segment->extents[0]->length_bytes : 0;
    }
    return transports_to_card(card, room, room_bytes);
}

void ist_segment_leave_out(uint32_t id, struct ist_blob spans)
{
    if (spans.length_bytes == 0) return;
    ist_segments.list[id].left_out = spans;
    ist_segments.list[id].plain_bytes = 0;
    ist_segments.needs_full_search = true;
}

static IST_COLD int search_all(const void *addr, size_t length_bytes)
{
    const int s = ist_segment_around(addr, length_bytes);
    if (s < 0) return -1;
    const struct ist_segment *segment = &ist_segments.list[s];
    const uint64_t offset_bytes = (uintptr_t)addr - (uintptr_t)segment->mem.addr;
    return ist_spans_touch(&segment->left_out, offset_bytes, length_bytes) ? -1 : s;
}

int ist_segment_of(const void *addr, size_t length_bytes)
{
    for (uint32_t s = 0; s < ist_segments.n_at_start; s++) {
        const struct ist_segment *segment = &ist_segments.list[s];
        uintptr_t offset = (uintptr_t)addr - (uintptr_t)segment->mem.addr;
        if (offset < segment->plain_bytes && length_bytes <= segment->plain_bytes - offset) return (int)s;
    }
    return IST_UNLIKELY(ist_load_relaxed(&ist_segments.needs_full_search)) ? search_all(addr, length_bytes) : -1;
}

uint64_t ist_segment_range(uint32_t id, uintptr_t *base)
{
    const struct ist_segment *segment = &ist_segments.list[id];
    uint64_t whole_bytes;
    do { /* acquires: pair with ist_segment_expose(); no address is paired with another segment's length */
        whole_bytes = ist_load_acquire(&segment->whole_bytes);
        *base = ist_load_acquire(&segment->base);
    } while (ist_load_acquire(&segment->whole_bytes) != whole_bytes);
    return whole_bytes;
}

int ist_segment_around(const void *addr, size_t length_bytes)
{
    uint32_t n = ist_load_acquire(&ist_segments.n);
    for (uint32_t s = 0; s < n; s++) {
        uintptr_t base, offset;
        uint64_t whole_bytes = ist_segment_range(s, &base);
        offset = (uintptr_t)addr - base;
        if (offset < whole_bytes && length_bytes <= whole_bytes - offset) return (int)s;
    }
    return -1;
}

/* Returns NULL if addr lies in no extent. Other threads may make the segment grow meanwhile, but not change the part
 * that holds memory in use. */
static const struct ist_extent *extent_at(const struct ist_segment *segment, const void *addr, uint64_t *in_extent)
{
    uint64_t offset_bytes = (uintptr_t)addr - (uintptr_t)segment->mem.addr;
    uint32_t n = ist_load_acquire(&segment->n_extents); /* pairs with add_extent() */
    for (uint32_t i = 0; i < n; i++) {
        const struct ist_extent *extent = segment->extents[i];
        *in_extent = offset_bytes - extent->offset_bytes;
        if (*in_extent < extent->length_bytes) return extent;
    }
    return NULL;
}

const isthmus_lmem *ist_segment_lmem(uint32_t transport, const void *addr, size_t length_bytes)
{
    int s = ist_segment_of(addr, length_bytes);
    if (s < 0) return NULL;
    const struct ist_segment *segment = &ist_segments.list[s];
    if (is_taken_whole(&ist_registry.list[transport], segment))
        return ist_load_acquire(&segment->n_extents) > 0 ? segment->extents[0]->exposed[transport].lmem : NULL;
    uint64_t in_extent;
    const struct ist_extent *extent = extent_at(segment, addr, &in_extent);
    if (extent == NULL || length_bytes > extent->length_bytes - in_extent) return NULL;
    return extent->exposed[transport].lmem;
}

size_t ist_segment_piece(const void *addr)
{
    int s = ist_segment_of(addr, 1);
    uint64_t in_extent;
    if (s < 0 || ist_segments.list[s].mem.kind == ISTHMUS_MEM_HOST) return 0;
    const struct ist_extent *extent = extent_at(&ist_segments.list[s], addr, &in_extent);
    return extent != NULL ? (size_t)(extent->length_bytes - in_extent) : 0;
}

/* core/transport/segment.h: the ranges of this PE's memory that are symmetric, as transports see them.
 * Not the making of the memory (core/heap), nor the peers' counterparts (peer.h). One floor below the heap: translation
 * of addresses needs segments, and the heap is only one of their makers.
 * Segment ids mean the same on every PE: 0 is the host's part of the heap, 1 the executable's static data, 2 the heap
 * in memory of a device, 3 flags of streams there, then the named shared objects, then buffers that the program makes
 * symmetric later (late segments), whose cards peers fetch one by one.
 *
 * A transport that takes memory without pages (ISTHMUS_TRAIT_SPARSE) gets a segment once and whole. One that has to
 * register memory gets it in extents: the first at start, others as the segment grows. Their keys are published under
 * names of their own, and peers fetch them on first use. Memory of a device always has extents: the pieces that it grew
 * by. */
#ifndef IST_TRANSPORT_SEGMENT_H
#define IST_TRANSPORT_SEGMENT_H

#include "core/boot/boot.h"
#include "core/boot/card.h"
#include "core/transport/registry.h"

#include <stdbool.h>

enum {
    IST_SEGMENT_HEAP = 0,
    IST_SEGMENT_STATIC = 1,
    IST_SEGMENT_DEVICE = 2,
    IST_SEGMENT_STREAMS = 3, /* the library's: core/stream/stream.h */
    IST_SEGMENT_OBJECTS = 4, /* the first one */
    /* Those of the start are in the card, IST_CARD_MAX_SEGMENTS at most; buffers follow. */
    IST_MAX_SEGMENTS = IST_CARD_SEGMENT_IDS,
    IST_MAX_EXTENTS = 48 /* each doubles the segment */
};

/* An extent as one transport has it: its registration, and the key that peers need. */
struct ist_exposure {
    isthmus_lmem *lmem;
    uint32_t key_bytes; /* 0: not exposed through this transport */
    uint8_t *key;       /* malloc'ed: keys may be long, and most are short */
};

struct ist_extent {
    uint64_t offset_bytes, length_bytes; /* in the segment; the first one counts as the whole for sparse transports */
    uint32_t number;                     /* under which its keys are published; 0: they are in the card */
    struct ist_exposure exposed[IST_MAX_TRANSPORTS];
};

struct ist_segment {
    const char *name; /* for messages: "the symmetric heap" */
    struct isthmus_mem mem;
    struct ist_layout layout;
    /* As long as `mem`; 0 where spans of it are left out: then ist_segment_of() looks closer. */
    uint64_t plain_bytes;
    struct ist_blob left_out; /* spans */
    uint32_t late_number;     /* of a visible late segment, counted from 1 and never reused; otherwise 0 */
    /* Of a late segment with a published card: the same number, set before the segment is visible; otherwise 0. */
    uint32_t card_number;
    uint32_t n_extents;
    struct ist_extent *extents[IST_MAX_EXTENTS];
    /* As in `mem`, for threads that look whether an address is here while another one adds or removes the segment. */
    uintptr_t base;
    uint64_t whole_bytes; /* 0 while base changes */
};

extern struct ist_segments {
    struct ist_segment list[IST_MAX_SEGMENTS]; /* by id; mem.length_bytes 0: this PE has no such segment */
    uint32_t n, n_at_start;
    bool needs_full_search; /* spans of some are left out, or there have been late segments */
    uint32_t late_changes;  /* how often a late segment was shown or hidden */
} ist_segments;

/* Makes `mem` segment `id`, through every open transport that takes its kind; its first extent has first_bytes, or with
 * 0 it has none yet. `name` is borrowed. */
isthmus_status ist_segment_expose(uint32_t id, const char *name, const struct isthmus_mem *mem, uint64_t first_bytes);

/* Before the card is made: these spans of it are no symmetric memory. Borrowed. */
void ist_segment_leave_out(uint32_t id, struct ist_blob spans);

/* Before the card is made: adds an extent with memory of its own, at the next addresses of the segment. */
isthmus_status ist_segment_add(uint32_t id, const struct isthmus_mem *piece);

/* Returns true if an open transport needs extents of host memory. The same on all PEs. */
bool ist_segments_have_extents(void);

/* Exposes the range from the last extent to to_bytes as a new extent, and publishes its keys under a number, the same
 * on all PEs and never used before, because a published value cannot be replaced. Changes nothing on failure. */
isthmus_status ist_segment_grow(ist_boot *boot, const char *card_key, uint32_t id, uint64_t to_bytes, uint32_t number);

/* The same with memory of its own, as for ist_segment_add(). */
isthmus_status ist_segment_append(ist_boot *boot, const char *card_key, uint32_t id, const struct isthmus_mem *piece,
                                  uint32_t number);

/* Withdraws the last extent and its published keys, because another PE could not grow. */
void ist_segment_shrink(ist_boot *boot, const char *card_key, uint32_t id);

/* Writes the key under which a PE publishes an extent. */
void ist_extent_key(char *out, size_t room, const char *card_key, uint32_t id, uint32_t number);

/* Exposes a late segment under a free id, the same on all PEs, and publishes its card. Peers attach to it, on first
 * use, while it is visible: from when all PEs have it until one of them is about to withdraw it (ist_peers_detach comes
 * between). Returns LIMIT if there are too many. */
isthmus_status ist_segment_expose_late(ist_boot *boot, const char *card_key, uint32_t number, const char *name,
                                       const struct isthmus_mem *mem, uint32_t *id);
void ist_segment_show_late(uint32_t id, uint32_t number);                          /* number 0: makes it invisible */
void ist_segment_withdraw_late(ist_boot *boot, const char *card_key, uint32_t id); /* with its card */
void ist_late_key(char *out, size_t room, const char *card_key, uint32_t number);

void ist_segments_withdraw(void); /* all of them; accepts any state */

/* Puts into a card what peers need: transports' cards, segments and their keys. The blobs point into ist_segments and
 * into `room`, which holds at least ist_card_room() bytes. */
isthmus_status ist_segments_to_card(struct ist_card *card, uint8_t *room, size_t room_bytes);
size_t ist_card_room(void);

/* Returns the length of a segment, and its address; 0 if there is none with this id. Any thread. */
uint64_t ist_segment_range(uint32_t id, uintptr_t *base);

/* Returns the segment that holds all of [addr, addr + length_bytes); -1 if none does. */
int ist_segment_of(const void *addr, size_t length_bytes);

/* The same, also where some of it is left out. */
int ist_segment_around(const void *addr, size_t length_bytes);

/* Returns the transport's registration that holds all of [addr, addr + length_bytes), for a local operand in symmetric
 * memory; NULL if there is none. Any thread. */
const isthmus_lmem *ist_segment_lmem(uint32_t transport, const void *addr, size_t length_bytes);

/* Returns the bytes from addr to the end of its extent, in memory of a device; 0 if it lies in none. Any thread. */
size_t ist_segment_piece(const void *addr);

#endif

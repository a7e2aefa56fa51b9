/* core/transport/segment.h: the ranges of this PE's memory that are symmetric, as transports see them.
 * Not how the memory was made (core/heap), not where the peers' counterparts lie (peer.h).
 * Segment ids mean the same on every PE: 0 is the host's part of the heap, 1 the executable's static data, 2 the heap in memory
 * of a device, 3 flags of streams there, then come the named shared objects, then buffers that the program makes symmetric later
 * (late segments), whose cards peers fetch one by one.
 *
 * A transport that takes memory without pages (ISTHMUS_TRAIT_SPARSE) gets a segment once and whole. One that has to
 * register memory gets it in extents: the first at start, others as the segment grows. Their keys are published under names
 * of their own, and peers fetch them on first use. Memory of a device always has extents: the pieces that it grew by. */
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
    IST_SEGMENT_STREAMS = 3, /* of the library: core/stream/meeting.h */
    IST_SEGMENT_OBJECTS = 4, /* the first one */
    IST_MAX_SEGMENTS =
        IST_CARD_SEGMENT_IDS, /* those of the start are in the card, IST_CARD_MAX_SEGMENTS at most; then come
                                 buffers */
    IST_MAX_EXTENTS = 48      /* each doubles the segment */
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
    uint32_t late_number; /* of a late segment that is shown, counted from 1 and never used again; else 0 */
    uint32_t
        card_number; /* of a late segment whose card is published: the same number, from before it is shown; else 0 */
    uint32_t n_extents;
    struct ist_extent *extents[IST_MAX_EXTENTS];
};

extern struct ist_segments {
    struct ist_segment list[IST_MAX_SEGMENTS]; /* by id; mem.length_bytes 0: this PE has no such segment */
    uint32_t n, n_at_start;
    uint32_t late_changes; /* how often a late segment was shown or hidden */
} ist_segments;

/* Make `mem` segment `id`, through every open transport that takes its kind; its first extent is first_bytes long, and 0: it has
 * none so far. `name` is borrowed. */
isthmus_status ist_segment_expose(uint32_t id, const char *name, const struct isthmus_mem *mem, uint64_t first_bytes);

/* Before the card is made: one more extent, of memory of its own, whose addresses are the next ones of the segment. */
isthmus_status ist_segment_add(uint32_t id, const struct isthmus_mem *piece);

/* Is there an open transport that needs extents of host memory? The same on all PEs. */
bool ist_segments_have_extents(void);

/* Expose what lies between the last extent and to_bytes as one more, and publish its keys under a number, the same on all PEs and
 * never used before: what was published once cannot be published anew. On failure nothing changed. */
isthmus_status ist_segment_grow(ist_boot *boot, const char *card_key, uint32_t id, uint64_t to_bytes, uint32_t number);

/* The same with memory of its own, as ist_segment_add() takes it. */
isthmus_status ist_segment_append(ist_boot *boot, const char *card_key, uint32_t id, const struct isthmus_mem *piece,
                                  uint32_t number);

/* Take the last extent back, and what was published of it: another PE could not grow. */
void ist_segment_shrink(ist_boot *boot, const char *card_key, uint32_t id);

/* The name under which a PE publishes an extent. */
void ist_extent_key(char *out, size_t room, const char *card_key, uint32_t id, uint32_t number);

/* A late segment: expose it under the id that is free, the same on all PEs, and publish its card. Peers are attached to it, on first
 * use, while it is shown: from when all PEs have it until one of them is about to withdraw it (ist_peers_detach comes between).
 * LIMIT: there are too many. */
isthmus_status ist_segment_expose_late(ist_boot *boot, const char *card_key, uint32_t number, const char *name,
                                       const struct isthmus_mem *mem, uint32_t *id);
void ist_segment_show_late(uint32_t id, uint32_t number);                          /* number 0: hide it */
void ist_segment_withdraw_late(ist_boot *boot, const char *card_key, uint32_t id); /* with its card */
void ist_late_key(char *out, size_t room, const char *card_key, uint32_t number);

void ist_segments_withdraw(void); /* all of them; takes any state */

/* Put what peers need to know into a card: transports' cards, segments and their keys. The blobs point into ist_segments
 * and into `room`, which holds at least ist_card_room() bytes. */
isthmus_status ist_segments_to_card(struct ist_card *card, uint8_t *room, size_t room_bytes);
size_t ist_card_room(void);

/* The segment that holds all of [addr, addr + length_bytes); -1: none does. */
int ist_segment_of(const void *addr, size_t length_bytes);

/* The registration with the transport of that number that holds all of [addr, addr + length_bytes): a local operand in symmetric
 * memory. NULL: none does. Any thread. */
const isthmus_lmem *ist_segment_lmem(uint32_t transport, const void *addr, size_t length_bytes);

/* Bytes from addr to the end of its extent, of memory of a device; 0: it lies in none. Any thread. */
size_t ist_segment_piece(const void *addr);

#endif

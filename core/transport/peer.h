/* core/transport/peer.h: a peer in use: its card, its paths, the places of its segments.
 * Not the fast path (route.h), which this fills. An unused peer costs a row and a pointer, 40 bytes, and 20 to 24 in
 * other tables (unit.object_sizes). */
#ifndef IST_TRANSPORT_PEER_H
#define IST_TRANSPORT_PEER_H

#include "core/base/atomic.h"
#include "core/boot/boot.h"
#include "core/boot/card.h"
#include "core/transport/route.h"
#include "core/transport/segment.h"

#include <pthread.h>

/* An extent of a peer's segment; a sparse transport has the whole segment as one. */
struct ist_attached_extent {
    struct ist_attached_extent *next; /* older; it begins before this one, unless it was detached */
    isthmus_rmem *rmem;
    char *alias;           /* address of its first byte here; NULL: not mapped, or ISTHMUS_ALIAS=0 */
    uint64_t offset_bytes; /* in the segment */
    uint64_t length_bytes; /* 0: it was detached because another PE could not grow */
};

/* Addresses of this PE's device for a peer's whole segment: device_view.h. */
struct ist_device_view {
    char *base; /* of the segment */
    void *reserved;
    uint64_t reserved_bytes;
};

/* A segment of a peer. */
struct ist_attached {
    struct ist_attached_extent *extents; /* attached up to now */
    /* In their place where the peer leaves some of it out: then each access is checked by ist_target_find(). */
    struct ist_attached_extent *checked;
    struct ist_attached_extent *of_atomics; /* the same for the transport of atomics, if it is not the carrier */
    struct ist_device_view *view;           /* NULL: the transport chooses the addresses of its extents */
    uint64_t length_bytes;                  /* 0: the peer has no such segment */
    uint32_t kind;                          /* ISTHMUS_MEM_ */
    /* Registry index of the transport for puts and gets, and of that for atomics; IST_NO_TRANSPORT: none. */
    uint32_t carrier;
    uint32_t atomics;
};

/* Segments are allocated in blocks, because most peers have only those of the start. */
enum { IST_SEGMENTS_IN_BLOCK = 4, IST_SEGMENT_BLOCKS = IST_MAX_SEGMENTS / IST_SEGMENTS_IN_BLOCK };

struct ist_peer {
    pthread_mutex_t lock;                    /* for its first use, and for later changes of the fields below */
    struct ist_card card;                    /* once the peer is resolved, without its segments and texts */
    isthmus_path *paths[IST_MAX_TRANSPORTS]; /* by registry index; NULL: not opened yet */
    /* Routes are chosen and segments attached; before that only the card is valid. */
    bool is_resolved;
    uint32_t other_layouts; /* bits of its segments whose variables lie elsewhere than here: they are not attached */
    uint32_t is_mixed;      /* its segments use different ways: ist_peer_is_mixed() */
    uint32_t late_changes;  /* of ist_segments, up to which late segments are attached */
    struct ist_left_out *left_out;                   /* of its static data; NULL: nothing */
    struct ist_attached *blocks[IST_SEGMENT_BLOCKS]; /* ist_no_segments: the peer has none of these */
};

extern struct ist_attached ist_no_segments[IST_SEGMENTS_IN_BLOCK]; /* all zero, never written */

/* Returns a segment of the peer by id. */
static inline struct ist_attached *ist_peer_segment(const struct ist_peer *peer, uint32_t id)
{
    return &ist_load_acquire(&peer->blocks[id / IST_SEGMENTS_IN_BLOCK])[id % IST_SEGMENTS_IN_BLOCK];
}

/* Returns the id of a segment of this peer that ist_peer_segment() returned. */
uint32_t ist_peer_segment_id(const struct ist_peer *peer, const struct ist_attached *segment);

/* Returns true if some of the range is no symmetric memory on this PE, because its program has protected or mapped
 * pages of its static data before init. */
bool ist_peer_leaves_out(const struct ist_peer *peer, uint32_t segment, uint64_t offset_bytes, size_t length_bytes);

/* Opens the table of peers. With `use_alias` false it attaches, but never loads and stores directly. The boot is
 * borrowed. */
isthmus_status ist_peers_init(ist_boot *boot, const char *card_key, bool use_alias);
void ist_peers_fini(void); /* detaches everything; accepts any state */

/* Returns the peer, resolved: the first use fetches its card, chooses its routes, attaches its segments and fills its
 * row; later uses attach new late segments. Any thread. An error is final for this job: the text names the transports
 * that were tried. */
isthmus_status ist_peer_get(int pe, const struct ist_peer **out);

/* Returns the extent that holds the whole range, which lies in the segment, if it is attached; else NULL. The list
 * descends, so that the first extent that does not begin behind the offset decides; a heap doubles at each growth, so
 * that there are few, and the first ones hold most of it. Any thread: an extent is complete before it enters the list,
 * and stays there. */
IST_INLINE const struct ist_attached_extent *ist_extent_of(struct ist_attached_extent *const *extents,
                                                           uint64_t offset_bytes, size_t length_bytes)
{
    const struct ist_attached_extent *extent = ist_load_acquire(extents); /* pairs with that in ist_way_attach() */
    while (extent != NULL && extent->offset_bytes > offset_bytes) extent = extent->next;
    bool is_inside = extent != NULL &&
                     offset_bytes + length_bytes - extent->offset_bytes <= ist_load_relaxed(&extent->length_bytes);
    return is_inside ? extent : NULL;
}

/* Returns the extent of one of its segments that holds this offset, attached on first use. Returns NULL with a failure
 * text if that fails. */
const struct ist_attached_extent *ist_peer_extent(const struct ist_peer *peer, uint32_t segment, uint64_t offset_bytes);

/* The same for atomics: its rmem belongs to the transport that carries them, and the extent may begin elsewhere. */
const struct ist_attached_extent *ist_peer_extent_of_atomics(const struct ist_peer *peer, uint32_t segment,
                                                             uint64_t offset_bytes);

/* Returns what this PE's processors add to an address of the segment to get the peer's, if all of it is attached as
 * one, at an alias; ISTHMUS_NO_ALIAS otherwise. The peer is resolved. */
intptr_t ist_peer_delta(const struct ist_peer *peer, uint32_t segment);

/* Sets *out if the variables of this segment lie on the PE where they lie here: it runs the same executable. Fetches
 * the PE's card on first use, and opens no path. */
isthmus_status ist_peer_has_layout(int pe, uint32_t segment, bool *out);

/* Detaches a late segment of all peers before it is withdrawn. */
void ist_peers_detach(uint32_t segment);

/* Returns UNREACHABLE, with the reason of each transport that does not carry to this segment. */
isthmus_status ist_peer_why_unreachable(const struct ist_peer *peer, uint32_t segment);

/* Checks, by the peer's card, that a transport reaches its heap. Returns UNREACHABLE with the reason of each
 * transport. */
isthmus_status ist_peer_check(int pe);

/* What a segment of a peer is, and how it is reached. */
struct ist_outlook {
    uint64_t length_bytes; /* 0: the peer has no such segment, or nothing there */
    uint32_t kind;
    uint32_t carrier; /* IST_NO_TRANSPORT: not at all */
    bool is_mapped;   /* it has addresses here, for processors or for a device */
};

/* Finds that without a connection, by the peer's card, for a byte at this offset. Any thread. */
isthmus_status ist_peer_outlook(int pe, uint32_t segment, uint64_t offset_bytes, struct ist_outlook *out);

/* Returns the peer's card, without a connection. Valid until fini. */
isthmus_status ist_peer_card(int pe, const struct ist_card **out);

const char *ist_peers_card_key(void); /* the key under which cards are published */

/* Returns true if peers' segments are loaded and stored directly where a transport allows it (ISTHMUS_ALIAS). */
bool ist_peers_use_alias(void);

/* Returns true if its segments use different ways: several transports, or a transport beside load and store. Then no
 * single transport can order all operations to it, and a fence has to complete those through one of them. */
IST_INLINE bool ist_peer_is_mixed(const struct ist_peer *peer) { return ist_load_relaxed(&peer->is_mixed) != 0; }

bool ist_peers_are_mixed(void); /* any of them */

/* Returns how many became mixed by a late segment: they may have been used before. */
uint32_t ist_peers_n_mixed_late(void);

/* Returns the peer if it has been resolved before, else NULL. */
const struct ist_peer *ist_peer_known(int pe);

#endif

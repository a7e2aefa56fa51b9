/* core/transport/peer.h: a peer that has been talked to: its card, its paths, where its segments lie.
 * Not the fast path (route.h), which this fills. A peer never talked to costs a row and a pointer, 40 bytes,
 * and 20 to 24 in other tables (unit.object_sizes). */
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
    struct ist_attached_extent *next;
    isthmus_rmem *rmem;
    char *alias;           /* address of its first byte here; NULL: not mapped, or ISTHMUS_ALIAS=0 */
    uint64_t offset_bytes; /* in the segment */
    uint64_t length_bytes;
};

/* A segment of a peer. */
struct ist_attached {
    struct ist_attached_extent *extents;    /* attached so far */
    struct ist_attached_extent *of_atomics; /* the same for their transport, where that is not the carrier */
    uint64_t length_bytes;                  /* 0: the peer has no such segment */
    uint32_t kind;                          /* ISTHMUS_MEM_ */
    uint32_t carrier; /* registry index of the transport that carries puts and gets to it; IST_NO_TRANSPORT: none can */
    uint32_t atomics; /* and atomics; IST_NO_TRANSPORT: none can */
};

/* Segments by blocks: most peers have those of the start and no more. */
enum { IST_SEGMENTS_IN_BLOCK = 4, IST_SEGMENT_BLOCKS = IST_MAX_SEGMENTS / IST_SEGMENTS_IN_BLOCK };

struct ist_peer {
    pthread_mutex_t lock;                    /* of its first use: whatever below changes later */
    struct ist_card card;                    /* once the peer is resolved, without its segments and texts */
    isthmus_path *paths[IST_MAX_TRANSPORTS]; /* by registry index; NULL: not needed so far */
    bool is_resolved;      /* routes are chosen, segments attached; before that only the card is here */
    uint32_t is_mixed;     /* its segments are reached in different ways: ist_peer_is_mixed() */
    uint32_t late_changes; /* of ist_segments, up to which late segments are attached */
    struct ist_attached *blocks[IST_SEGMENT_BLOCKS]; /* ist_no_segments: the peer has none of these */
};

extern struct ist_attached ist_no_segments[IST_SEGMENTS_IN_BLOCK]; /* all zero, never written */

/* By id. */
static inline struct ist_attached *ist_peer_segment(const struct ist_peer *peer, uint32_t id)
{
    return &ist_load_acquire(&peer->blocks[id / IST_SEGMENTS_IN_BLOCK])[id % IST_SEGMENTS_IN_BLOCK];
}

/* The id of a segment of this peer, from what ist_peer_segment() returned. */
uint32_t ist_peer_segment_id(const struct ist_peer *peer, const struct ist_attached *segment);

/* The table of peers. `use_alias` false: attach, but never load and store directly. The boot is borrowed. */
isthmus_status ist_peers_init(ist_boot *boot, const char *card_key, bool use_alias);
void ist_peers_fini(void); /* detach everything; takes any state */

/* The peer, resolved: on first use its card is fetched, its routes are chosen, its segments attached and its row filled; later
 * what late segments have come since.
 * Any thread. An error is final for this job: the text says which transports were tried. */
isthmus_status ist_peer_get(int pe, const struct ist_peer **out);

/* The extent of one of its segments that holds this offset, attached on first use. NULL with a text: it cannot be had. */
const struct ist_attached_extent *ist_peer_extent(const struct ist_peer *peer, uint32_t segment, uint64_t offset_bytes);

/* The same for atomics: its rmem belongs to the transport that carries them. It may begin elsewhere. */
const struct ist_attached_extent *ist_peer_extent_of_atomics(const struct ist_peer *peer, uint32_t segment,
                                                             uint64_t offset_bytes);

/* Let go of a late segment of all peers: it is about to be withdrawn. */
void ist_peers_detach(uint32_t segment);

/* Why no transport carries anything to this segment of it: UNREACHABLE, with the reason of each. */
isthmus_status ist_peer_why_unreachable(const struct ist_peer *peer, uint32_t segment);

/* Is there a transport to its heap, as far as its card tells? UNREACHABLE: the text says why not, of each transport. */
isthmus_status ist_peer_check(int pe);

/* Its card only, without any connection. Valid until fini. */
isthmus_status ist_peer_card(int pe, const struct ist_card **out);

const char *ist_peers_card_key(void); /* under which cards are published */

/* Are peers' segments loaded and stored directly where a transport allows it (ISTHMUS_ALIAS)? */
bool ist_peers_use_alias(void);

/* Are its segments reached in different ways: by several transports, or by a transport and by load and store? Then no transport can
 * order all that goes there, and a fence has to complete what went there through one. */
IST_INLINE bool ist_peer_is_mixed(const struct ist_peer *peer) { return ist_load_relaxed(&peer->is_mixed) != 0; }

bool ist_peers_are_mixed(void); /* any of them */

/* How many have become so by a segment that came late: they may have been used before. */
uint32_t ist_peers_n_mixed_late(void);

/* The peer if it has been resolved before, else NULL. */
const struct ist_peer *ist_peer_known(int pe);

#endif

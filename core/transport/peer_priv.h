/* core/transport/peer_priv.h: shared by the files that keep peers: peer.c has their first use, extents.c what is
 * attached of their memory, device_view.c where this PE's device has it. See peer.h. */
#ifndef IST_TRANSPORT_PEER_PRIV_H
#define IST_TRANSPORT_PEER_PRIV_H

#include "core/transport/peer.h"

extern struct ist_peer_table {
    ist_boot *boot; /* may be closed before the table is */
    int my_pe, n_pes;
    char card_key[64];
    bool use_alias;
    bool are_mixed;
    uint32_t n_mixed_late;
    struct ist_peer **by_pe; /* peers whose card is here, resolved or not; entries are set under the lock */
    pthread_mutex_t lock;    /* never held during a wait */
    /* Extents of each segment that all PEs have published since the start, with those before them; 0: none. Written in
     * collective calls, before device_view.c looks for peers in the table: a peer that enters later sees it. */
    uint32_t n_published[IST_MAX_SEGMENTS];
} ist_peer_table;

/* Called around the slots that open a path, and attach memory through it. */
void ist_path_begin(struct ist_transport *t);
void ist_path_end(struct ist_transport *t);

/* ---- extents.c: the caller has the peer's lock ---- */

/* A segment of a peer through one transport: the carrier, or the one for atomics if it differs. */
struct ist_way {
    struct ist_peer *peer;
    uint32_t id, transport;
    struct ist_attached_extent **extents;
};
struct ist_way ist_way_of_data(struct ist_peer *peer, uint32_t id);
struct ist_way ist_way_of_atomics(struct ist_peer *peer, uint32_t id);

/* Attaches [offset, offset + length) of a segment, with the key of the peer's card or of an extent published later. */
isthmus_status ist_way_attach(const struct ist_way *way, const struct ist_blob *key, uint64_t offset_bytes,
                              uint64_t length_bytes);

/* Attaches the extents that are missing among the first n, which all PEs have published. */
isthmus_status ist_way_attach_up_to(const struct ist_way *way, uint32_t n);

/* Detaches what begins at this offset or behind it, while other threads use what lies before. */
void ist_way_cut(const struct ist_way *way, uint64_t offset_bytes);

void ist_way_detach(const struct ist_way *way); /* all of it; no other thread uses the segment */

/* ---- device_view.c: likewise ---- */

/* Called before the first extent of a peer's segment is attached: reserves addresses for all of them, if the transport
 * can attach extents where the core wants them. */
void ist_device_view_open(const struct ist_way *way, uint64_t first_bytes);
void ist_device_view_close(const struct ist_way *way); /* nothing is attached any more; accepts a segment without */

/* Attaches what the segments of a peer that is resolved now have grown by. */
isthmus_status ist_device_views_catch_up(struct ist_peer *peer);

#endif

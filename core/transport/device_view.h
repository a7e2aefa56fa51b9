/* core/transport/device_view.h: where this PE's device reaches memory of peers' devices: all of a peer's segment at one
 * distance from this PE's own, what it will grow by included, so that a kernel adds one number to a symmetric address.
 * Not the host's counterpart, aliases and the rows with their deltas: route.h.
 *
 * The core reserves addresses for a peer's whole segment when it first uses the peer, and attaches the extents there
 * (attach_at in growing.1): those that exist at once, others in the collective call by which the segment grows. An
 * extent that is a whole segment needs no reservation. Without attach_at a heap that grows has no such number: kernels
 * reach it through the host; a job that begins with kernels has one that does not grow. */
#ifndef IST_TRANSPORT_DEVICE_VIEW_H
#define IST_TRANSPORT_DEVICE_VIEW_H

#include "core/transport/peer.h"

/* Returns what a kernel on this PE's device adds to an address of this PE's segment to get the peer's, from now until
 * the segment is detached, also for memory that it grows by. 0 for this PE itself. Odd (ISTHMUS_NO_ALIAS): a kernel
 * does not reach that memory by loads, stores and atomics. The peer is resolved (ist_peer_get). Any thread. */
int64_t ist_device_delta(const struct ist_peer *peer, uint32_t segment);

/* Called in a collective call, when all PEs have published the extent that this PE added last: attaches it at all peers
 * that this PE has resolved and whose memory its kernels reach. On an error the caller takes the extent back. */
isthmus_status ist_device_views_extend(uint32_t segment);

/* Detaches the last extent again, because one PE could not attach it. */
void ist_device_views_cut(uint32_t segment);

#endif

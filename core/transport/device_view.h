/* core/transport/device_view.h: where this PE's device reaches memory of peers' devices: all of a peer's segment at one
 * distance from this PE's own, so that a kernel adds one number to a symmetric address.
 * Not the host's counterpart, aliases and the rows with their deltas: route.h. */
#ifndef IST_TRANSPORT_DEVICE_VIEW_H
#define IST_TRANSPORT_DEVICE_VIEW_H

#include "core/transport/peer.h"

/* Returns what a kernel on this PE's device adds to an address of this PE's segment to get the peer's, from now until
 * the segment is detached, also for memory that it grows by. 0 for this PE itself. Odd (ISTHMUS_NO_ALIAS): a kernel
 * does not reach that memory by loads, stores and atomics. The peer is resolved (ist_peer_get). Any thread. */
int64_t ist_device_delta(const struct ist_peer *peer, uint32_t segment);

#endif

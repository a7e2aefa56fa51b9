/* plugins/ib/ib_lanes.h: what UCX reports of the transports that it uses: of the lanes of an endpoint, which are the
 * connections that carry its operations, and of a context. UCX reports some of this in print only: ib_lanes.c states
 * which facts these are, and what holds where the text is not understood. */
#ifndef ISTHMUS_IB_LANES_H
#define ISTHMUS_IB_LANES_H

#include "plugins/ib/ib_ucp.h"

#include <sys/socket.h>

enum ib_lanes {
    IB_LANES_MANY, /* several, or not known: UCX's fence orders each of them by itself */
    IB_LANE_RDMA,  /* a single lane of an adapter: messages arrive behind the writes before them, and the peer's
                    * processor executes them later. Whether writes keep order is ib_order.h */
    IB_LANE_AM     /* a single lane of TCP: the peer's processor executes all operations, puts too, in order */
};

/* Of a connected endpoint. *is_fenced: the transport of each lane has writes behind UCX's fence wait for those before
 * it, whatever the adapter does. */
enum ib_lanes ib_lanes_query(ucp_ep_h ep, bool *is_fenced);

/* Returns true if each write of a peer into memory of this PE wakes it: over TCP each operation is a message that the
 * target's processor receives. An RDMA write, and one through shared memory, is executed without the target, whose
 * worker has no event then. */
bool ib_context_wakes(ucp_context_h context);

/* The attributes of an endpoint as UCX 1.14 and newer have them. The headers of 1.13, with which this plugin may be
 * built too, lack the last members. */
enum { IB_EP_ATTR_LANES = 1 << 3, IB_LANES_SINCE_MINOR = 14, IB_FENCED_SINCE_MINOR = 22 };
struct ib_lane {
    const char *transport, *device;
};
struct ib_ep_attr {
    uint64_t field_mask;
    char name[UCP_ENTITY_NAME_MAX];
    struct sockaddr_storage local, remote;
    struct {
        struct ib_lane *list;
        unsigned n; /* in: the room; out: how many there are */
        size_t lane_bytes;
    } lanes;
    void *user_data;
};

#endif

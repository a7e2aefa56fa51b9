/* plugins/ib/ib_lanes.h: the lanes of an endpoint: the connections by which UCX carries its operations. */
#ifndef ISTHMUS_IB_LANES_H
#define ISTHMUS_IB_LANES_H

#include "plugins/ib/ib_ucp.h"

enum ib_lanes {
    IB_LANES_MANY, /* several, or not known: UCX's fence orders each of them by itself */
    IB_LANE_RDMA,  /* a single lane of an adapter: its writes arrive in order, and before later messages, which the
                    * peer's processor executes later */
    IB_LANE_AM     /* a single lane whose messages the peer's processor executes, puts too: everything is in order */
};

/* Of a connected endpoint. */
enum ib_lanes ib_lanes_query(ucp_ep_h ep);

enum ib_lanes ib_lanes_parse(const char *info); /* from what ucp_ep_print_info() writes */

#endif

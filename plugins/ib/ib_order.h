/* plugins/ib/ib_order.h: whether the writes of a connection arrive in order, and when they are visible.
 *
 * Adapters may place writes as they arrive, and a network with adaptive routing has them arrive in any order. Memory
 * that is registered with relaxed ordering (PCI Express) is written in any order too, and shows a write some time after
 * the adapter has acknowledged it. Towards such a peer an operation behind a fence waits for a flush (ib_ep_order() in
 * ib.h), and in the second case each flush reads from that memory, which the adapter does behind its writes. */
#ifndef ISTHMUS_IB_ORDER_H
#define ISTHMUS_IB_ORDER_H

#include <isthmus/transport.h>

#include <stdbool.h>

enum ib_ordered { IB_ORDERED_AUTO, IB_ORDERED_YES, IB_ORDERED_NO };

struct ib_order {
    enum ib_ordered request; /* ISTHMUS_IB_ORDERED */
    const char *unordered;   /* a port of this PE that is not known to place writes in order; NULL: there is none */
    bool is_relaxed;         /* UCX registers this PE's host memory with relaxed ordering */
    char how[160];           /* what a fence towards other hosts costs, and why, for people; "": nothing */
};

/* Once the ports are chosen. Returns INVALID if the variable has another value than the three. */
isthmus_status ib_order_open(isthmus_tr *tr);

/* Returns true if a write behind a fence arrives behind those before it. `is_fenced`: by UCX, ib_lanes_query(). */
bool ib_order_is_kept(const struct ib_order *order, bool is_fenced);

#endif

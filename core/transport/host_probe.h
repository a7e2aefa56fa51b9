/* core/transport/host_probe.h: detects lost hosts of other PEs before the PEs have synchronized. Until then a PE's
 * address for heartbeats (pulse.h) is unknown, but the launcher has named its node, and a node's system replies by
 * itself: it refuses a connection to a port without a server. A node that has replied before and stops replying is
 * lost, and so is one without a route; silence from the beginning may be a firewall's and is ignored.
 * For slow starts only: others end before this begins. */
#ifndef IST_TRANSPORT_HOST_PROBE_H
#define IST_TRANSPORT_HOST_PROBE_H

#include "core/boot/boot.h"

/* Starts a thread that probes the nodes after this PE's in PE order, as long as `is_needed`. The thread calls `lost` at
 * most once; `what` names PE and node. `boot` stays the caller's until stop. Without a thread or node names there are
 * no probes. */
void ist_host_probe_start(ist_boot *boot, uint64_t timeout_s, bool (*is_needed)(void), void (*lost)(const char *what));
void ist_host_probe_stop(void); /* accepts any state; the thread has ended on return */
void ist_host_probe_forget(void);

#endif

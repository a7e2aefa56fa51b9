/* core/transport/host_probe.h: are the hosts of the other PEs still there, before the PEs have met? Until then nobody knows where a
 * PE can be asked (pulse.h), but the launcher has said on which node it is, and the system of a node answers by itself: a
 * connection to a port where nobody listens is refused. A node that has answered and does not any more is lost, and so is
 * one to which there is no route; silence from the beginning may be a firewall's and says nothing.
 * For starts that take long: others end before this begins. */
#ifndef IST_TRANSPORT_HOST_PROBE_H
#define IST_TRANSPORT_HOST_PROBE_H

#include "core/boot/boot.h"

/* Start a thread that asks the nodes behind this PE's in the order of PEs, as long as `is_needed`. `lost` is called from it, once at
 * most: `what` names PE and node. `boot` stays the caller's until stop. Without a thread or names nothing is asked. */
void ist_host_probe_start(ist_boot *boot, uint64_t timeout_s, bool (*is_needed)(void), void (*lost)(const char *what));
void ist_host_probe_stop(void); /* takes any state; the thread is gone then */
void ist_host_probe_forget(void);

#endif

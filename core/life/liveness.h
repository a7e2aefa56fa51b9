/* core/life/liveness.h: heartbeats between PEs of different hosts, because a cut network reports nothing, and the
 * launcher may not notice either.
 * Not for jobs on one host: there the launcher detects every death.
 *
 * Two neighbours watch each other: a PE that has received nothing for a tick sends a request, and the neighbour replies
 * from a thread of its own, whatever the program does. A neighbour that stays silent for the whole timeout is lost, and
 * the job ends: the finder notifies its neighbours, which notify theirs, and the lowest PE that found a loss reports
 * it.
 * Neighbours are: the first PEs of the hosts in a ring, each with the other PEs of its host, and PEs that have a path
 * through a network transport. So every PE has a neighbour that watches it, at a cost per PE that does not grow with
 * the job. */
#ifndef IST_LIFE_LIVENESS_H
#define IST_LIFE_LIVENESS_H

#include "core/boot/boot.h"
#include "core/boot/card.h"

/* Opens the socket and starts the thread. timeout_s 0: no effect, here and in all functions below. start_timeout_s: the
 * job ends if ist_pulse_join() does not follow in this time; 0: no bound. */
isthmus_status ist_pulse_open(const ist_boot *boot, uint64_t timeout_s, uint64_t start_timeout_s);

struct ist_blob ist_pulse_card(void); /* the heartbeat address of this PE; valid until close */

/* All PEs have synchronized. `first` is the PE that this one watches in the ring (ring.h); NULL: none. */
void ist_pulse_join(const struct ist_card *first);
void ist_pulse_watch(const struct ist_card *peer); /* a PE to which a path exists or is being opened */

/* This PE leaves in good order: its neighbours stop watching it, and it stops watching them. */
void ist_pulse_leave(void);
void ist_pulse_close(void); /* accepts any state */

/* In a child after fork: the thread does not exist here. */
void ist_pulse_forget(void);

#endif

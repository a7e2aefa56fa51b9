/* core/transport/pulse.h: are the other PEs still there? Signs of life between PEs of different hosts, because a network that
 * is cut says nothing, and the launcher may not notice either.
 * Not for jobs on one host: there the launcher sees every death.
 *
 * Each PE has neighbours, and two neighbours watch each other: who has heard nothing for a tick asks, who is asked answers, on
 * a thread of its own and so whatever the program does. A neighbour that stays silent for the whole timeout is lost, and the
 * job ends: the finder tells its neighbours, who tell theirs, and the lowest PE that found something says what.
 * Neighbours are: the first PEs of the hosts in a ring, each with the other PEs of its host, and PEs that have a path through
 * a network transport. So every PE is watched by somebody, at a cost per PE that does not grow with the job. */
#ifndef IST_TRANSPORT_PULSE_H
#define IST_TRANSPORT_PULSE_H

#include "core/boot/boot.h"
#include "core/boot/card.h"

/* Open the socket and start the thread. timeout_s 0: nothing happens here, now and in all that follows.
 * Until ist_pulse_join() hosts are looked at (host_probe.h). start_timeout_s: the job ends when that is not called in this time;
 * 0: there is no such bound. */
isthmus_status ist_pulse_open(ist_boot *boot, uint64_t timeout_s, uint64_t start_timeout_s);

struct ist_blob ist_pulse_card(void); /* how this PE is found; valid until close */

/* All PEs have met. `first` is who falls to this PE in the ring (ring.h); NULL: nobody. */
void ist_pulse_join(const struct ist_card *first);
void ist_pulse_watch(const struct ist_card *peer); /* to whom there is a path, or will be */

/* This PE leaves in good order: nobody is to take it for lost. It loses nobody any more either. */
void ist_pulse_leave(void);
void ist_pulse_close(void); /* takes any state */

/* In a child after fork: there is no thread here. */
void ist_pulse_forget(void);

#endif

/* core/life/life.h: is the job alive, and how does it end? What init and finalize call of this folder: heartbeats of PEs on
 * other hosts, processes of this host, the one PE that reports a loss, exits, and the lines that explain a wait.
 * The lower floors report waits, connections and the end of the job through base/life_event.h. */
#ifndef IST_LIFE_LIFE_H
#define IST_LIFE_LIFE_H

#include "core/boot/boot.h"
#include "core/boot/card.h"

/* The bootstrap is open: from now on waits for it check the PEs of this host. */
void ist_life_start(ist_boot *boot);

/* All PEs have synchronized, and their cards can be read: from now on waits of any kind check the job. *next is set to
 * the card of the PE that this one watches in the ring of hosts; NULL if there is none. */
isthmus_status ist_life_join(const struct ist_card **next);

/* Accepts any state. */
void ist_life_stop(void);

/* In a child after fork, which is no PE. */
void ist_life_forget(void);

#endif

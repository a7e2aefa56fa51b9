/* core/own_card.h: what this PE publishes at the start, so that others can reach it and compare their settings with its
 * own. The format is core/boot/card.h, the exchange core/life/agree.c. */
#ifndef IST_OWN_CARD_H
#define IST_OWN_CARD_H

#include "core/boot/card.h"

/* Once the heap is exposed. `scopes`: ISTHMUS_SCOPE_ bits, in which the PEs and memory of the job may lie. */
isthmus_status ist_own_card_make(uint64_t scopes);

/* Zeroed until it is made. */
const struct ist_card *ist_own_card(void);

void ist_own_card_free(void); /* takes any state */

#endif

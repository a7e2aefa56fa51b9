/* core/agree.h: do all PEs start, and with the same settings? */
#ifndef IST_AGREE_H
#define IST_AGREE_H

#include "core/boot/card.h"

/* The one exchange of init: publishes this PE's card, or a card of failure if `failure` is not OK, waits for all PEs,
 * opens the table of peers, and compares this PE with PE 0. Returns `failure`, or the first one that is found; a
 * message about it is this thread's ist_fail_text(). *first, PE 0's card, is valid on success only. generation: how
 * often the library was initialised before. */
isthmus_status ist_agree(const struct ist_card *card, unsigned generation, isthmus_status failure,
                         const struct ist_card **first);

#endif

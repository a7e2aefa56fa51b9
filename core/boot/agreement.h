/* core/boot/agreement.h: what must be equal on all PEs of a job, as text on each PE's card, and the first difference
 * between two such texts.
 * Not which settings these are (the column `of` in core/base/config.def), not the exchange of the cards (boot.h). */
#ifndef IST_BOOT_AGREEMENT_H
#define IST_BOOT_AGREEMENT_H

#include "core/base/config.h"
#include "core/boot/card.h"

enum { IST_AGREEMENT_BYTES = 4096 };

/* What must be equal and is no setting: it follows from the machine or from the plugins. */
struct ist_fact {
    const char *subject; /* of a sentence that goes on with "is": "the list of open transports" */
    const char *value;   /* without tabs and line ends */
};

/* Writes the version of the library, the settings that all PEs need alike, and the facts. Returns LIMIT if they do not
 * fit. */
isthmus_status ist_agreement_write(const struct ist_config *config, const struct ist_fact *facts, size_t n_facts,
                                   char out[IST_AGREEMENT_BYTES]);

/* Compares the agreements on two cards. Returns INVALID, with a text that names the first variable or fact in which
 * they differ, its two values and the two PEs. */
isthmus_status ist_agreement_check(const struct ist_card *mine, const struct ist_card *theirs);

#endif

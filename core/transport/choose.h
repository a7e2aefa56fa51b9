/* core/transport/choose.h: which transport carries what to a peer, and why not the others.
 * Deterministic: both ends and every rerun come to the same answer, because it depends on nothing but the two cards and
 * the configuration that all PEs agreed on. */
#ifndef IST_TRANSPORT_CHOOSE_H
#define IST_TRANSPORT_CHOOSE_H

#include "core/base/config.h"
#include "core/boot/card.h"
#include "core/transport/registry.h"

enum { IST_NO_TRANSPORT = UINT32_MAX };

/* What one transport offers towards one peer. */
struct ist_offer {
    bool is_possible;
    struct isthmus_reach reach;
    uint32_t card_slot; /* its place among the transports of the peer's card */
    char why_not[256];  /* when it is not possible, or is possible and was not taken */
};

struct ist_choice {
    struct ist_offer offers[IST_MAX_TRANSPORTS]; /* by registry index */
    uint32_t carrier;                            /* registry index of the one that carries puts and gets */
    uint32_t atomics;                            /* and of the one that carries atomics; IST_NO_TRANSPORT: none can */
};

/* Ask every transport about the peer with this card; memory of `kind`. */
void ist_choose(const struct ist_card *card, uint32_t kind, struct ist_choice *out);

/* Does whatever comes to this PE from other hosts wake it (ISTHMUS_CAP_WAKES)? The answer of each transport holds for all peers,
 * hence that about the peer with this card is enough. A transport that cannot be asked counts as one that does not. */
bool ist_arrivals_wake(const struct ist_card *card);

/* The agent that executes atomics on memory of this kind. Host memory belongs to the CPU, or with ISTHMUS_ATOMICS=nic to the adapter
 * of its PE: no other agent excludes that one, so PEs of the same host go through it too, and no alias is used. */
uint32_t ist_home_of_kind(uint32_t kind);
void ist_home_set(const struct ist_config *config); /* before the first choice; the same on all PEs */

/* Can each PE's atomics on host memory get to their home? By the own card. UNSUPPORTED names what each transport has instead. */
isthmus_status ist_home_check(const struct ist_card *own);

#endif

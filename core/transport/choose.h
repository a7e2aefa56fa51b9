/* core/transport/choose.h: the choice of the transport for a peer, with the reasons against the others.
 * Deterministic: both ends and every rerun make the same choice, because it depends only on the two cards and the
 * configuration that all PEs agreed on. */
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
    char why_not[256];  /* if it is not possible, or possible and not chosen */
};

struct ist_choice {
    struct ist_offer offers[IST_MAX_TRANSPORTS]; /* by registry index */
    /* Registry index of the transport for puts and gets, and of the one for atomics; IST_NO_TRANSPORT: none. */
    uint32_t carrier;
    uint32_t atomics;
};

/* Queries every transport about the peer with this card, for memory of `kind`, and chooses. */
void ist_choose(const struct ist_card *card, uint32_t kind, struct ist_choice *out);

/* Returns true if every arrival from another host wakes this PE (ISTHMUS_CAP_WAKES). A transport's answer holds for all
 * peers, so the peer with this card is enough. A transport that cannot be queried counts as one that does not wake. */
bool ist_arrivals_wake(const struct ist_card *card);

/* Returns the agent that executes atomics on memory of this kind. Host memory belongs to the CPU, or with
 * ISTHMUS_ATOMICS=nic to the agent of that domain: no other agent is atomic with it, so PEs of the same host use it
 * too, and no alias is used. */
uint32_t ist_home_of_kind(uint32_t kind);

/* Decides which agent that is for host memory, by this PE's card and the scopes in which the job's PEs lie, and writes
 * it to config->atomics, which all PEs compare. AUTO: processors, unless only adapters execute the atomics of the
 * transports. Before the first other choice. UNSUPPORTED names what each transport offers instead. */
isthmus_status ist_home_settle(const struct ist_card *own, uint64_t scopes, struct ist_config *config);

#endif

/* core/transport/choose.c: see choose.h. */
#include "core/transport/choose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t home_of_host = ISTHMUS_DOMAIN_CPU;

uint32_t ist_home_of_kind(uint32_t kind) { return kind == ISTHMUS_MEM_HOST ? home_of_host : ISTHMUS_DOMAIN_GPU; }

static void set_reason(struct ist_offer *offer, const char *name, const char *text)
{
    size_t prefix = strlen(name);
    if (strncmp(text, name, prefix) == 0 && strncmp(text + prefix, ": ", 2) == 0) text += prefix + 2;
    snprintf(offer->why_not, sizeof offer->why_not, "%s", text);
}

static void ask(struct ist_transport *t, const struct ist_card *card, uint32_t kind, struct ist_offer *offer)
{
    memset(offer, 0, sizeof *offer);
    if (t->state != IST_TRANSPORT_OPEN) {
        set_reason(offer, t->name, t->why);
        return;
    }
    uint32_t slot = 0;
    while (slot < card->n_transports && strcmp(card->transports[slot].name, t->name) != 0) slot++;
    if (slot == card->n_transports) {
        set_reason(offer, t->name, "the peer does not have it open");
        return;
    }
    if ((t->traits.kinds_attach >> kind & 1) == 0) {
        set_reason(offer, t->name, "it does not reach this kind of memory");
        return;
    }
    offer->card_slot = slot;
    offer->reach.struct_size = sizeof offer->reach;
    struct isthmus_peer peer = {
        .struct_size = sizeof peer,
        .pe = card->pe,
        .host = &card->host,
        .host_name = card->host_name,
        .card = card->transports[slot].card.bytes,
        .card_bytes = card->transports[slot].card.length_bytes,
        .kind = kind,
    };
    ist_cold_begin(t);
    offer->is_possible = t->ops.reach(t->handle, &peer, &offer->reach) == ISTHMUS_OK;
    ist_cold_end(t);
    if (!offer->is_possible) set_reason(offer, t->name, ist_fail_text());
}

/* Returns true if transport a is preferred to b: the user's order first, then latency, bandwidth, and the order of
 * names. */
static bool is_better(const struct ist_choice *choice, uint32_t a, uint32_t b)
{
    const struct ist_transport *ta = &ist_registry.list[a], *tb = &ist_registry.list[b];
    const struct isthmus_reach *ra = &choice->offers[a].reach, *rb = &choice->offers[b].reach;
    if (ta->rank != tb->rank) return ta->rank < tb->rank;
    if (ra->latency_ns != rb->latency_ns) return ra->latency_ns < rb->latency_ns;
    if (ra->bandwidth_bytes_per_s != rb->bandwidth_bytes_per_s)
        return ra->bandwidth_bytes_per_s > rb->bandwidth_bytes_per_s;
    return strcmp(ta->name, tb->name) < 0;
}

/* The same for atomics. Adapters of two transports do not exclude one another, and the latency to the own PE is not
 * that to others: all PEs that reach a word take the same transport, by the user's order and that of names. */
static bool executes_before(const struct ist_choice *choice, uint32_t a, uint32_t b, uint32_t home)
{
    const struct ist_transport *ta = &ist_registry.list[a], *tb = &ist_registry.list[b];
    if (home != ISTHMUS_DOMAIN_NIC || ta->rank != tb->rank) return is_better(choice, a, b);
    return strcmp(ta->name, tb->name) < 0;
}

static void explain_losers(struct ist_choice *choice)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_offer *offer = &choice->offers[i];
        if (!offer->is_possible || i == choice->carrier) continue;
        const struct ist_transport *winner = &ist_registry.list[choice->carrier];
        const struct isthmus_reach *won = &choice->offers[choice->carrier].reach;
        if (ist_registry.list[i].rank != winner->rank)
            snprintf(offer->why_not, sizeof offer->why_not, "ISTHMUS_TRANSPORTS puts %s before it", winner->name);
        else
            snprintf(offer->why_not, sizeof offer->why_not,
                     "%s is faster to this PE: %" PRIu32 " ns against %" PRIu32 " ns", winner->name, won->latency_ns,
                     offer->reach.latency_ns);
    }
}

void ist_choose(const struct ist_card *card, uint32_t kind, struct ist_choice *out)
{
    out->carrier = IST_NO_TRANSPORT;
    out->atomics = IST_NO_TRANSPORT;
    uint32_t home = ist_home_of_kind(kind);
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        ask(&ist_registry.list[i], card, kind, &out->offers[i]);
        if (!out->offers[i].is_possible) continue;
        if (out->carrier == IST_NO_TRANSPORT || is_better(out, i, out->carrier)) out->carrier = i;
        if (out->offers[i].reach.atomics_domain != home) continue;
        if (out->atomics == IST_NO_TRANSPORT || executes_before(out, i, out->atomics, home)) out->atomics = i;
    }
    if (out->carrier != IST_NO_TRANSPORT) explain_losers(out);
}

bool ist_arrivals_wake(const struct ist_card *card)
{
    struct ist_choice choice;
    ist_choose(card, ISTHMUS_MEM_HOST, &choice);
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_transport *t = &ist_registry.list[i];
        const struct ist_offer *offer = &choice.offers[i];
        if (t->state != IST_TRANSPORT_OPEN || (t->ops.scopes & ISTHMUS_SCOPE_NETWORK) == 0) continue;
        if (!offer->is_possible || (offer->reach.caps & ISTHMUS_CAP_WAKES) == 0) return false;
    }
    return true;
}

static const char *agent_of(const struct ist_offer *offer)
{
    if (!offer->is_possible) return offer->why_not;
    switch (offer->reach.atomics_domain) {
    case ISTHMUS_DOMAIN_CPU: return "its atomics are executed by processors";
    case ISTHMUS_DOMAIN_NIC: return "its atomics are executed by NICs";
    case ISTHMUS_DOMAIN_GPU: return "its atomics are executed by a GPU";
    default: return "it has no atomics";
    }
}

/* Writes "ib: its atomics are executed by processors (the transport's reason, if it has one)". */
static size_t write_agent(const struct ist_choice *choice, uint32_t i, char *out, size_t room)
{
    const struct ist_offer *offer = &choice->offers[i];
    const char *how = offer->is_possible ? offer->reach.how : NULL;
    int n = snprintf(out, room, "%s%s: %s%s%s%s", i > 0 ? "; " : "", ist_registry.list[i].name, agent_of(offer),
                     how != NULL ? " (" : "", how != NULL ? how : "", how != NULL ? ")" : "");
    return n > 0 ? (size_t)n : 0;
}

/* A transport of this PE offers atomics by this agent; with other hosts, one that reaches them does, too. The offer
 * towards the own PE counts: which agent executes its atomics is the same for all PEs that a transport reaches. */
static bool is_offered(const struct ist_choice *choice, uint32_t agent, uint64_t scopes)
{
    bool is_here = false, is_there = false, reaches_there = false;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        const struct ist_offer *offer = &choice->offers[i];
        if (!offer->is_possible) continue;
        bool is_network = (ist_registry.list[i].ops.scopes & ISTHMUS_SCOPE_NETWORK) != 0;
        bool fits = offer->reach.atomics_domain == agent;
        is_here = is_here || fits;
        is_there = is_there || (fits && is_network);
        reaches_there = reaches_there || is_network;
    }
    return is_here && (is_there || !reaches_there || (scopes & ISTHMUS_SCOPE_NETWORK) == 0);
}

static isthmus_status fail_without_agent(const struct ist_choice *choice, int wanted, bool nic_would)
{
    char reasons[800] = "there is no transport";
    size_t used = 0;
    for (uint32_t i = 0; i < ist_registry.n && used < sizeof reasons; i++)
        used += write_agent(choice, i, reasons + used, sizeof reasons - used);
    if (wanted == IST_ATOMICS_NIC)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "ISTHMUS_ATOMICS is nic, but no transport of this PE executes atomics that way: %s", reasons);
    if (nic_would)
        return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                        "ISTHMUS_ATOMICS is cpu, but no transport of this PE executes atomics that way: %s; unset it",
                        reasons);
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED,
                    "no transport of this PE executes atomics%s: %s; name one that does in ISTHMUS_TRANSPORTS",
                    is_offered(choice, ISTHMUS_DOMAIN_CPU, 0) ? " on other hosts" : "", reasons);
}

isthmus_status ist_home_settle(const struct ist_card *own, uint64_t scopes, struct ist_config *config)
{
    struct ist_choice choice;
    ist_choose(own, ISTHMUS_MEM_HOST, &choice);
    bool is_alone = choice.carrier == IST_NO_TRANSPORT; /* and loads and stores its own memory */
    bool by_cpu = is_alone || is_offered(&choice, ISTHMUS_DOMAIN_CPU, scopes);
    bool by_nic = is_offered(&choice, ISTHMUS_DOMAIN_NIC, scopes);
    int wanted = config->atomics;
    bool takes_nic = wanted == IST_ATOMICS_NIC || (wanted == IST_ATOMICS_AUTO && !by_cpu && by_nic);
    config->atomics = takes_nic ? IST_ATOMICS_NIC : IST_ATOMICS_CPU;
    home_of_host = takes_nic ? ISTHMUS_DOMAIN_NIC : ISTHMUS_DOMAIN_CPU;
    if (takes_nic ? by_nic : by_cpu) return ISTHMUS_OK;
    return fail_without_agent(&choice, wanted, by_nic);
}

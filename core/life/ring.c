/* core/life/ring.c: which PE this one watches, and whether the PEs reach each other. See life_priv.h. */
#include "core/life/life.h"
#include "core/life/life_priv.h"

#include "core/topo/host_id.h"
#include "core/transport/peer.h"

enum { CARDS_MAX = 64 }; /* cards read at most to find the next host's first PE; if none is found, PE 0 is used */

static bool is_local(const ist_boot *boot, int pe)
{
    for (int i = 0; i < boot->n_local; i++)
        if (boot->local_pes[i] == pe) return true;
    return false;
}

/* Searches in PE order. The first card fits if PEs are distributed by blocks or round-robin. */
static isthmus_status next_first(const ist_boot *boot, const struct ist_card **out)
{
    int n_cards = 0;
    for (int step = 1; step < boot->n_pes && n_cards < CARDS_MAX; step++) {
        int pe = (boot->pe + step) % boot->n_pes;
        if (is_local(boot, pe)) continue;
        isthmus_status status = ist_peer_card(pe, out);
        if (status != ISTHMUS_OK || (*out)->first_on_host == pe) return status;
        n_cards++;
    }
    return ist_peer_card(0, out);
}

isthmus_status ist_ring_next(const ist_boot *boot, const struct ist_card **out)
{
    *out = NULL;
    if (boot->pe != boot->local_pes[0]) return ist_peer_card(boot->local_pes[0], out);
    return boot->n_local < boot->n_pes ? next_first(boot, out) : ISTHMUS_OK;
}

isthmus_status ist_ring_check(const ist_boot *boot, int first_peer)
{
    const struct ist_peer *peer;
    isthmus_status status = is_local(boot, 0) ? ISTHMUS_OK : ist_peer_check(0);
    if (status == ISTHMUS_OK && first_peer >= 0 && !is_local(boot, first_peer))
        status = ist_peer_get(first_peer, &peer);
    return status;
}

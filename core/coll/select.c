/* core/coll/select.c: which algorithm a meeting uses; ISTHMUS_COLL_BARRIER overrides. */
#include "core/coll/sync.h"

#include "core/base/fatal.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/sync/spin.h"
#include "core/transport/choose.h"
#include "core/transport/peer.h"

static int barrier_choice;
static bool can_use_central;
static _Thread_local const char *waiting_in
    __attribute__((tls_model("initial-exec"))); /* routine; NULL: in no meeting */

/* Do PEs of this host load and store in the first PE's heap? All have the same transports open, so all come to the same
 * answer. */
static bool is_first_pe_aliased(void)
{
    const struct ist_card *card;
    struct ist_choice choice;
    if (!ist_peers_use_alias() || ist_segments_have_extents() || ist_peer_card(0, &card) != ISTHMUS_OK) return false;
    ist_choose(card, ISTHMUS_MEM_HOST, &choice);
    return choice.carrier != IST_NO_TRANSPORT && (choice.offers[choice.carrier].reach.caps & ISTHMUS_CAP_ALIAS) != 0;
}

void ist_sync_init(const struct ist_config *config)
{
    barrier_choice = config->barrier;
    can_use_central = is_first_pe_aliased();
}

static bool use_central(const struct ist_team *team)
{
    if (barrier_choice == IST_BARRIER_DISSEMINATION || !team->is_on_one_host || !can_use_central) return false;
    return barrier_choice == IST_BARRIER_CENTRAL || (team->n_pes > 2 && ist_spin_is_oversubscribed());
}

void ist_sync_on(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    if (team->n_pes == 1) return;
    waiting_in = routine;
    if (use_central(team))
        ist_sync_central(team, area, sequence, routine);
    else
        ist_sync_dissemination(team, area, sequence, routine);
    waiting_in = NULL;
}

const char *ist_sync_routine(void) { return waiting_in; }

void ist_sync(struct ist_team *team, const char *routine) { ist_sync_on(team, team->area, ++team->sequence, routine); }

void ist_barrier_all(const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    ist_quiet(&ist_ctx_default, routine);
    ist_sync(&ist_team_world, routine);
}

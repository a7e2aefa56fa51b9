/* core/team/team.c: the predefined teams, and translation between numberings. See team.h. */
#include "core/team/team.h"

#include "core/base/log.h"
#include "core/heap/internal_area.h"
#include "core/transport/choose.h"
#include "core/transport/peer.h"

#include <pthread.h>
#include <stdlib.h>

struct ist_team ist_team_world, ist_team_shared;

static struct {
    const ist_boot *boot;
    bool shared_only_self;
    int *shared_list;
    pthread_mutex_t lock;
} teams = {.lock = PTHREAD_MUTEX_INITIALIZER};

isthmus_status ist_teams_init(const ist_boot *boot, bool shared_only_self)
{
    teams.boot = boot;
    teams.shared_only_self = shared_only_self;
    ist_team_world = (struct ist_team){
        .n_pes = boot->n_pes,
        .my_pe = boot->pe,
        .stride = 1,
        .area = &ist_internal_area()->world,
        .is_on_one_host = boot->n_local == boot->n_pes,
    };
    ist_team_shared = (struct ist_team){.n_pes = 0};
    return ISTHMUS_OK;
}

void ist_teams_fini(void)
{
    free(teams.shared_list);
    teams.shared_list = NULL;
    ist_team_world = ist_team_shared = (struct ist_team){.n_pes = 0};
}

/* Do we reach that PE's heap by load and store? Asked of the transports, so that no connection is made. */
static bool shares_memory(int pe)
{
    static struct ist_choice choice; /* large; the caller holds the lock */
    const struct ist_card *card;
    if (ist_peer_card(pe, &card) != ISTHMUS_OK) return false;
    ist_choose(card, card->segments[IST_SEGMENT_HEAP].kind, &choice);
    return choice.carrier != IST_NO_TRANSPORT && (choice.offers[choice.carrier].reach.caps & ISTHMUS_CAP_ALIAS) != 0 &&
           ist_peers_use_alias();
}

static void make_shared(void)
{
    const ist_boot *boot = teams.boot;
    int n = 0, mine = 0;
    int *list = malloc((size_t)boot->n_local * sizeof *list);
    for (int i = 0; list != NULL && i < boot->n_local; i++) {
        int pe = boot->local_pes[i];
        if (pe != boot->pe && (teams.shared_only_self || !shares_memory(pe))) continue;
        if (pe == boot->pe) mine = n;
        list[n++] = pe;
    }
    if (list == NULL) ist_warn("no memory for the team of PEs that share memory; it holds this PE only");
    teams.shared_list = list;
    ist_team_shared = (struct ist_team){
        .n_pes = list != NULL ? n : 1,
        .my_pe = mine,
        .start = boot->pe,
        .stride = 1,
        .list = list,
        .area = &ist_internal_area()->shared,
        .is_on_one_host = true,
    };
}

struct ist_team *ist_team_shared_get(void)
{
    pthread_mutex_lock(&teams.lock);
    if (ist_team_shared.n_pes == 0) make_shared();
    pthread_mutex_unlock(&teams.lock);
    return &ist_team_shared;
}

int ist_team_from_world(const struct ist_team *team, int world_pe)
{
    if (team->list == NULL) {
        int distance = world_pe - team->start;
        int pe = team->stride != 0 ? distance / team->stride : 0;
        return pe >= 0 && pe < team->n_pes && pe * team->stride == distance ? pe : -1;
    }
    for (int pe = 0; pe < team->n_pes; pe++)
        if (team->list[pe] == world_pe) return pe;
    return -1;
}

/* core/coll/sync.c: see sync.h: which algorithm a barrier or sync uses; ISTHMUS_COLL_BARRIER overrides. */
#include "core/coll/sync.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/recorder.h"
#include "core/coll/cost.h"
#include "core/ops/order.h"
#include "core/ops/target.h"
#include "core/transport/memory.h"

static int barrier_choice;

void ist_sync_init(const struct ist_config *config) { barrier_choice = config->barrier; }

static bool use_central(const struct ist_team *team)
{
    if (barrier_choice == IST_BARRIER_DISSEMINATION || !team->is_aliased) return false;
    return barrier_choice == IST_BARRIER_CENTRAL || (team->n_pes > 2 && ist_is_crowded(team));
}

/* Data that members have put into this PE's device memory, past its driver, is visible after the synchronisation. */
static void end_meeting(void)
{
    ist_sync_now = NULL;
    ist_flush_writes();
}

static void sync_on(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    if (team->n_pes == 1) return;
    ist_sync_now = routine;
    if (use_central(team))
        ist_sync_central(team, area, sequence, routine);
    else
        ist_sync_dissemination(team, area, sequence, routine);
    end_meeting();
}

void ist_sync_rarely(struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine)
{
    if (team->is_aliased) {
        sync_on(team, area, sequence, routine);
        return;
    }
    const struct ist_hosts *hosts = ist_hosts_that_matter(team, routine);
    ist_sync_now = routine;
    if (hosts == NULL)
        ist_sync_tree(team, area, sequence, routine);
    else
        ist_sync_hosts(team, hosts, &(struct ist_rare_meeting){area, sequence}, routine);
    end_meeting();
}

/* Returns the tree that this PE is in, or NULL if it is no host's leader. */
static const struct ist_team *rare_tree(struct ist_team *team, const char *routine)
{
    const struct ist_hosts *hosts = ist_hosts_that_matter(team, routine);
    if (hosts == NULL) return team;
    return ist_hosts_leads(hosts) ? hosts->outer : NULL;
}

int ist_sync_rarely_towards(struct ist_team *team, const char *routine)
{
    const struct ist_team *tree = rare_tree(team, routine);
    if (tree == NULL || tree->my_pe == 0) return -1;
    return ist_team_to_world(tree, ist_sync_tree_parent(tree->my_pe));
}

void ist_sync_rarely_link(struct ist_team *team, struct ist_sync_area *area, const char *routine)
{
    const struct ist_team *tree = rare_tree(team, routine);
    if (team->is_on_one_host || tree == NULL) return;
    ist_sync_now = routine;
    ist_sync_tree_up(tree, area, 1, routine);
    ist_sync_now = NULL;
}

/* Returns NULL if all PEs synchronise alike; else the leaders save more rounds between hosts than the steps inside each
 * host cost. */
static const struct ist_hosts *hosts_to_meet_through(struct ist_team *team, const char *routine)
{
    if (barrier_choice == IST_BARRIER_DISSEMINATION) return NULL;
    const struct ist_hosts *hosts = ist_hosts_that_matter(team, routine);
    if (hosts == NULL || barrier_choice == IST_BARRIER_HOSTS) return hosts;
    int n_saved = ist_rounds_of(team->n_pes) - ist_rounds_of(hosts->n_hosts);
    return (uint64_t)n_saved * IST_COST_MESSAGE_NS > ist_cost_inside(0) ? hosts : NULL;
}

void ist_sync(struct ist_team *team, const char *routine)
{
    const struct ist_hosts *hosts = hosts_to_meet_through(team, routine);
    team->sync_sequence++;
    if (hosts == NULL) {
        sync_on(team, &team->area->sync, team->sync_sequence, routine);
        return;
    }
    ist_sync_now = routine;
    ist_sync_hosts(team, hosts, NULL, routine);
    end_meeting();
}

isthmus_status ist_refuse_team(const char *routine)
{
    static const char text[] = "team is invalid or was destroyed; valid: a live team that this PE is in";
    if (ist_check_on) ist_misuse(routine, "%s", text);
    ist_info("%s: %s", routine, text);
    return ist_fail(ISTHMUS_ERR_INVALID, "%s: %s", routine, text);
}

isthmus_status ist_meet(struct ist_team *team, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    if (IST_UNLIKELY(team == NULL)) return ist_refuse_team(routine);
    ist_collective_begin(team, routine);
    if (IST_UNLIKELY(ist_check_on)) ist_check_same_call(&(struct ist_transfer){.routine = routine, .team = team}, NULL);
    ist_sync(team, routine);
    if (IST_UNLIKELY(ist_check_on)) ist_check_synchronised();
    return ISTHMUS_OK;
}

isthmus_status ist_barrier(struct ist_team *team, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin_wait(routine);
    ist_require_ctx(&ist_ctx_default, routine);
    ist_quiet(&ist_ctx_default, routine);
    return ist_meet(team, routine);
}

void ist_barrier_all(const char *routine) { (void)ist_barrier(&ist_team_world, routine); }

/* core/team/team.h: who takes part: an ordered set of PEs.
 * Not what they do together (core/coll). Members are numbered 0..n-1; PE i of a strided team is start + i * stride of the
 * world; any other set has a list. */
#ifndef IST_TEAM_TEAM_H
#define IST_TEAM_TEAM_H

#include "core/boot/boot.h"

#include <stdbool.h>

enum { IST_SYNC_ROUNDS = 32 };

/* The flags of one team's synchronisation, in symmetric memory; one cache line each, written by one PE at a time. */
struct ist_sync_area {
    struct {
        uint64_t value;
        uint64_t padding[7];
    } round[IST_SYNC_ROUNDS], arrived, release;
};

struct ist_team {
    int n_pes, my_pe;           /* my_pe -1: not a member */
    int start, stride;          /* of a strided team, in the world's numbers */
    const int *list;            /* world numbers of the members; NULL: strided */
    uint64_t sequence;          /* of synchronisations so far; the same on all members */
    struct ist_sync_area *area; /* symmetric */
    bool is_on_one_host;
};

extern struct ist_team ist_team_world, ist_team_shared;

isthmus_status ist_teams_init(const ist_boot *boot, bool shared_only_self);
void ist_teams_fini(void);

/* SHMEM_TEAM_SHARED, made on its first use: it takes the cards of all PEs that the launcher has put on this host. */
struct ist_team *ist_team_shared_get(void);

static inline int ist_team_to_world(const struct ist_team *team, int pe)
{
    return team->list != NULL ? team->list[pe] : team->start + pe * team->stride;
}

/* The member number of a PE of the world; -1: not a member. */
int ist_team_from_world(const struct ist_team *team, int world_pe);

#endif

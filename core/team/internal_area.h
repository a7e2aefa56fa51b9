/* core/team/internal_area.h: the library's own part of the symmetric heap, on every PE.
 * All of it is zero at start. Each subject has its own cache lines. */
#ifndef IST_TEAM_INTERNAL_AREA_H
#define IST_TEAM_INTERNAL_AREA_H

#include "core/heap/heap.h"
#include "core/team/team.h"

/* Of core/coll/lobby.c: a PE's memory for one team that is being made, as host or as guest. */
enum { IST_LOBBY_WORDS = 32, IST_LOBBY_ROOMS = 16, IST_LOBBY_PART = 1008 };
struct ist_lobby_room {
    uint64_t claim, link, proposal,
        line0[5]; /* for the host to read: n and place, the guest before, the lowest free index */
    uint64_t head, n_here, answers,
        line1[5];                 /* of the host, by guests: the last guest, how many; how many have replied */
    uint64_t told, line2[7];      /* by the host */
    int32_t part[IST_LOBBY_PART]; /* of the host, for guests to read: some members' PEs, by place */
};
struct ist_lobby {
    uint64_t words[IST_LOBBY_WORDS]; /* of the ids that this PE has made */
    struct ist_lobby_room rooms[IST_LOBBY_ROOMS];
};

struct ist_internal_area {
    struct ist_sync_area exit;      /* the last synchronisation, apart from the program's own barriers */
    struct ist_sync_area links;     /* init: the connections for that synchronisation exist */
    uint64_t failed_allocations[2]; /* counted on PE 0: a PE that could not allocate makes all return NULL */
    uint64_t heap_lack;             /* on PE 0: by how much the heap of another PE may grow less than PE 0's */
    uint64_t line0[5];
    uint64_t has_left; /* this PE has left without shmem_finalize */
    uint64_t line1[7];
    struct ist_lobby lobby;
    struct ist_team_memory teams[]; /* ISTHMUS_TEAMS_MAX of them, by index */
};

/* Of core/check/shadow.c, behind the teams, with ISTHMUS_CHECK only. */
enum { IST_SHADOW_BYTES = 1 << 19 };

/* Of core/profile/profile.c, behind those, with ISTHMUS_PROFILE only. */
enum { IST_PROFILE_PIECE_BYTES = 1 << 16 };
struct ist_profile_area {
    uint64_t granted, line0[7];         /* by PE 0: so many pieces this PE may send; at the end any number */
    uint64_t sent, n_records, line1[6]; /* on PE 0: a piece has arrived; of that part */
    char piece[IST_PROFILE_PIECE_BYTES];
};

static inline struct ist_internal_area *ist_internal_area(void)
{
    return (struct ist_internal_area *)(void *)ist_heap.base;
}

static inline void *ist_internal_shadow(void) { return ist_internal_area()->teams + ist_team_limit; }

static inline uint64_t ist_internal_area_bytes(const struct ist_config *config)
{
    return sizeof(struct ist_internal_area) + ist_teams_max(config) * sizeof(struct ist_team_memory) +
           (config->check ? IST_SHADOW_BYTES : 0) +
           (ist_config_has_profile(config) ? sizeof(struct ist_profile_area) : 0);
}

static inline struct ist_profile_area *ist_internal_profile(const struct ist_config *config)
{
    uint64_t end = ist_internal_area_bytes(config);
    return (struct ist_profile_area *)(void *)((char *)ist_heap.base + end - sizeof(struct ist_profile_area));
}

#endif

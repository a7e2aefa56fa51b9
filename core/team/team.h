/* core/team/team.h: an ordered set of PEs, and the place of the flags that its members share.
 * Not collectives, making teams included (core/coll). Members are numbered 0..n-1; PE i of a strided team is
 * start + i * stride of the world; any other set has a list. */
#ifndef IST_TEAM_TEAM_H
#define IST_TEAM_TEAM_H

#include "core/base/atomic.h"
#include "core/boot/boot.h"

#include <stdbool.h>

enum { IST_TEAM_ROUNDS = 20 }; /* of a doubling: a million PEs */

/* A cache line of symmetric memory, written by one PE at a time. */
struct ist_line {
    uint64_t value;
    uint64_t padding[7];
};

/* The flags of one team's synchronisation. */
struct ist_meeting_point {
    struct ist_line arrived, release; /* used on the first member only */
};

struct ist_sync_area {
    struct ist_line round[IST_TEAM_ROUNDS];
    struct ist_meeting_point central;
};

/* A line that carries a little data with its flag. */
enum { IST_SLOT_BYTES = 56 };
struct ist_slot {
    unsigned char data[IST_SLOT_BYTES];
    uint64_t sequence;
};

enum { IST_TEAM_DEVICE_WORDS = 88 }; /* flags of kernels' synchronisations (isthmus/device_state.h), whole lines */

/* What the members of one team use to communicate, in symmetric memory, at the same offset on each of them. */
struct ist_team_area {
    struct ist_sync_area sync;
    struct ist_meeting_point central; /* of reductions */
    struct ist_line pairwise[2];      /* arrivals, counted */
    struct ist_line broadcast[IST_TEAM_ROUNDS];
    struct ist_slot fold, result, doubling[2][IST_TEAM_ROUNDS];
    uint64_t check[32]; /* of ISTHMUS_CHECK: this PE's next call */
};
enum { IST_TEAM_AREA_BYTES = sizeof(struct ist_team_area) };

/* All of a team's symmetric memory: for the team, and for the two parts of it that a member on one of several hosts is
 * in. */
struct ist_team_memory {
    struct ist_team_area whole;
    uint64_t device[IST_TEAM_DEVICE_WORDS];
    struct ist_team_area inner, outer;
    struct ist_line arrived, release; /* on a host: counted on its leader; on each member, by its leader */
};

/* Indices of the predefined teams; those that programs make follow. */
enum { IST_TEAM_WORLD, IST_TEAM_SHARED, IST_TEAM_NODE, IST_TEAM_SAME_MYPE_NODE, IST_TEAMS_PREDEFINED };

/* The program's team configuration; kept for get_config, without effect. */
struct ist_team_options {
    int num_contexts;
    uint64_t unique_id;
};

struct ist_team {
    int n_pes, my_pe;
    int start, stride;              /* of a strided team, in the world's numbers */
    const int *list;                /* world numbers of the members; NULL: strided */
    struct ist_team_area *area;     /* symmetric */
    struct ist_team_memory *memory; /* which that area begins; NULL: the area is all there is */
    struct ist_hosts *hosts;        /* see below; NULL until first used */
    uint64_t sync_sequence;         /* of synchronisations so far, and so on: the same on all members */
    uint64_t broadcast_sequence;
    uint64_t doubling_sequence;
    uint64_t central_sequence;
    uint64_t pairwise_sequence;
    uint64_t check_sequence;
    uint64_t hosts_sequence;
    uint64_t stream_sequence; /* of synchronisations in streams */
    bool meets_in_streams;    /* core/stream/stream.h */
    bool has_kernels;         /* there: its collectives in streams are kernels */
    bool has_launched;        /* and some have been enqueued */
    uint64_t n_collectives;   /* begun so far, those inside allocations included: the same on all members */
    bool is_on_one_host;
    bool is_active_set;
    bool is_aliased; /* every member reaches the others' symmetric memory of the host by load and store */
    int index;
    struct ist_team_options options;
    const void *made_by; /* the call, with ISTHMUS_CHECK; else NULL */
};

extern struct ist_team ist_team_world;

static inline uint64_t ist_teams_max(const struct ist_config *config)
{
    enum { LEAST = 16, MOST = 1 << 20 };
    return config->teams_max < LEAST ? LEAST : config->teams_max > MOST ? MOST : config->teams_max;
}

/* Touches the flags of predefined teams, and those of the start and the end, before any peer writes to them: the system
 * takes a page from the NUMA node of the PE that touches it first, and this PE polls these flags. */
void ist_teams_place_memory(const ist_boot *boot);

isthmus_status ist_teams_init(ist_boot *boot, const struct ist_config *config);
void ist_teams_fini(void);

/* The live teams that this PE is a member of, by index. */
extern struct ist_team **ist_team_table;
extern uint32_t ist_team_limit; /* ISTHMUS_TEAMS_MAX: how many teams can live at a time */

/* Predefined teams but the world are made on first use: some need the cards of other PEs. Returns NULL if there is none
 * of that index, or no memory for it, which a warning has reported. */
struct ist_team *ist_team_late(long index) IST_COLD;

static inline struct ist_team *ist_team_at(long index)
{
    struct ist_team *team = NULL;
    /* Acquire: pairs with the release that enters a team that another thread has made. */
    if (IST_LIKELY((unsigned long)index < ist_team_limit)) team = ist_load_acquire(&ist_team_table[index]);
    return IST_LIKELY(team != NULL) ? team : ist_team_late(index);
}

static inline int ist_team_to_world(const struct ist_team *team, int pe)
{
    return team->list != NULL ? team->list[pe] : team->start + pe * team->stride;
}

/* Returns true if the launcher has put this PE of the world on this PE's host. */
bool ist_team_is_local(int world_pe);

/* The member number of a PE of the world; -1: not a member. */
int ist_team_from_world(const struct ist_team *team, int world_pe);

/* An index of the table on this PE. While it is reserved, a team is being made, which may still get another one. */
enum ist_team_place { IST_TEAM_FREE, IST_TEAM_LIVE, IST_TEAM_RESERVED };

/* For making teams. The address of the place of an index; the lowest index from `from` on without a live team, or -1; a
 * team with its members, `list` (may be NULL) copied. */
struct ist_team_memory *ist_team_memory_of(int index);
int ist_team_free_index(int from);
enum ist_team_place ist_team_reserve(int index); /* returns what it was: reserved by this call if that is FREE */
void ist_team_unreserve(int index);
uint32_t ist_team_changes(void); /* how often a team has entered the table or left it */
isthmus_status ist_team_new(int n, int start, int stride, const int *list, struct ist_team **out);
void ist_team_clear_memory(const struct ist_team *team, int index); /* before its first use by `team` */
void ist_team_register(struct ist_team *team, int index);           /* which is reserved */
void ist_team_delete(struct ist_team *team);

/* From now on calls fn after a team has been registered under an index, and with NULL before it is deleted. A team that
 * the caller does not find in the table afterwards is announced. NULL: no call. */
void ist_team_announce(void (*fn)(const struct ist_team *team, int index));

/* ---- on which hosts the members of a team are (hosts.c) ----
 * However they were placed: in blocks, in turn, unevenly. Not the use of this (core/coll). Found without a message to
 * another PE if the launcher provides it; every member finds the same. */

/* Hosts are numbered in the order of their first members, and the members of a host in the order of the team. The first
 * one of a host leads it. */
struct ist_hosts {
    int n_hosts, my_host, my_number; /* my_number: among the members of my host */
    int least;                       /* members of the host that has the fewest */
    bool are_blocks;                 /* the members of every host follow one another in the team */
    int *host_of;                    /* by member */
    int *members, *first;            /* host h: members[first[h]] to members[first[h + 1] - 1] */

    /* Teams for communication inside a host and between hosts. inner: all members on this host, the leader first.
     * outer: those of each host, in the order of the hosts, that have the same number there as this PE; NULL on PEs
     * whose number some host lacks. The leaders are such a team. */
    struct ist_team *inner, *outer;
};

/* Returns the hosts of a registered team, found on the first call and owned by the team. One caller at a time. */
isthmus_status ist_hosts_of_team(struct ist_team *team, const struct ist_hosts **out);
void ist_hosts_free(struct ist_hosts *hosts); /* takes NULL */

/* The host of each PE of the world, numbered from 0; valid until fini. Any thread. */
isthmus_status ist_hosts_of_world(const int **host_of);

static inline int ist_hosts_size(const struct ist_hosts *hosts, int host)
{
    return hosts->first[host + 1] - hosts->first[host];
}

static inline bool ist_hosts_leads(const struct ist_hosts *hosts) { return hosts->my_number == 0; }

/* Without teams; host_of[i] is any number below n_numbers that stands for the host of member i. */
isthmus_status ist_hosts_new(const int *host_of, int n, int n_numbers, int my_pe, struct ist_hosts **out);

void ist_hosts_init(ist_boot *boot, const char *pretended); /* ISTHMUS_PRETEND_HOSTS, borrowed */
void ist_hosts_fini(void);

#endif

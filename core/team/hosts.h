/* core/team/hosts.h: on which hosts the members of a team are, however they were placed: in blocks, in turn, unevenly.
 * Not its use (core/coll). Found without a message to another PE if the launcher provides it; every member finds the
 * same. */
#ifndef IST_TEAM_HOSTS_H
#define IST_TEAM_HOSTS_H

#include "core/team/team.h"

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

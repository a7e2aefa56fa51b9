/* core/coll/lobby.h: where the members of a future team find each other if all they share is a number: each knows its
 * own place in the team and no other member's PE. So they use symmetric memory and not through the bootstrap, which
 * gets what a known PE has published. Not the team itself (split.h). */
#ifndef IST_COLL_LOBBY_H
#define IST_COLL_LOBBY_H

#include "core/base/status.h"
#include "core/team/team.h"

/* A number for one team, made on this PE; never 0. LIMIT: too many unused ones. */
isthmus_status ist_lobby_new_id(uint64_t *id);

/* Collective over the n PEs that pass this id, each with its own place 0 to n - 1, and no other: makes a team of them,
 * in that order. Threads of a PE may make several at once, in any order. Returns INVALID on all of them if the id is
 * invalid or was used, or if places and n do not match. */
isthmus_status ist_lobby_make_team(uint64_t id, int n, int place, const struct ist_team_options *options,
                                   struct ist_team **out, const char *routine);

void ist_lobby_init(void); /* at init: the symmetric heap is new */

#endif

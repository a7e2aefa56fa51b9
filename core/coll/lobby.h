/* core/coll/lobby.h: where the members of a team to be find each other, when all they share is a number: each knows its own
 * place in the team and nobody else's PE. Not the team itself (split.h). */
#ifndef IST_COLL_LOBBY_H
#define IST_COLL_LOBBY_H

#include "core/base/status.h"
#include "core/team/team.h"

/* A number for one team, made on this PE; never 0. LIMIT: too many that have not been used. */
isthmus_status ist_lobby_new_id(uint64_t *id);

/* Collective over the n PEs that pass this id, each with its own place 0 to n - 1, and nobody else: a team of them, in that order. Threads of
 * a PE may make several at once, in any order. INVALID, on all of them: the id is none or was used, or places and n do not fit together. */
isthmus_status ist_lobby_make_team(uint64_t id, int n, int place, const struct ist_team_options *options,
                                   struct ist_team **out, const char *routine);

void ist_lobby_init(void); /* at init: the symmetric heap is new */

#endif

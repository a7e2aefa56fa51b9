/* core/coll/split.h: making and ending teams: collective, because members agree on where the team's flags lie.
 * Not what a team is (team/team.h). Handles of the APIs are a team's index, which is the same on all its members. */
#ifndef IST_COLL_SPLIT_H
#define IST_COLL_SPLIT_H

#include "core/base/recorder.h"
#include "core/team/team.h"

/* What a floor above keeps for every team. All run on each member: `clear` before any member uses what belongs to the
 * index, `made` when all have the team, as a collective of it, `ends` before any member gives it up. */
struct ist_team_listener {
    void (*clear)(int index, const char *routine);
    void (*made)(struct ist_team *team, const char *routine);
    void (*ends)(const struct ist_team *team, const char *routine);
};
/* Registers the one listener, which stays valid. Called at start. */
void ist_team_listen(const struct ist_team_listener *listener);

/* Collective over parent: PEs start, start + stride, ... of it, `size` of them. *out is NULL on PEs that are not
 * members. The result is the same on all PEs of the parent; on an error *out is NULL everywhere (parent NULL, a triplet
 * that leaves the parent, too many live teams). Never ends the job. */
isthmus_status ist_team_split_strided(struct ist_team *parent, int start, int stride, int size,
                                      const struct ist_team_options *options, struct ist_team **out,
                                      const char *routine);

/* Rows and columns of the parent laid out xrange PEs wide. */
isthmus_status ist_team_split_2d(struct ist_team *parent, int xrange, const struct ist_team_options *x_options,
                                 struct ist_team **x_out, const struct ist_team_options *y_options,
                                 struct ist_team **y_out, const char *routine);

/* Collective over the team. NULL is ignored; a predefined team ends the job with a message. */
void ist_team_destroy(struct ist_team *team, const char *routine);

/* A collective on an active set of the world (deprecated forms) lies between begin and end, and works on `team`: the
 * set's team, made on first use with the help of pSync and kept until finalize, or one for this call only, whose flags
 * lie in pSync. begin ends the job if the set (PE_start, logPE_stride, PE_size) is wrong or this PE is not in it. */
struct ist_active_set {
    struct ist_team *team, in_psync;
    struct ist_profile_call profiled;
};
void ist_active_set_begin(struct ist_active_set *call, const int triplet[3], long *pSync, const char *routine);
void ist_active_set_end(struct ist_active_set *call, const char *routine);
void ist_active_sets_init(void); /* at init: there are no teams yet */

/* For programs that were compiled with another library's header (compat/), where pSync has another size and another
 * first value: makes the team of this set, if it has none yet, with the help of one word of pSync. The collective that
 * follows finds the team, and leaves pSync alone. Ends the job if the set is wrong, or if no index is left for it. */
__attribute__((visibility("default"))) void isthmus_active_set_v1(const int triplet[3], long *pSync, long first_value,
                                                                  const char *routine);

/* For active sets, collective over the members of *team: registers it at an index that is free on all of them, with the
 * help of pSync, IST_TEAM_AREA_BYTES of symmetric memory that are 0 on all of them, and 0 again on return. If a member
 * has none or no room, *team is deleted and becomes *provisional, which has its flags in pSync, until
 * ist_sync_and_clear. */
isthmus_status ist_team_settle_set(struct ist_team **team, bool has_room, void *pSync, struct ist_team *provisional,
                                   const char *routine);

/* Steps of every new team, on each of its members: before any of them uses what belongs to the index, and when all have
 * the team. */
void ist_team_clear(const struct ist_team *team, int index, const char *routine);
void ist_team_made(struct ist_team *team, const char *routine);

/* ---- teams of PEs that share only a number (lobby.c) ----
 * Each member has its own place in the team and does not have the PEs of the others. So they find each other in
 * symmetric memory and not through the bootstrap, which gets what a known PE has published. */

/* A number for one team, made on this PE; never 0. LIMIT: too many unused ones. */
isthmus_status ist_lobby_new_id(uint64_t *id);

/* Collective over the n PEs that pass this id, each with its own place 0 to n - 1, and no other: makes a team of them,
 * in that order. Threads of a PE may make several at once, in any order. Returns INVALID on all of them if the id is
 * invalid or was used, or if places and n do not match. */
isthmus_status ist_lobby_make_team(uint64_t id, int n, int place, const struct ist_team_options *options,
                                   struct ist_team **out, const char *routine);

void ist_lobby_init(void); /* at init: the symmetric heap is new */

#endif

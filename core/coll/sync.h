/* core/coll/sync.h: meetings of a team: sync, and the barrier that is quiet and sync.
 * Not data collectives (coll.h). The algorithms are one file each: sync_dissemination.c, sync_hosts.c,
 * sync_central.c; select.c chooses. */
#ifndef IST_COLL_SYNC_H
#define IST_COLL_SYNC_H

#include "core/base/config.h"
#include "core/base/note.h"
#include "core/ctx/ctx.h"
#include "core/team/hosts.h"

void ist_sync_init(const struct ist_config *config);

/* What every collective routine begins with: waits inside it are told by its name and number. */
static inline void ist_collective_begin(struct ist_team *team, const char *routine)
{
    ist_collective_now = (struct ist_collective){routine, team->index, ++team->n_collectives};
}

/* Returns when all members have called it; the caller's earlier stores are visible to them then. */
void ist_sync(struct ist_team *team, const char *routine);

/* The same as a call of the program: with ISTHMUS_CHECK all members must be in the same routine. INVALID, and with
 * ISTHMUS_CHECK the end of the job: the team is NULL. */
isthmus_status ist_meet(struct ist_team *team, const char *routine);

/* Quiet on the default context, then a meeting of the team; of the world. */
isthmus_status ist_barrier(struct ist_team *team, const char *routine);
void ist_barrier_all(const char *routine);

/* What every collective does with a handle that is no live team's. */
isthmus_status ist_refuse_team(const char *routine) IST_COLD;

/* All members meet on `area`, apart from the team's own meetings: `sequence` counts those on that area. With few peers for
 * each PE, where it takes connections to reach them: for meetings that are rare. */
void ist_sync_rarely(struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine);

/* The one PE of the world to which this PE begins a connection there; -1: none, others begin one to it. */
int ist_sync_rarely_towards(struct ist_team *team, const char *routine);

/* Between hosts: returns when that connection is used, and those that others begin to this PE are. Who left before, because the
 * program does nothing, would not be there for them. Once on an area. */
void ist_sync_rarely_link(struct ist_team *team, struct ist_sync_area *area, const char *routine);

/* For whoever looks around from a wait that lasts: is this thread waiting in a meeting, and in which routine? */
const char *ist_sync_routine(void); /* NULL: it is not */

/* ---- the algorithms ---- */

void ist_sync_dissemination(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence,
                            const char *routine);
/* Of a team whose hosts matter (choose.h); it counts by itself. `rare` not NULL: the leaders meet there, as a tree. */
struct ist_rare_meeting {
    struct ist_sync_area *area;
    uint64_t sequence;
};
void ist_sync_hosts(struct ist_team *team, const struct ist_hosts *hosts, const struct ist_rare_meeting *rare,
                    const char *routine);
void ist_sync_central(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine);
static inline int ist_sync_tree_parent(int pe) { return (pe - 1) / 2; }
void ist_sync_tree_up(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine);
void ist_sync_tree(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine);

/* Of a team that is not aliased, as the last thing on its area: all members meet, and leave the area full of zeroes, so that the
 * same memory may serve them again at once, with sequences from the start. */
void ist_sync_and_clear(const struct ist_team *team, const char *routine);

/* The two halves of a central meeting; the last one to arrive may do something for all in between. */
struct ist_central {
    uint64_t *release, sequence;
};
bool ist_central_arrive(const struct ist_team *team, struct ist_meeting_point *point, uint64_t sequence,
                        struct ist_central *central, const char *routine); /* true: this PE is the last one */
void ist_central_leave(const struct ist_central *central, bool is_last);

#endif

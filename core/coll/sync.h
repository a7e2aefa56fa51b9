/* core/coll/sync.h: synchronisation of a team: sync, and the barrier, which is quiet and sync.
 * Not data collectives (coll.h). The algorithms are in sync_algorithms.c; sync.c chooses. */
#ifndef IST_COLL_SYNC_H
#define IST_COLL_SYNC_H

#include "core/base/config.h"
#include "core/base/note.h"
#include "core/ctx/ctx.h"
#include "core/ops/transfer.h"
#include "core/team/team.h"

void ist_sync_init(const struct ist_config *config);

/* What every collective routine begins with: waits inside it are reported by its name and number. */
static inline void ist_collective_begin(struct ist_team *team, const char *routine)
{
    ist_collective_now = (struct ist_collective){routine, team->index, ++team->n_collectives};
}

/* Returns when all members have called it; the caller's earlier stores are visible to them then. */
void ist_sync(struct ist_team *team, const char *routine);

/* The same as a call of the program: with ISTHMUS_CHECK all members must be in the same routine. Returns INVALID, or
 * with ISTHMUS_CHECK ends the job, if the team is NULL. */
isthmus_status ist_meet(struct ist_team *team, const char *routine);

/* Quiet on the default context, then a sync of the team; of the world. */
isthmus_status ist_barrier(struct ist_team *team, const char *routine);
void ist_barrier_all(const char *routine);

/* How every collective handles a handle that is no live team's. */
isthmus_status ist_refuse_team(const char *routine) IST_COLD;

/* All members synchronise on `area`, apart from the team's own synchronisations: `sequence` counts those on that area.
 * With few peers for each PE if reaching them takes connections: for rare synchronisations. */
void ist_sync_rarely(struct ist_team *team, struct ist_sync_area *area, uint64_t sequence, const char *routine);

/* Returns the one PE of the world to which this PE begins a connection there, or -1 if the others begin theirs to
 * it. */
int ist_sync_rarely_towards(struct ist_team *team, const char *routine);

/* Between hosts: returns when that connection and those that others begin to this PE have been used. A PE that left
 * earlier, because the program does nothing, would not accept them. Once on an area. */
void ist_sync_rarely_link(struct ist_team *team, struct ist_sync_area *area, const char *routine);

/* For checks during a long wait: the routine in whose barrier or sync this thread waits. */
static inline const char *ist_sync_routine(void) { return ist_sync_now; } /* NULL if in none */

/* ---- the algorithms ---- */

void ist_sync_dissemination(const struct ist_team *team, struct ist_sync_area *area, uint64_t sequence,
                            const char *routine);
/* Of a team whose hosts matter (cost.h); it counts by itself. `rare` not NULL: the leaders synchronise there, as a
 * tree. */
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

/* Of a team that is not aliased, as the last thing on its area: all members synchronise, and leave the area full of
 * zeroes, so that the same memory may serve them again at once, with sequences from the start. */
void ist_sync_and_clear(const struct ist_team *team, const char *routine);

/* The two halves of a central synchronisation; the last one to arrive may do something for all in between. */
struct ist_central {
    uint64_t *release, sequence;
};
bool ist_central_arrive(const struct ist_team *team, struct ist_meeting_point *point, uint64_t sequence,
                        struct ist_central *central, const char *routine); /* true if this PE is the last one */
void ist_central_leave(const struct ist_central *central, bool is_last);

/* ---- ISTHMUS_CHECK=1: all members of a team call the same routine with the same arguments (same_call.c) ----
 * Every collective of the APIs begins with one comparison, so that the first one that differs is found. */

/* An argument beside those of the transfer that must be the same on all PEs; without a name: there is none. */
enum { IST_SAME_ARGUMENTS = 3 };
struct ist_same_argument {
    const char *name;
    int64_t value;
};

/* Compares routine, dest and source as places in symmetric memory, length, and the other arguments, which may be NULL.
 * Ends the job with a message that names the PEs and their routines, or the PEs and their arguments. */
void ist_check_same_call(const struct ist_transfer *call, const struct ist_same_argument others[IST_SAME_ARGUMENTS])
    IST_COLD;

#endif

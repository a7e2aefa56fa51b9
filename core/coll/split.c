/* core/coll/split.c: see split.h.
 * A team's flags lie at the offset that its index gives, so the members need an index that is free on all of them: each
 * proposes its lowest free one, the highest proposal is tried next, until all propose the same. The parent's flags
 * carry that; where there is no parent, memory that the program hands over does. */
#include "core/coll/split.h"

#include "core/base/fatal.h"
#include "core/base/log.h"
#include "core/base/recorder.h"
#include "core/coll/algorithms.h"
#include "core/coll/sync.h"
#include "core/ctx/ctx.h"
#include "core/ops/order.h"
#include "core/ops/target.h"

#include <stdlib.h>
#include <string.h>

static const struct ist_team_listener *listener;

void ist_team_listen(const struct ist_team_listener *one) { listener = one; }

void ist_team_clear(const struct ist_team *team, int index, const char *routine)
{
    ist_team_clear_memory(team, index);
    if (listener != NULL) listener->clear(index, routine);
}

void ist_team_made(struct ist_team *team, const char *routine)
{
    if (listener != NULL) listener->made(team, routine);
}

/* A PE's input to the search for an index. */
enum part { NO_MEMBER, MEMBER, MEMBER_WITHOUT_ROOM };

/* Splits of several threads that have reserved one index on different PEs continue at different distances from it, so
 * that they do not collide again at the next one. */
static int distance_after_collision(const struct ist_team *meeting, uint32_t n_collisions)
{
    enum { SPREAD_BITS = 3 };
    return 1 + (int)((((uint32_t)meeting->index * 31 + n_collisions) * 0x9e3779b1u) >> (32 - SPREAD_BITS));
}

/* Returns an index that is free on all PEs of `meeting` that will be members, and reserves it there; the others only
 * join the search. Returns -1 if live teams fill the table of a member, or are at every index on one member or another:
 * that is certain after a round in which no other thread has made or ended a team. */
static int agree_on_index(struct ist_team *meeting, enum part part, const char *routine)
{
    enum { NONE = 1 << 30 };
    int from = IST_TEAMS_PREDEFINED;
    uint32_t n_collisions = 0, n_before = 0, n_changes = ist_team_changes(); /* n_before: until this round */
    for (;;) {
        int lowest = part == MEMBER ? ist_team_free_index(from) : part == NO_MEMBER ? from : -1;
        int index = (int)ist_doubling_max(meeting, lowest >= 0 ? (uint64_t)lowest : NONE, routine);
        if (index == NONE) {
            bool has_changed = n_collisions != n_before || n_changes != ist_team_changes();
            if (from == IST_TEAMS_PREDEFINED || ist_doubling_max(meeting, has_changed, routine) == 0) return -1;
            from = IST_TEAMS_PREDEFINED;
            n_before = n_collisions;
            n_changes = ist_team_changes();
            continue;
        }
        enum ist_team_place here = part == MEMBER ? ist_team_reserve(index) : IST_TEAM_FREE;
        enum ist_team_place worst = (enum ist_team_place)ist_doubling_max(meeting, here, routine);
        if (worst == IST_TEAM_FREE) return index;
        if (part == MEMBER && here == IST_TEAM_FREE) ist_team_unreserve(index);
        from = index + (worst == IST_TEAM_RESERVED ? distance_after_collision(meeting, ++n_collisions) : 1);
    }
}

/* Called by all of `meeting` after they have agreed on an index; -1: there is none. */
static isthmus_status settle(struct ist_team *meeting, struct ist_team *mine, int index, isthmus_status status,
                             const char *routine)
{
    if (index < 0 && status == ISTHMUS_OK)
        status = ist_fail(
            ISTHMUS_ERR_LIMIT,
            "%s: a PE of the team has ISTHMUS_TEAMS_MAX (%u) live teams; destroy some, or raise that limit", routine,
            ist_team_limit);
    bool all_well = ist_doubling_max(meeting, status != ISTHMUS_OK, routine) == 0;
    if (mine != NULL && all_well) {
        ist_team_clear(mine, index, routine);
        ist_team_register(mine, index);
        if (ist_check_on) mine->made_by = ist_caller();
    }
    ist_sync(meeting, routine); /* no member uses the flags before all have cleared them */
    if (mine != NULL && all_well) ist_team_made(mine, routine);
    if (all_well) return ISTHMUS_OK;
    if (mine != NULL && index >= 0) ist_team_unreserve(index);
    if (mine != NULL) ist_team_delete(mine);
    return status != ISTHMUS_OK
               ? status
               : ist_fail(ISTHMUS_ERR_NO_MEMORY, "%s: another PE cannot make the team; its ISTHMUS_LOG=info prints why",
                          routine);
}

/* Called by all of `meeting`; `mine` is the team that this PE will be in, NULL if in none. All get the same result. */
static isthmus_status establish(struct ist_team *meeting, struct ist_team *mine, isthmus_status status,
                                const char *routine)
{
    ist_check_enter(); /* the flags of `meeting` may lie in memory of the program */
    int index = agree_on_index(meeting, mine != NULL ? MEMBER : NO_MEMBER, routine);
    status = settle(meeting, mine, index, status, routine);
    ist_check_leave();
    return status;
}

static struct ist_team_options options_of(const struct ist_team_options *options)
{
    return options != NULL ? *options : (struct ist_team_options){0};
}

/* Members start + i * stride of the parent. */
static isthmus_status new_strided(const struct ist_team *parent, int start, int stride, int size,
                                  const struct ist_team_options *options, struct ist_team **out)
{
    isthmus_status status;
    if (parent->list == NULL) {
        status = ist_team_new(size, parent->start + start * parent->stride, stride * parent->stride, NULL, out);
    } else {
        int *list = malloc((size_t)size * sizeof *list);
        for (int i = 0; list != NULL && i < size; i++) list[i] = parent->list[start + i * stride];
        status = list != NULL ? ist_team_new(size, 0, 1, list, out) : ist_fail_memory("a team of %d PEs", size);
        free(list);
    }
    if (status == ISTHMUS_OK) (*out)->options = options_of(options);
    return status;
}

/* -1 if the PE is not among start, start + stride, ... */
static int number_in(int pe, int start, int stride, int size)
{
    int distance = pe - start;
    if (stride == 0) return distance == 0 ? 0 : -1;
    int number = distance / stride;
    return number * stride == distance && number >= 0 && number < size ? number : -1;
}

static bool is_valid_triplet(const struct ist_team *parent, int start, int stride, int size)
{
    if (size < 1 || size > parent->n_pes || start < 0 || start >= parent->n_pes || (stride == 0 && size > 1))
        return false;
    long last = start + (long)(size - 1) * stride;
    return last >= 0 && last < parent->n_pes;
}

isthmus_status ist_team_split_strided(struct ist_team *parent, int start, int stride, int size,
                                      const struct ist_team_options *options, struct ist_team **out,
                                      const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    *out = NULL;
    ist_require_ctx(&ist_ctx_default, routine);
    if (parent == NULL)
        return ist_fail(ISTHMUS_ERR_INVALID, "%s: parent_team is invalid; valid: a live team that this PE is in",
                        routine);
    ist_collective_begin(parent, routine);
    if (ist_check_on)
        ist_check_same_call(
            &(struct ist_transfer){.routine = routine, .team = parent},
            (const struct ist_same_argument[IST_SAME_ARGUMENTS]){{"start", start}, {"stride", stride}, {"size", size}});
    if (!is_valid_triplet(parent, start, stride, size))
        return ist_fail(ISTHMUS_ERR_INVALID,
                        "%s: PEs %d to %ld in steps of %d are not all in the parent team; valid: 0 to %d", routine,
                        start, start + ((long)size - 1) * stride, stride, parent->n_pes - 1);
    if (size == 1) stride = 1;
    struct ist_team *mine = NULL;
    isthmus_status status = ISTHMUS_OK;
    if (number_in(parent->my_pe, start, stride, size) >= 0)
        status = new_strided(parent, start, stride, size, options, &mine);
    status = establish(parent, mine, status, routine);
    if (status == ISTHMUS_OK) *out = mine;
    return status;
}

isthmus_status ist_team_split_2d(struct ist_team *parent, int xrange, const struct ist_team_options *x_options,
                                 struct ist_team **x_out, const struct ist_team_options *y_options,
                                 struct ist_team **y_out, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    *x_out = *y_out = NULL;
    ist_require_ctx(&ist_ctx_default, routine);
    if (parent == NULL)
        return ist_fail(ISTHMUS_ERR_INVALID, "%s: parent_team is invalid; valid: a live team that this PE is in",
                        routine);
    ist_collective_begin(parent, routine);
    if (ist_check_on)
        ist_check_same_call(&(struct ist_transfer){.routine = routine, .team = parent},
                            (const struct ist_same_argument[IST_SAME_ARGUMENTS]){{"xrange", xrange}});
    if (xrange < 1) return ist_fail(ISTHMUS_ERR_INVALID, "%s: xrange is %d; valid: 1 and more", routine, xrange);
    int n = parent->n_pes, width = xrange < n ? xrange : n;
    int x = parent->my_pe % width, y = parent->my_pe / width;
    int row_size = n - y * width < width ? n - y * width : width;
    int column_size = (n - x + width - 1) / width;
    struct ist_team *row = NULL, *column = NULL;

    isthmus_status status = new_strided(parent, y * width, 1, row_size, x_options, &row);
    status = establish(parent, row, status, routine);
    if (status != ISTHMUS_OK) return status;
    status = new_strided(parent, x, column_size > 1 ? width : 1, column_size, y_options, &column);
    status = establish(parent, column, status, routine);
    if (status != ISTHMUS_OK) {
        ist_team_delete(row);
        return status;
    }
    *x_out = row;
    *y_out = column;
    return ISTHMUS_OK;
}

/* The same members, for as long as their flags lie in `meeting`. */
static struct ist_team provisional_of(const struct ist_team *team, void *meeting)
{
    struct ist_team provisional = *team;
    provisional.area = meeting;
    provisional.index = -1;
    provisional.is_aliased = false; /* every PE waits on memory of its own only */
    return provisional;
}

isthmus_status ist_team_settle_set(struct ist_team **team, bool has_room, void *pSync, struct ist_team *provisional,
                                   const char *routine)
{
    isthmus_status status = ISTHMUS_OK;
    ist_require_symmetric(routine, "pSync", pSync, IST_TEAM_AREA_BYTES, sizeof(long));
    *provisional = provisional_of(*team, pSync);
    ist_check_enter(); /* pSync is the program's */
    int index = agree_on_index(provisional, has_room ? MEMBER : MEMBER_WITHOUT_ROOM, routine);
    if (index >= 0) {
        status = settle(provisional, *team, index, status, routine);
        /* The synchronisation at the end of settle() has waited for all writes of other PEs here, and no PE reads
         * it. */
        memset(pSync, 0, IST_TEAM_AREA_BYTES);
    } else {
        ist_team_delete(*team);
        *team = provisional;
    }
    ist_check_leave();
    return status;
}

/* ---- the end ---- */

void ist_team_destroy(struct ist_team *team, const char *routine)
{
    IST_PROFILE_SCOPE const struct ist_profile_call profiled = ist_profile_begin(routine);
    ist_require_ctx(&ist_ctx_default, routine);
    if (team == NULL) return;
    if (team->index < IST_TEAMS_PREDEFINED)
        ist_misuse(routine,
                   "team is a predefined one, which lives until finalize; valid: a team that the program has made");
    ist_collective_begin(team, routine);
    if (ist_check_on) ist_check_same_call(&(struct ist_transfer){.routine = routine, .team = team}, NULL);
    for (ist_ctx *ctx; (ctx = ist_ctx_of_team(team)) != NULL;) {
        ist_quiet(ctx, routine);
        ist_ctx_destroy(ctx);
    }
    if (listener != NULL) listener->ends(team, routine);
    /* By messages: once they have arrived no PE reads this PE's flags, which the next team may clear. */
    if (team->n_pes > 1) ist_sync_dissemination(team, &team->area->sync, ++team->sync_sequence, routine);
    ist_team_delete(team);
}

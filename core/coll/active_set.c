/* core/coll/active_set.c: the deprecated sets of PEs (start, log2 of the stride, size) as teams.
 * A set's first collective makes a team with the help of pSync, which then has its first value again; later ones find
 * the team and leave pSync alone. Its members agree on an index of the table of teams, of which all sets together take
 * half at most; a set whose members have no common index left runs each collective on the flags in pSync, however many
 * such sets there are. No set is ever dropped for another: no member knows whether all others are done with it.
 * In memory of a device, and where it is short, pSync only carries a number, by which the members find each other in
 * the lobby. */
#include "core/base/fatal.h"
#include "core/coll/split.h"
#include "core/coll/sync.h"
#include "core/ops/checker.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"
#include "core/sync/wait.h"

#include <string.h>

struct set {
    int start, stride, size; /* a set of one PE has stride 1 */
};

/* The sets that have a team: indices of the table of teams, 0 for none. Only added to. */
enum { SLOTS = 1024, SETS_MOST = SLOTS / 2 };
static uint32_t slots[SLOTS], n_sets;

void ist_active_sets_init(void)
{
    memset(slots, 0, sizeof slots);
    n_sets = 0;
}

static uint32_t hash_of(const struct set *set)
{
    uint32_t mixed = (uint32_t)set->start * 0x9e3779b1u ^ (uint32_t)set->size * 0x85ebca77u ^ (uint32_t)set->stride;
    return mixed ^ mixed >> 15;
}

static bool is_team_of(const struct ist_team *team, const struct set *set)
{
    return team->start == set->start && team->n_pes == set->size && team->stride == set->stride;
}

static struct ist_team *find(const struct set *set)
{
    uint32_t at = hash_of(set);
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t index = ist_load_acquire(&slots[(at + i) % SLOTS]); /* acquire: pairs with the release in remember() */
        if (index == 0) return NULL;
        if (is_team_of(ist_team_table[index], set)) return ist_team_table[index];
    }
    return NULL;
}

static void remember(const struct set *set, struct ist_team *team)
{
    uint32_t at = hash_of(set), none = 0;
    __atomic_fetch_add(&n_sets, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < SLOTS; i++, none = 0) { /* release: the team is complete for other threads */
        uint32_t *slot = &slots[(at + i) % SLOTS];
        if (__atomic_compare_exchange_n(slot, &none, (uint32_t)team->index, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return;
    }
}

/* Returns true if one more set may take an index. Half of them are kept for the teams that the program makes. */
static bool has_room(void)
{
    uint32_t half = (ist_team_limit - IST_TEAMS_PREDEFINED) / 2;
    return ist_load_relaxed(&n_sets) < (half < SETS_MOST ? half : SETS_MOST);
}

/* ---- by one word of pSync: in memory of a device, or in a program whose pSync is short ---- */

/* From the first member to the others, which give pSync its first value back. */
static uint64_t pass_number(const struct set *set, long *pSync, long first_value, const char *routine)
{
    uint64_t number = 0;
    ist_check_enter(); /* pSync is the program's */
    if (set->start != ist_team_world.my_pe) {
        number = ist_wait_behind_anywhere(pSync, IST_CMP_NE, (uint64_t)first_value, sizeof *pSync, false, -1, routine);
        ist_copy_here(pSync, &first_value, sizeof *pSync, routine);
    } else {
        isthmus_status status = ist_lobby_new_id(&number);
        if (status != ISTHMUS_OK) ist_die(routine, status);
        for (int i = 1; i < set->size; i++)
            ist_p(&ist_ctx_default, pSync, number, sizeof *pSync, set->start + i * set->stride, routine);
    }
    ist_check_leave();
    return number;
}

static isthmus_status make_by_number(const struct set *set, long *pSync, long first_value, struct ist_team **out,
                                     const char *routine)
{
    uint64_t number = pass_number(set, pSync, first_value, routine);
    int place = (ist_team_world.my_pe - set->start) / set->stride;
    isthmus_status status = ist_lobby_make_team(number, set->size, place, NULL, out, routine);
    if (status == ISTHMUS_OK) (*out)->is_active_set = true;
    return status;
}

/* ---- a collective on a set ---- */

/* Out: the set's team, or provisional where a member has no index for it. */
static struct ist_team *make(const struct set *set, long *pSync, struct ist_team *provisional, const char *routine)
{
    struct ist_team *team;
    isthmus_status status;
    if (ist_is_on_device(pSync)) {
        ist_require_symmetric(routine, "pSync", pSync, IST_TEAM_AREA_BYTES, sizeof *pSync);
        status = make_by_number(set, pSync, 0 /* SHMEM_SYNC_VALUE */, &team, routine);
    } else {
        status = ist_team_new(set->size, set->start, set->stride, NULL, &team);
        if (status == ISTHMUS_OK) {
            team->is_active_set = true;
            status = ist_team_settle_set(&team, has_room(), pSync, provisional, routine);
        }
    }
    if (status != ISTHMUS_OK) ist_die(routine, status);
    if (team != provisional) remember(set, team);
    return team;
}

static void require_set(int start, int log2_stride, int size, const char *routine)
{
    ist_require_ctx(&ist_ctx_default, routine);
    int n = ist_team_world.n_pes, me = ist_team_world.my_pe;
    if (start < 0 || start >= n) ist_misuse(routine, "PE_start is %d; valid: 0 to %d", start, n - 1);
    if (log2_stride < 0 || log2_stride > 30) ist_misuse(routine, "logPE_stride is %d; valid: 0 to 30", log2_stride);
    int stride = 1 << log2_stride;
    if (size < 1 || (size - 1) > (n - 1 - start) / stride)
        ist_misuse(routine, "PE_size is %d; valid: 1 to %d, so that PE %d + i * %d stays below %d", size,
                   (n - 1 - start) / stride + 1, start, stride, n);
    if (me < start || (me - start) % stride != 0 || (me - start) / stride >= size)
        ist_misuse(
            routine,
            "PE %d is not in the active set of %d PEs from %d in steps of %d; valid: a call by the PEs of the set only",
            me, size, start, stride);
}

void isthmus_active_set_v1(const int triplet[3], long *pSync, long first_value, const char *routine)
{
    require_set(triplet[0], triplet[1], triplet[2], routine);
    struct ist_team *team;
    struct set set = {triplet[0], triplet[2] > 1 ? 1 << triplet[1] : 1, triplet[2]};
    if (find(&set) != NULL) return;
    ist_require_symmetric(routine, "pSync", pSync, sizeof *pSync, sizeof *pSync);
    isthmus_status status = make_by_number(&set, pSync, first_value, &team, routine);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    remember(&set, team);
}

void ist_active_set_begin(struct ist_active_set *call, const int triplet[3], long *pSync, const char *routine)
{
    call->profiled = ist_profile_begin(routine);
    require_set(triplet[0], triplet[1], triplet[2], routine);
    struct set set = {triplet[0], triplet[2] > 1 ? 1 << triplet[1] : 1, triplet[2]};
    call->team = find(&set);
    if (call->team == NULL) call->team = make(&set, pSync, &call->in_psync, routine);
    if (call->team == &call->in_psync) ist_check_enter(); /* pSync is the program's */
}

void ist_active_set_end(struct ist_active_set *call, const char *routine)
{
    if (IST_UNLIKELY(call->team == &call->in_psync)) {
        ist_sync_and_clear(call->team, routine);
        ist_check_leave();
    }
    ist_profile_end(&call->profiled);
}

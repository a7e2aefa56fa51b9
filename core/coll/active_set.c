/* core/coll/active_set.c: the deprecated sets of PEs (start, log2 of the stride, size) as teams.
 * A set's first collective makes a team with the help of pSync, which then has its first value again; later ones find the
 * team and leave pSync alone. In memory of a device pSync only carries a number, by which the set meets in the lobby. */
#include "core/base/fatal.h"
#include "core/check/check.h"
#include "core/coll/lobby.h"
#include "core/coll/split.h"
#include "core/ops/operand.h"
#include "core/ops/rma.h"
#include "core/ops/target.h"
#include "core/sync/wait.h"

#include <stdlib.h>

/* The sets used last; checked against the table of teams, so that finalize need not clear it. */
enum { N_RECENT = 8 };
static _Thread_local struct {
    int index[N_RECENT];
    unsigned next;
} recent __attribute__((tls_model("initial-exec")));

static bool is_set(const struct ist_team *team, int start, int stride, int size)
{
    return team != NULL && team->is_active_set && team->start == start && team->n_pes == size &&
           (size == 1 || team->stride == stride);
}

static struct ist_team *find(int start, int stride, int size)
{
    for (int i = 0; i < N_RECENT; i++) {
        uint32_t index = (uint32_t)recent.index[i];
        if (index < ist_team_limit && is_set(ist_team_table[index], start, stride, size)) return ist_team_table[index];
    }
    for (uint32_t i = IST_TEAMS_PREDEFINED; i < ist_team_limit; i++) {
        if (!is_set(ist_team_table[i], start, stride, size)) continue;
        recent.index[recent.next++ % N_RECENT] = (int)i;
        return ist_team_table[i];
    }
    return NULL;
}

/* From the first member to the others, who give pSync its first value back. */
static uint64_t pass_number(const int *members, int size, long *pSync, const char *routine)
{
    uint64_t number = 0;
    const long first_value = 0; /* SHMEM_SYNC_VALUE */
    ist_require_symmetric(routine, "pSync", pSync, IST_TEAM_AREA_BYTES, sizeof *pSync);
    ist_check_enter(); /* pSync is the program's */
    if (members[0] != ist_team_world.my_pe) {
        number = ist_wait_behind_anywhere(pSync, IST_CMP_NE, (uint64_t)first_value, sizeof *pSync, false, -1, routine);
        ist_copy_here(pSync, &first_value, sizeof *pSync, routine);
    } else {
        isthmus_status status = ist_lobby_new_id(&number);
        if (status != ISTHMUS_OK) ist_die(routine, status);
        for (int i = 1; i < size; i++) ist_p(&ist_ctx_default, pSync, number, sizeof *pSync, members[i], routine);
    }
    ist_check_leave();
    return number;
}

static int place_of(const int *members, int size)
{
    int place = 0;
    while (place < size - 1 && members[place] != ist_team_world.my_pe) place++;
    return place;
}

static isthmus_status make_by_number(const int *members, int size, long *pSync, struct ist_team **out,
                                     const char *routine)
{
    uint64_t number = pass_number(members, size, pSync, routine);
    return ist_lobby_make_team(number, size, place_of(members, size), NULL, out, routine);
}

static struct ist_team *make(int start, int stride, int size, long *pSync, const char *routine)
{
    struct ist_team *team;
    int *members = malloc((size_t)size * sizeof *members);
    if (members == NULL) ist_die(routine, ist_fail(ISTHMUS_ERR_NO_MEMORY, "no memory for a set of %d PEs", size));
    for (int i = 0; i < size; i++) members[i] = start + i * stride;
    isthmus_status status = ist_is_on_device(pSync) ? make_by_number(members, size, pSync, &team, routine)
                                                    : ist_team_make(members, size, pSync, NULL, &team, routine);
    free(members);
    if (status != ISTHMUS_OK) ist_die(routine, status);
    team->is_active_set = true;
    return team;
}

struct ist_team *ist_team_of_active_set(int start, int log2_stride, int size, long *pSync, const char *routine)
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
        ist_misuse(routine, "PE %d is not in the active set of %d PEs from %d in steps of %d; only its PEs call", me,
                   size, start, stride);
    struct ist_team *team = find(start, stride, size);
    return team != NULL ? team : make(start, stride, size, pSync, routine);
}

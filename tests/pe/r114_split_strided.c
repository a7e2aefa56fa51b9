/* R114: every small triplet: members, their numbers, the result on all PEs of the parent; invalid ones change
 * nothing. */
#include "teams.h"

#include <limits.h>
#include <stdbool.h>

static bool is_valid(int n, int start, int stride, int size)
{
    long last = start + (long)(size - 1) * stride;
    if (size < 1 || (stride == 0 && size != 1)) return false;
    return start >= 0 && start < n && last >= 0 && last < n;
}

/* The number of PE `member` of the parent in the new team; -1: none. */
static int number_in(int member, int start, int stride, int size)
{
    for (int i = 0; i < size; i++)
        if (start + i * stride == member) return i;
    return -1;
}

static void split(shmem_team_t parent, int start, int stride, int size)
{
    int n = shmem_team_n_pes(parent), me = shmem_team_my_pe(parent);
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int result = shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team);
    bool valid = is_valid(n, start, stride, size);
    int number = valid ? number_in(me, start, stride, size) : -1;
    if ((result == 0) != valid || (team != SHMEM_TEAM_INVALID) != (number >= 0))
        check_fail(__FILE__, __LINE__, "(%d, %d, %d) of %d PEs gives %d, %s handle", start, stride, size, n, result,
                   team == SHMEM_TEAM_INVALID ? "no" : "a");
    if (number < 0) return;
    CHECK_EQ(shmem_team_my_pe(team), number);
    CHECK_EQ(shmem_team_n_pes(team), size);
    for (int i = 0; i < size; i++) CHECK_EQ(shmem_team_translate_pe(team, i, parent), start + i * stride);
    shmem_team_destroy(team);
}

static void split_all(shmem_team_t parent)
{
    int n = shmem_team_n_pes(parent);
    for (int start = -1; start <= n; start++)
        for (int stride = -n; stride <= n; stride++)
            for (int size = 0; size <= n + 1; size++) split(parent, start, stride, size);
}

int main(void)
{
    pe_begin();
    shmem_team_t half = team_of_half(), team = SHMEM_TEAM_WORLD;
    split_all(SHMEM_TEAM_WORLD);
    split_all(half); /* both at the same time */
    shmem_team_destroy(half);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    split(SHMEM_TEAM_WORLD, INT_MAX, INT_MAX, INT_MAX); /* nothing overflows */
    split(SHMEM_TEAM_WORLD, 0, INT_MIN, INT_MAX);
    return pe_end();
}

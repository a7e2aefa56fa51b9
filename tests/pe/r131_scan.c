/* R131: prefix sums in the order of the team, with and without the PE's own element, in place and not; without: 0 on PE
 * 0. */
#include "teams.h"

#include <stdbool.h>

enum { MOST = 5000 };

static int64_t source[MOST], dest[MOST];
static double doubles[MOST];

static int64_t given(int member, size_t i) { return (int64_t)(member + 1) * 1000003 - (int64_t)i * 17; }

static int64_t expected(int members, size_t i)
{
    int64_t sum = 0;
    for (int member = 0; member < members; member++) sum += given(member, i);
    return sum;
}

static void scan_integers(shmem_team_t team, size_t nelems, bool in_place, bool is_inclusive)
{
    int me = shmem_team_my_pe(team);
    int64_t *result = in_place ? source : dest;
    for (size_t i = 0; i < MOST; i++) source[i] = given(me, i), dest[i] = -7;
    CHECK_EQ(shmem_team_sync(team), 0);
    if (is_inclusive)
        CHECK_EQ(shmem_int64_sum_inscan(team, result, source, nelems), 0);
    else
        CHECK_EQ(shmem_int64_sum_exscan(team, result, source, nelems), 0);
    for (size_t i = 0; i < nelems; i++) CHECK_EQ(result[i], expected(is_inclusive ? me + 1 : me, i));
    for (size_t i = nelems; i < MOST; i++) CHECK_EQ(result[i], in_place ? given(me, i) : -7);
    CHECK_EQ(shmem_team_sync(team), 0);
}

static void scan_doubles(shmem_team_t team, size_t nelems)
{
    int me = shmem_team_my_pe(team);
    for (size_t i = 0; i < nelems; i++) doubles[i] = (double)given(me, i);
    CHECK_EQ(shmem_team_sync(team), 0);
    CHECK_EQ(shmem_double_sum_exscan(team, doubles, doubles, nelems), 0);
    for (size_t i = 0; i < nelems; i++) CHECK(doubles[i] == (double)expected(me, i));
    CHECK_EQ(shmem_team_sync(team), 0);
}

static void scan_all(shmem_team_t team)
{
    static const size_t sizes[] = {0, 1, 7, 512, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int way = 0; way < 4; way++) scan_integers(team, sizes[i], way % 2 != 0, way / 2 != 0);
        scan_doubles(team, sizes[i]);
    }
}

int main(void)
{
    pe_begin();
    shmem_team_t backwards = team_backwards(), half = team_of_half();
    scan_all(SHMEM_TEAM_WORLD);
    scan_all(backwards);
    scan_all(half);
    shmem_team_destroy(half);
    shmem_team_destroy(backwards);
    return pe_end();
}

/* tests/unit/test_team.c: the numbers of a team's members, and their numbers in the world. */
#include "core/team/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORLD = 40 };

/* The definition, by a list: from_world must agree with it on every PE, and on numbers that no PE has. */
static void check_team(const struct ist_team *team, const int *members)
{
    for (int pe = 0; pe < team->n_pes; pe++) assert_int_equal(ist_team_to_world(team, pe), members[pe]);
    for (int world = -WORLD; world < 3 * WORLD; world++) {
        int expected = -1;
        for (int pe = 0; pe < team->n_pes; pe++)
            if (members[pe] == world) expected = pe;
        assert_int_equal(ist_team_from_world(team, world), expected);
    }
    assert_int_equal(ist_team_from_world(team, INT32_MAX), -1);
    assert_int_equal(ist_team_from_world(team, INT32_MIN / 2), -1);
}

static void check_strided(int start, int stride, int n)
{
    int members[WORLD];
    for (int pe = 0; pe < n; pe++) members[pe] = start + pe * stride;
    const struct ist_team team = {.n_pes = n, .start = start, .stride = stride};
    check_team(&team, members);
}

static void every_strided_team_translates_both_ways(void **state)
{
    (void)state;
    for (int start = 0; start < WORLD; start += 3)
        for (int stride = 1; stride < 9; stride++)
            for (int n = 1; start + (n - 1) * stride < WORLD; n += 1 + n / 3) check_strided(start, stride, n);
}

static void strides_may_go_backwards(void **state)
{
    (void)state;
    check_strided(WORLD - 1, -1, WORLD);
    check_strided(WORLD - 1, -3, 10);
    check_strided(5, -5, 2);
}

/* shmem_team_split_strided takes any stride for a team of one. */
static void a_team_of_one_has_any_stride(void **state)
{
    (void)state;
    for (int stride = -3; stride <= 3; stride++) check_strided(7, stride, 1);
}

static void lists_translate_both_ways(void **state)
{
    (void)state;
    static const int members[] = {11, 3, 4, 39, 0, 17};
    const struct ist_team team = {.n_pes = 6, .list = members};
    check_team(&team, members);
    const struct ist_team one = {.n_pes = 1, .list = members};
    check_team(&one, members);
}

static void an_empty_team_has_no_member(void **state)
{
    (void)state;
    const struct ist_team strided = {.n_pes = 0, .stride = 1}, listed = {.n_pes = 0, .list = (const int[]){0}};
    for (int world = -1; world < WORLD; world++) {
        assert_int_equal(ist_team_from_world(&strided, world), -1);
        assert_int_equal(ist_team_from_world(&listed, world), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strided_team_translates_both_ways),
        cmocka_unit_test(strides_may_go_backwards),
        cmocka_unit_test(a_team_of_one_has_any_stride),
        cmocka_unit_test(lists_translate_both_ways),
        cmocka_unit_test(an_empty_team_has_no_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

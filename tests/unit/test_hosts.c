/* tests/unit/test_hosts.c: on which hosts the members of a team are, for placements of every kind. */
#include "core/team/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 12000 };

static int placement[MOST];

/* 'a' is number 0. */
static int place(const char *letters)
{
    int n = (int)strlen(letters);
    for (int pe = 0; pe < n; pe++) placement[pe] = letters[pe] - 'a';
    return n;
}

static struct ist_hosts *hosts_of(int n, int my_pe)
{
    struct ist_hosts *hosts = NULL;
    assert_int_equal(ist_hosts_new(placement, n, MOST, my_pe, &hosts), ISTHMUS_OK);
    return hosts;
}

/* The definition, from the placement alone, by a simple loop. */
static void check_member(const struct ist_hosts *hosts, int n, int pe)
{
    int before = 0, host = 0;
    for (int other = 0; other < pe; other++) before += placement[other] == placement[pe];
    for (int other = 0; other < n && placement[other] != placement[pe]; other++) {
        bool is_first = true;
        for (int earlier = 0; earlier < other; earlier++) is_first = is_first && placement[earlier] != placement[other];
        host += is_first;
    }
    assert_int_equal(hosts->host_of[pe], host);
    assert_int_equal(hosts->members[hosts->first[host] + before], pe);
}

static void check(const char *letters, int n_hosts, int least, bool are_blocks)
{
    int n = place(letters);
    for (int me = 0; me < n; me++) {
        struct ist_hosts *hosts = hosts_of(n, me);
        assert_int_equal(hosts->n_hosts, n_hosts);
        assert_int_equal(hosts->least, least);
        assert_int_equal(hosts->are_blocks, are_blocks);
        assert_int_equal(hosts->first[n_hosts], n);
        assert_int_equal(hosts->my_host, hosts->host_of[me]);
        assert_int_equal(hosts->members[hosts->first[hosts->my_host] + hosts->my_number], me);
        assert_int_equal(ist_hosts_leads(hosts), hosts->members[hosts->first[hosts->my_host]] == me);
        for (int pe = 0; pe < n; pe++) check_member(hosts, n, pe);
        ist_hosts_free(hosts);
    }
}

static void any_placement_is_found(void **state)
{
    (void)state;
    check("a", 1, 1, true);
    check("aaaa", 1, 4, true);
    check("aabb", 2, 2, true);
    check("abab", 2, 2, false);
    check("aaab", 2, 1, true);
    check("abbb", 2, 1, true);
    check("abcd", 4, 1, true);
    check("dcba", 4, 1, true);
    check("aabbcc", 3, 2, true);
    check("abcabc", 3, 2, false);
    check("abca", 3, 1, false);
    check("aabba", 2, 2, false);
    check("zzyyzx", 3, 1, false);
}

/* Any numbers: only their equality matters. */
static void numbers_of_hosts_are_the_teams_own(void **state)
{
    (void)state;
    check("lkk", 2, 1, true);
    check("bbxaa", 3, 1, true);
}

static void ten_thousand_members_are_found(void **state)
{
    (void)state;
    enum { HOSTS = 250, EACH = 40, N = HOSTS * EACH };
    for (int pe = 0; pe < N; pe++) placement[pe] = pe % HOSTS; /* in turn */
    struct ist_hosts *hosts = hosts_of(N, N - 1);
    assert_int_equal(hosts->n_hosts, HOSTS);
    assert_int_equal(hosts->least, EACH);
    assert_int_equal(hosts->my_number, EACH - 1);
    assert_false(hosts->are_blocks);
    for (int i = 0; i < N; i++) assert_int_equal(hosts->members[i], i / EACH + i % EACH * HOSTS);
    ist_hosts_free(hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_placement_is_found),
        cmocka_unit_test(numbers_of_hosts_are_the_teams_own),
        cmocka_unit_test(ten_thousand_members_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

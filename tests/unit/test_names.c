/* tests/unit/test_names.c: the nearest name, and when there is none. */
#include "core/base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const transports[] = {"loopback", "ib", "nvlink", "xelink", "tcp"};
#define N_TRANSPORTS (sizeof transports / sizeof *transports)

static const char *nearest(const char *name) { return ist_names_nearest(name, transports, N_TRANSPORTS); }

static void typing_mistakes_are_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("lopback"), "loopback");   /* left out */
    assert_string_equal(nearest("looopback"), "loopback"); /* doubled */
    assert_string_equal(nearest("loopbacl"), "loopback");  /* beside */
    assert_string_equal(nearest("olopbakc"), "loopback");  /* swapped twice: two edits, not four */
    assert_string_equal(nearest("nvlnik"), "nvlink");
    assert_string_equal(nearest("tpc"), "tcp"); /* one edit of three letters */
    assert_string_equal(nearest("ib"), "ib");
}

static void strangers_are_not(void **state)
{
    (void)state;
    assert_null(nearest("ucx"));
    assert_null(nearest("ic")); /* one edit of two letters: half the name */
    assert_null(nearest(""));
    assert_null(nearest("sharedmemory"));
}

static void the_first_of_equals_wins(void **state)
{
    (void)state;
    const char *const candidates[] = {"abcx", "abcy"};
    assert_string_equal(ist_names_nearest("abcz", candidates, 2), "abcx");
    assert_string_equal(ist_names_nearest("abcy", candidates, 2), "abcy");
}

static void no_candidates_and_endless_names(void **state)
{
    (void)state;
    char endless[4096];
    memset(endless, 'l', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    const char *const candidates[] = {endless, "", "loopback"};
    assert_null(ist_names_nearest("x", NULL, 0));
    assert_null(nearest(endless));
    assert_string_equal(ist_names_nearest("loopbak", candidates, 3), "loopback");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typing_mistakes_are_found),
        cmocka_unit_test(strangers_are_not),
        cmocka_unit_test(the_first_of_equals_wins),
        cmocka_unit_test(no_candidates_and_endless_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

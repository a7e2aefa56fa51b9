/* tests/unit/test_ib_wakes.c: which transports of UCX wake the PE that they write to. */
#include "plugins/ib/ib_wakes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HEAD "#\n# UCP context\n#\n#     component 0  :  self\n#            md 0  :  component 0  self \n#\n"
#define RESOURCE(n, name) "#      resource " #n "  :  md 1  dev " #n "  flags -- " name "\n"
#define SELF_AND_TCP HEAD RESOURCE(0, "self/memory0") RESOURCE(1, "tcp/lo") RESOURCE(2, "tcp/eth0")

static void messages_wake(void **state)
{
    (void)state;
    assert_true(ib_resources_wake(SELF_AND_TCP "#\n"));
    assert_true(ib_resources_wake(SELF_AND_TCP RESOURCE(3, "cuda_copy/cuda") "#\n"));
}

/* One peer that may be reached by such a transport is enough. */
static void writes_of_adapters_do_not(void **state)
{
    static const char *const names[] = {"rc_verbs/mlx5_0:1", "rc_mlx5/mlx5_0:1", "dc_mlx5/mlx5_0:1", "ud_verbs/rxe0:1",
                                        "srd/rdmap0:1"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s#      resource 3  :  md 2  dev 3  flags -- %s\n#\n", SELF_AND_TCP, names[i]);
        assert_false(ib_resources_wake(text));
    }
}

static void shared_memory_does_not(void **state)
{
    (void)state;
    assert_false(ib_resources_wake(SELF_AND_TCP RESOURCE(3, "posix/memory") "#\n"));
    assert_false(ib_resources_wake(RESOURCE(0, "cma/memory") SELF_AND_TCP));
}

static void what_is_not_understood_does_not(void **state)
{
    (void)state;
    assert_false(ib_resources_wake(""));
    assert_false(ib_resources_wake(HEAD));
    assert_false(ib_resources_wake(SELF_AND_TCP "# resource 3: rc_verbs\n"));
    assert_false(ib_resources_wake(SELF_AND_TCP RESOURCE(3, "tcpx/eth0")));
    assert_false(ib_resources_wake(SELF_AND_TCP "# resource 3\n# -- tcp/eth0\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_wake),
        cmocka_unit_test(writes_of_adapters_do_not),
        cmocka_unit_test(shared_memory_does_not),
        cmocka_unit_test(what_is_not_understood_does_not),
    };
    return cmocka_run_group_tests_name("ib_wakes", tests, NULL, NULL);
}

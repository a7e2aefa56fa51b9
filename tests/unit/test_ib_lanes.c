/* How UCX carries what an endpoint sends, from its own output (plugins/ib/ib_lanes.c): as printed by UCX 1.13 to
 * 1.22. */
#include "plugins/ib/ib.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TCP "#   lane[0]:  1:tcp/eth0.0 md[1]  -> md[1]/tcp/sysdev[255] am am_bw#0 keepalive wireup\n"
#define TCP_1_22 "#   lane[0]:  2:tcp/eth0.0 md[1]  -> md[1]/tcp/sysdev[255] seg 4294967295 am keepalive wireup\n"
#define RC "#   lane[0]:  1:rc_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0\n"
#define RC_ALONE \
    "#   lane[0]:  1:rc_mlx5/mlx5_0:1.0 md[1]  -> md[1]/ib/sysdev[0] rma#0 rma_bw#0 amo#0 am am_bw#0 wireup\n"
#define UD_KEEPS "#   lane[1]:  2:ud_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] keepalive wireup\n"
#define RAIL "#   lane[1]:  3:rc_mlx5/mlx5_1:1.0 md[2]  -> md[2]/ib/sysdev[1] rma_bw#1 am_bw#1\n"
#define ABOUT "#\n#  am_send: 0..<egr/short>..72..<egr/bcopy>..(inf)\n#  put[0]: 0..<short>..81..(inf)\n"

static void one_connection_is_a_line(void **state)
{
    (void)state;
    assert_int_equal(ib_carriage_read("#\n# UCP endpoint\n#\n" TCP ABOUT), IB_LINE);
    assert_int_equal(ib_carriage_read(TCP_1_22), IB_LINE);
}

static void adapter_is_no_line(void **state)
{
    (void)state;
    assert_int_equal(ib_carriage_read(RC), IB_LANE);
    assert_int_equal(ib_carriage_read(RC_ALONE ABOUT), IB_LANE);
}

static void lane_without_operations_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(ib_carriage_read(RC UD_KEEPS ABOUT), IB_LANE);
}

static void rails_are_several_lanes(void **state)
{
    (void)state;
    assert_int_equal(ib_carriage_read(RC_ALONE RAIL ABOUT), IB_LANES);
    assert_int_equal(ib_carriage_read(TCP RAIL), IB_LANES);
}

static void what_is_not_understood_is_several_lanes(void **state)
{
    (void)state;
    assert_int_equal(ib_carriage_read(""), IB_LANES);
    assert_int_equal(ib_carriage_read("an endpoint by way of eth0\n"), IB_LANES);
    assert_int_equal(ib_carriage_read(UD_KEEPS), IB_LANES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_connection_is_a_line),
        cmocka_unit_test(adapter_is_no_line),
        cmocka_unit_test(lane_without_operations_does_not_count),
        cmocka_unit_test(rails_are_several_lanes),
        cmocka_unit_test(what_is_not_understood_is_several_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

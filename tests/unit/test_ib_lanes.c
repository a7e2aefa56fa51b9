/* tests/unit/test_ib_lanes.c: the lanes of an endpoint, as printed by UCX 1.13 to 1.22. */
#include "plugins/ib/ib_lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct ib_ucp ib_ucp;

#define TCP "#   lane[0]:  1:tcp/eth0.0 md[1]  -> md[1]/tcp/sysdev[255] am am_bw#0 keepalive wireup\n"
#define TCP_1_22 "#   lane[0]:  2:tcp/eth0.0 md[1]  -> md[1]/tcp/sysdev[255] seg 4294967295 am keepalive wireup\n"
#define RC "#   lane[0]:  1:rc_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0\n"
#define RC_ALONE \
    "#   lane[0]:  1:rc_mlx5/mlx5_0:1.0 md[1]  -> md[1]/ib/sysdev[0] rma#0 rma_bw#0 amo#0 am am_bw#0 wireup\n"
#define UD_KEEPS "#   lane[1]:  2:ud_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] keepalive wireup\n"
#define RAIL "#   lane[1]:  3:rc_mlx5/mlx5_1:1.0 md[2]  -> md[2]/ib/sysdev[1] rma_bw#1 am_bw#1\n"
#define ABOUT "#\n#  am_send: 0..<egr/short>..72..<egr/bcopy>..(inf)\n#  put[0]: 0..<short>..81..(inf)\n"

static void single_tcp_lane_carries_messages(void **state)
{
    (void)state;
    assert_int_equal(ib_lanes_parse("#\n# UCP endpoint\n#\n" TCP ABOUT), IB_LANE_AM);
    assert_int_equal(ib_lanes_parse(TCP_1_22), IB_LANE_AM);
}

static void lane_of_an_adapter_is_rdma(void **state)
{
    (void)state;
    assert_int_equal(ib_lanes_parse(RC), IB_LANE_RDMA);
    assert_int_equal(ib_lanes_parse(RC_ALONE ABOUT), IB_LANE_RDMA);
}

static void lane_without_operations_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(ib_lanes_parse(RC UD_KEEPS ABOUT), IB_LANE_RDMA);
}

static void rails_are_several_lanes(void **state)
{
    (void)state;
    assert_int_equal(ib_lanes_parse(RC_ALONE RAIL ABOUT), IB_LANES_MANY);
    assert_int_equal(ib_lanes_parse(TCP RAIL), IB_LANES_MANY);
}

static void text_that_is_not_understood_is_several_lanes(void **state)
{
    (void)state;
    assert_int_equal(ib_lanes_parse(""), IB_LANES_MANY);
    assert_int_equal(ib_lanes_parse("an endpoint by way of eth0\n"), IB_LANES_MANY);
    assert_int_equal(ib_lanes_parse(UD_KEEPS), IB_LANES_MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_tcp_lane_carries_messages),
        cmocka_unit_test(lane_of_an_adapter_is_rdma),
        cmocka_unit_test(lane_without_operations_does_not_count),
        cmocka_unit_test(rails_are_several_lanes),
        cmocka_unit_test(text_that_is_not_understood_is_several_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

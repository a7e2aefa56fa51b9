/* tests/unit/test_ib_lanes.c: the lanes of an endpoint, as a double of UCX lists and prints them, in the words of 1.13
 * to 1.22; and which transports of a context wake the PE that they write to. */
#include "plugins/ib/ib_lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- the double of UCX ---- */

enum { MOST_LANES = 4 };

static unsigned minor;
static const char *printed, *transports[MOST_LANES + 1]; /* NULL behind the last one */
static ucs_status_t query_status;
static bool is_fenced;

bool ib_ucp_is_at_least(unsigned major, unsigned at_least) { return major < 1 || (major == 1 && minor >= at_least); }

static ucs_status_t ep_query(ucp_ep_h ep, ucp_ep_attr_t *attr)
{
    struct ib_ep_attr *out = (struct ib_ep_attr *)(void *)attr;
    unsigned n = 0;
    (void)ep;
    assert_true(minor >= 14); /* before, UCX ignores what it does not know */
    assert_int_equal(out->field_mask, IB_EP_ATTR_LANES);
    assert_int_equal(out->lanes.lane_bytes, sizeof(struct ib_lane));
    if (query_status != UCS_OK) return query_status;
    for (; transports[n] != NULL; n++) {
        assert_true(n < out->lanes.n);
        out->lanes.list[n] = (struct ib_lane){transports[n], "a device"};
    }
    out->lanes.n = n;
    return UCS_OK;
}

static void print_ep(ucp_ep_h ep, FILE *stream)
{
    (void)ep;
    fputs(printed, stream);
}

static void print_context(const ucp_context_h context, FILE *stream)
{
    (void)context;
    fputs(printed, stream);
}

struct ib_ucp ib_ucp = {
    .ucp_ep_query = ep_query, .ucp_ep_print_info = print_ep, .ucp_context_print_info = print_context};

static enum ib_lanes lanes(const char *text)
{
    printed = text;
    return ib_lanes_query(NULL, &is_fenced);
}

/* A UCX that lists these transports, one for each lane. */
static enum ib_lanes listed(const char *first, const char *second, const char *text)
{
    minor = 14;
    query_status = UCS_OK;
    transports[0] = first;
    transports[1] = second;
    return lanes(text);
}

/* ---- the lanes of an endpoint ---- */

#define TCP "#   lane[0]:  1:tcp/eth0.0 md[1]  -> md[1]/tcp/sysdev[255] am am_bw#0 keepalive wireup\n"
#define TCP_1_22 "#   lane[0]:  2:tcp/eth0.0 md[1]  -> md[1]/tcp/sysdev[255] seg 4294967295 am keepalive wireup\n"
#define RC "#   lane[0]:  1:rc_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0\n"
#define RC_ALONE \
    "#   lane[0]:  1:rc_mlx5/mlx5_0:1.0 md[1]  -> md[1]/ib/sysdev[0] rma#0 rma_bw#0 amo#0 am am_bw#0 wireup\n"
#define UD_KEEPS "#   lane[1]:  2:ud_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] keepalive wireup\n"
#define RAIL "#   lane[1]:  3:rc_mlx5/mlx5_1:1.0 md[2]  -> md[2]/ib/sysdev[1] rma_bw#1 am_bw#1\n"
#define ABOUT "#\n#  am_send: 0..<egr/short>..72..<egr/bcopy>..(inf)\n#  put[0]: 0..<short>..81..(inf)\n"

/* Whatever UCX prints. */
static void listed_single_lane_decides(void **state)
{
    (void)state;
    assert_int_equal(listed("tcp", NULL, TCP), IB_LANE_AM);
    assert_int_equal(listed("tcp", NULL, TCP_1_22), IB_LANE_AM);
    assert_int_equal(listed("tcp", NULL, "an endpoint by way of eth0\n"), IB_LANE_AM);
    assert_int_equal(listed("rc_mlx5", NULL, RC_ALONE), IB_LANE_RDMA);
    assert_int_equal(listed("rc_mlx5", NULL, TCP), IB_LANE_RDMA);
}

/* Only where each lane has one; 1.13 does not list them. */
static void fences_of_ucx(void **state)
{
    (void)state;
    (void)listed("srd", NULL, "");
    assert_true(is_fenced);
    (void)listed("rc_mlx5", NULL, RC_ALONE);
    assert_false(is_fenced);
    minor = 22;
    (void)lanes(RC_ALONE);
    assert_true(is_fenced);
    transports[0] = "dc_mlx5";
    (void)lanes("");
    assert_true(is_fenced);
    transports[1] = "rc_verbs";
    (void)lanes("");
    assert_false(is_fenced);
    minor = 13;
    (void)lanes(RC_ALONE);
    assert_false(is_fenced);
}

/* Text may leave out lanes that carry no operation, but not make messages of puts. */
static void several_listed_lanes_are_no_am_lane(void **state)
{
    (void)state;
    assert_int_equal(listed("rc_verbs", "ud_verbs", RC UD_KEEPS ABOUT), IB_LANE_RDMA);
    assert_int_equal(listed("rc_mlx5", "rc_mlx5", RC_ALONE RAIL), IB_LANES_MANY);
    assert_int_equal(listed("rc_mlx5", "rc_mlx5", "two lanes\n"), IB_LANES_MANY);
    assert_int_equal(listed("tcp", "tcp", TCP), IB_LANES_MANY);
    assert_int_equal(listed("tcp", "rc_mlx5", TCP RAIL), IB_LANES_MANY);
}

static void query_that_fails_is_several_lanes(void **state)
{
    (void)state;
    minor = 20;
    query_status = UCS_ERR_UNSUPPORTED;
    assert_int_equal(lanes(TCP), IB_LANES_MANY);
}

/* UCX 1.13 lists no lanes. */
static void printed_lanes(void **state)
{
    (void)state;
    minor = 13;
    assert_int_equal(lanes("#\n# UCP endpoint\n#\n" TCP ABOUT), IB_LANE_AM);
    assert_int_equal(lanes(RC), IB_LANE_RDMA);
    assert_int_equal(lanes(RC_ALONE ABOUT), IB_LANE_RDMA);
    assert_int_equal(lanes(RC UD_KEEPS ABOUT), IB_LANE_RDMA);
    assert_int_equal(lanes(RC_ALONE RAIL ABOUT), IB_LANES_MANY);
    assert_int_equal(lanes(TCP RAIL), IB_LANES_MANY);
}

static void text_that_is_not_understood_is_several_lanes(void **state)
{
    (void)state;
    minor = 13;
    assert_int_equal(lanes(""), IB_LANES_MANY);
    assert_int_equal(lanes("an endpoint by way of eth0\n"), IB_LANES_MANY);
    assert_int_equal(lanes(UD_KEEPS), IB_LANES_MANY);
}

/* ---- the transports of a context ---- */

#define HEAD "#\n# UCP context\n#\n#     component 0  :  self\n#            md 0  :  component 0  self \n#\n"
#define RESOURCE(n, name) "#      resource " #n "  :  md 1  dev " #n "  flags -- " name "\n"
#define SELF_AND_TCP HEAD RESOURCE(0, "self/memory0") RESOURCE(1, "tcp/lo") RESOURCE(2, "tcp/eth0")

static bool wakes(const char *text)
{
    printed = text;
    return ib_context_wakes(NULL);
}

static void messages_wake(void **state)
{
    (void)state;
    assert_true(wakes(SELF_AND_TCP "#\n"));
    assert_true(wakes(SELF_AND_TCP RESOURCE(3, "cuda_copy/cuda") "#\n"));
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
        assert_false(wakes(text));
    }
}

static void shared_memory_does_not(void **state)
{
    (void)state;
    assert_false(wakes(SELF_AND_TCP RESOURCE(3, "posix/memory") "#\n"));
    assert_false(wakes(RESOURCE(0, "cma/memory") SELF_AND_TCP));
}

static void context_that_is_not_understood_does_not_wake(void **state)
{
    (void)state;
    assert_false(wakes(""));
    assert_false(wakes(HEAD));
    assert_false(wakes(SELF_AND_TCP "# resource 3: rc_verbs\n"));
    assert_false(wakes(SELF_AND_TCP RESOURCE(3, "tcpx/eth0")));
    assert_false(wakes(SELF_AND_TCP "# resource 3\n# -- tcp/eth0\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_single_lane_decides),
        cmocka_unit_test(fences_of_ucx),
        cmocka_unit_test(several_listed_lanes_are_no_am_lane),
        cmocka_unit_test(query_that_fails_is_several_lanes),
        cmocka_unit_test(printed_lanes),
        cmocka_unit_test(text_that_is_not_understood_is_several_lanes),
        cmocka_unit_test(messages_wake),
        cmocka_unit_test(writes_of_adapters_do_not),
        cmocka_unit_test(shared_memory_does_not),
        cmocka_unit_test(context_that_is_not_understood_does_not_wake),
    };
    return cmocka_run_group_tests_name("ib_lanes", tests, NULL, NULL);
}

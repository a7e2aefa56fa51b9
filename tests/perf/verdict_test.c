/* tests/perf/verdict_test.c: each cause is named where its fact holds, and no other one. */
#include "tools/isthmus-perf/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Two PEs that rest on one host, whose memory is mapped; the figure is the half of its limit. */
static struct case_facts calm(void)
{
    struct pe_facts pe = {
        .host = "left", .n_pes_on_host = 2, .n_cpus_of_host = 4, .n_cpus_online = 4, .adapter_node = -1};
    return (struct case_facts){.mine = pe, .peer = pe, .transport = "loopback", .is_aliased = true};
}

static struct case_facts between_hosts(void)
{
    struct case_facts facts = calm();
    facts.is_aliased = false;
    facts.peer.first_pe_of_host = 1;
    snprintf(facts.transport, sizeof facts.transport, "ib");
    return facts;
}

static struct result half(void)
{
    return (struct result){
        .to = 1, .size_bytes = 1 << 20, .call = {2000, 1950, 2050}, .limit = {1000, 990, 1010}, .limit_name = "memcpy"};
}

static void expect(struct result result, struct case_facts facts, const char *verdict)
{
    verdict_write(&result, &facts);
    assert_string_equal(result.verdict, verdict);
}

static void without_a_fact_no_cause(void **state)
{
    (void)state;
    expect(half(), calm(), "0.50 of memcpy: cause unknown, see docs/perf.md");
    struct result result = half();
    result.call = (struct figure){1100, 1080, 1200};
    expect(result, calm(), "0.91 of memcpy: nothing to gain");
    result.call = (struct figure){1200, 1005, 1300};
    expect(result, calm(), "0.83 of memcpy: within the spread");
    result.limit = (struct figure){0};
    struct case_facts facts = calm();
    facts.no_limit = "none is built in";
    expect(result, facts, "no limit measured: none is built in");
}

static void small_differences(void **state)
{
    struct result result = half();
    struct case_facts facts = calm();
    (void)state;
    result.call = (struct figure){4, 4, 4};
    result.limit = (struct figure){2, 2, 2};
    expect(result, facts, "0.50 of memcpy: 2.0 ns more: the call");
    facts.is_aliased = false;
    expect(result, facts, "0.50 of memcpy: no load or store reaches the peer: each access calls transport loopback");
    facts = calm();
    facts.more = "flags between the PEs";
    result.call = (struct figure){40, 40, 40};
    expect(result, facts, "0.05 of memcpy: 38 ns more: flags between the PEs");
    result.call = (struct figure){4000, 4000, 4000};
    expect(result, facts, "0.0005 of memcpy: cause unknown, see docs/perf.md");
}

static void settings(void **state)
{
    struct case_facts facts = calm();
    (void)state;
    facts.check_setting = "1";
    expect(half(), facts, "0.50 of memcpy: ISTHMUS_CHECK=1 checks each call");
    facts.check_setting = "off";
    facts.alias_setting = "no";
    expect(half(), facts, "0.50 of memcpy: cause unknown, see docs/perf.md");
    facts.is_aliased = false;
    expect(half(), facts, "0.50 of memcpy: ISTHMUS_ALIAS=no: each access calls transport loopback");
    facts.alias_setting = NULL;
    snprintf(facts.transport, sizeof facts.transport, "hook");
    expect(half(), facts,
           "0.50 of memcpy: transport hook injects faults, no load or store reaches the peer: each access calls "
           "transport hook");
    facts.is_on_device = true;
    expect(half(), facts, "0.50 of memcpy: transport hook injects faults");
}

/* A copy through a mapping needs no other PE: it is not slower for want of processors. */
static void processors(void **state)
{
    struct case_facts facts = calm();
    (void)state;
    facts.mine.n_cpus_of_host = 1;
    expect(half(), facts, "0.50 of memcpy: cause unknown, see docs/perf.md");
    facts.is_together = true;
    expect(half(), facts, "0.50 of memcpy: 2 PEs share 1 processors of left");
    facts.mine.n_cpus_of_host = 4;
    expect(half(), facts, "0.50 of memcpy: cause unknown, see docs/perf.md");
    facts.mine.load = 7.5;
    expect(half(), facts, "0.50 of memcpy: the load of left is 7.5 with 4 processors");
    facts.mine.n_cpus_online = 16; /* the PEs are bound to 4 of them */
    expect(half(), facts, "0.50 of memcpy: cause unknown, see docs/perf.md");
    facts.mine.load = 17;
    expect(half(), facts, "0.50 of memcpy: the load of left is 17.0 with 16 processors");
}

static void numa_nodes(void **state)
{
    struct case_facts facts = calm();
    struct result result = half();
    (void)state;
    facts.peer.numa_node = 1;
    facts.near_ns = 600;
    result.call = (struct figure){1000, 1000, 1000};
    expect(result, facts,
           "1.00 of memcpy: nothing to gain; memcpy itself is 0.60 of what it is within a node: the PEs are on NUMA "
           "nodes 0 and 1");
    facts.near_ns = 950;
    expect(result, facts, "1.00 of memcpy: nothing to gain");
}

static void adapters(void **state)
{
    struct case_facts facts = between_hosts();
    struct result result = half();
    (void)state;
    result.call = (struct figure){1 << 20, 1 << 20, 1 << 20}; /* 1 GB/s */
    result.limit = result.call;
    snprintf(result.limit_name, sizeof result.limit_name, "bare UCP");
    expect(result, facts, "1.00 of bare UCP: nothing to gain; TCP, because left has no RDMA adapter with a link");
    snprintf(facts.transport, sizeof facts.transport, "ofi");
    expect(result, facts, "1.00 of bare UCP: nothing to gain");
    facts.mine.n_adapters = 1;
    facts.mine.adapter_bytes_per_s = 2.5e9;
    expect(result, facts, "1.00 of bare UCP: nothing to gain; 0.40 of the adapter");
    facts.mine.adapter_node = 1;
    expect(result, facts,
           "1.00 of bare UCP: nothing to gain; 0.40 of the adapter: this PE and its adapter are on different NUMA "
           "nodes (0 and 1)");
    facts.mine.numa_node = 1;
    expect(result, facts, "1.00 of bare UCP: nothing to gain; 0.40 of the adapter");
    facts.mine.numa_node = -1;
    expect(result, facts, "1.00 of bare UCP: nothing to gain; 0.40 of the adapter");
    result.size_bytes = 8;
    expect(result, facts, "1.00 of bare UCP: nothing to gain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_fact_no_cause),
        cmocka_unit_test(small_differences),
        cmocka_unit_test(settings),
        cmocka_unit_test(processors),
        cmocka_unit_test(numa_nodes),
        cmocka_unit_test(adapters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

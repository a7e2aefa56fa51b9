/* tests/unit/test_interfaces.c: which addresses of a host others are given to reach it. The interfaces are made here,
 * in place of the system's. */
#include "core/boot/uid.h"
#include "core/life/liveness_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 16, UP = IFF_UP | IFF_RUNNING };

static struct {
    int n, error;
    struct ifaddrs list[MOST];
    struct sockaddr_in addresses[MOST];
    char names[MOST][IFNAMSIZ];
} host;

static void add(const char *name, const char *address, unsigned flags)
{
    int i = host.n++;
    snprintf(host.names[i], IFNAMSIZ, "%s", name);
    host.addresses[i] = (struct sockaddr_in){.sin_family = AF_INET};
    assert_int_equal(inet_pton(AF_INET, address, &host.addresses[i].sin_addr), 1);
    host.list[i] = (struct ifaddrs){
        .ifa_name = host.names[i], .ifa_flags = flags, .ifa_addr = (struct sockaddr *)&host.addresses[i]};
    if (i > 0) host.list[i - 1].ifa_next = &host.list[i];
}

int getifaddrs(struct ifaddrs **out)
{
    *out = host.n > 0 ? host.list : NULL;
    errno = host.error;
    return host.error != 0 ? -1 : 0;
}

void freeifaddrs(struct ifaddrs *list) { (void)list; }

static int clear(void **state)
{
    (void)state;
    memset(&host, 0, sizeof host);
    add("lo", "127.0.0.1", UP | IFF_LOOPBACK);
    return 0;
}

/* As on a node with a bridge for each of many networks of containers, and ports without a cable. */
static void add_many(const char *beginning, unsigned flags)
{
    for (int i = 0; i < 8; i++) {
        char name[IFNAMSIZ], address[INET_ADDRSTRLEN];
        snprintf(name, sizeof name, "%s%d", beginning, i);
        snprintf(address, sizeof address, "172.18.%d.1", i);
        add(name, address, flags);
    }
}

/* The addresses of a unique id and those for heartbeats are the same: `wanted`, with spaces between them. */
static void assert_found(const char *names, const char *wanted)
{
    char found[400] = "", text[INET_ADDRSTRLEN];
    struct ist_uid uid = {.format = IST_UID_FORMAT};
    struct ist_config config = {.interface = names, .uid_family = IST_UID_FAMILY_INET};
    assert_int_equal(ist_uid_find_addresses(&config, &uid), ISTHMUS_OK);
    for (int i = 0; i < uid.n_addresses; i++) {
        inet_ntop(AF_INET, uid.addresses[i].bytes, text, sizeof text);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i > 0 ? " " : "", text);
    }
    assert_string_equal(found, wanted);

    struct ist_liveness_socket s;
    assert_int_equal(ist_liveness_socket_open(names, &s), ISTHMUS_OK);
    ist_liveness_socket_close(&s);
    assert_true(s.address.n_addresses >= uid.n_addresses);
    for (int i = 0; i < uid.n_addresses; i++)
        assert_memory_equal(s.address.addresses[i].s6_addr + 12, uid.addresses[i].bytes, 4);
}

static void bridges_do_not_displace_the_network(void **state)
{
    (void)state;
    add("docker0", "172.17.0.1", UP);
    add_many("br-", UP);
    add("eth0", "10.0.0.7", UP);
    assert_found("", "10.0.0.7");
}

static void ports_without_a_cable_do_not_either(void **state)
{
    (void)state;
    add_many("eth", IFF_UP);
    add("off", "10.1.0.7", 0);
    add("ib0", "10.0.0.7", UP);
    assert_found(NULL, "10.0.0.7");
}

static void networks_are_in_order(void **state)
{
    (void)state;
    add("eth0", "10.0.0.7", UP);
    add("virbr0", "192.168.122.1", UP);
    add("ib0", "10.1.0.7", UP);
    assert_found("", "10.0.0.7 10.1.0.7");
}

static void no_network_of_containers_is_offered(void **state)
{
    static const char *const names[] = {"docker0", "br-0a1b", "virbr0", "cni0", "lxcbr0", "veth3c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        clear(state);
        add(names[i], "172.17.0.1", UP);
        add("eth0", "10.0.0.7", UP);
        assert_found("", "10.0.0.7");
    }
}

/* A neighbour may reach this host through the last one only. */
static void heartbeats_use_eight_networks(void **state)
{
    struct ist_liveness_socket s;
    (void)state;
    add_many("eth", UP);
    assert_int_equal(ist_liveness_socket_open("", &s), ISTHMUS_OK);
    ist_liveness_socket_close(&s);
    assert_int_equal(s.address.n_addresses, 8);
}

static void a_bridge_is_better_than_nothing(void **state)
{
    (void)state;
    add("eth0", "10.0.0.7", IFF_UP);
    add("br-ex", "10.2.0.7", UP);
    assert_found("", "10.2.0.7");
}

static void loopback_is_the_last(void **state)
{
    (void)state;
    assert_found("", "127.0.0.1");
    add("eth0", "10.0.0.7", IFF_UP);
    assert_found("", "10.0.0.7");
}

static void the_user_chooses(void **state)
{
    (void)state;
    add("docker0", "172.17.0.1", UP);
    add("eth0", "10.0.0.7", UP);
    add("ib0", "10.1.0.7", IFF_UP);
    assert_found("ib,docker", "172.17.0.1 10.1.0.7");
    assert_found("^lo,eth", "172.17.0.1 10.1.0.7");
    assert_found("lo", "127.0.0.1");
}

static void ranges_and_whole_numbers(void **state)
{
    (void)state;
    add("eth1", "10.0.0.7", UP);
    add("eth10", "10.9.128.7", UP);
    assert_found("eth1", "10.0.0.7");
    assert_found("10.9.0.0/16", "10.9.128.7");
    assert_found("10.9.128.0/17,lo", "127.0.0.1 10.9.128.7");
    assert_found("^10.9.0.0/17", "127.0.0.1 10.0.0.7 10.9.128.7");
    assert_found("^10.9.128.7/32,lo", "10.0.0.7");
    assert_found("10.0.0.7/0", "127.0.0.1 10.0.0.7 10.9.128.7");
}

static void a_choice_that_fits_none_is_an_error(void **state)
{
    (void)state;
    struct ist_liveness_socket s;
    struct ist_uid uid;
    struct ist_config config = {.interface = "eno", .uid_family = IST_UID_FAMILY_INET};
    add("eth0", "10.0.0.7", UP);
    assert_int_equal(ist_uid_find_addresses(&config, &uid), ISTHMUS_ERR_NO_DEVICE);
    assert_int_equal(ist_liveness_socket_open("eno", &s), ISTHMUS_ERR_NO_DEVICE);
    assert_string_equal(ist_fail_text(), "no network interface fits ISTHMUS_INTERFACE 'eno' and ISTHMUS_UID_FAMILY "
                                         "AF_INET; interfaces of that family: lo eth0");
}

/* Peers reply to the address from which this host sends. */
static void heartbeats_need_no_list(void **state)
{
    (void)state;
    struct ist_liveness_socket s;
    host.error = EPERM;
    assert_int_equal(ist_liveness_socket_open("", &s), ISTHMUS_OK);
    assert_int_equal(s.address.n_addresses, 0);
    ist_liveness_socket_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bridges_do_not_displace_the_network, clear),
        cmocka_unit_test_setup(ports_without_a_cable_do_not_either, clear),
        cmocka_unit_test_setup(networks_are_in_order, clear),
        cmocka_unit_test_setup(no_network_of_containers_is_offered, clear),
        cmocka_unit_test_setup(heartbeats_use_eight_networks, clear),
        cmocka_unit_test_setup(a_bridge_is_better_than_nothing, clear),
        cmocka_unit_test_setup(loopback_is_the_last, clear),
        cmocka_unit_test_setup(the_user_chooses, clear),
        cmocka_unit_test_setup(ranges_and_whole_numbers, clear),
        cmocka_unit_test_setup(a_choice_that_fits_none_is_an_error, clear),
        cmocka_unit_test_setup(heartbeats_need_no_list, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

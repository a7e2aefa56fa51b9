/* Unit tests of the adapters of a host: what is read of them (plugins/ib/ib_verbs.c, through a double of libibverbs),
 * which are used and by which PEs (plugins/ib/ib_select.c). */
#include "plugins/ib/ib_hca.h"

#include "core/base/config.h"
#include "tests/unit/ib_test.h"

#include <unistd.h>

enum { DOWN = 1, UP = 4, INFINIBAND = 1, ETHERNET = 2, X1 = 1, X4 = 2, EDR = 32, HDR = 64 };

/* ---- services ---- */

static const char *nearest(void *core, const char *name, const char *const *candidates, size_t n)
{
    (void)core;
    return ist_names_nearest(name, candidates, n);
}

static const struct isthmus_services services = {
    .struct_size = sizeof services,
    .fail = keep_failure,
    .nearest_name = nearest,
};

/* ---- a host: its adapters go into the double's file ---- */

static struct ib_ports ports;

static void read_host(const char *lines)
{
    char path[64];
    snprintf(path, sizeof path, "%s/adapters", folder);
    write_file(path, lines);
    setenv("IBVERBS_DOUBLE", path, 1);
    ib_ports_read(NULL, &ports);
}

/* Alike, on two nodes: the first half on node 0, with one port each of 200 Gb/s. */
static void read_alike(int n)
{
    char lines[1024];
    size_t used = 0;
    lines[0] = '\0';
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(lines + used, sizeof lines - used, "mlx5_%d 1 2c9 1 %d\n %d %d %d %d\n", i,
                                 i < (n + 1) / 2 ? 0 : 1, UP, INFINIBAND, X4, HDR);
    read_host(lines);
}

/* ---- properties that are read ---- */

static void a_host_without_adapters(void **state)
{
    (void)state;
    read_host("");
    assert_int_equal(ports.n, 0);
    unsetenv("IBVERBS_DOUBLE");
    ib_ports_read(NULL, &ports);
    assert_int_equal(ports.n, 0);
}

static void ports_in_words_of_ours(void **state)
{
    (void)state;
    read_host("mlx5_10 2 2c9 1 1\n 4 1 2 64\n 1 1 2 1\n" /* two ports, one of them down */
              "rxe0 1 ffffff 2 -1\n 4 2 1 32\n"
              "mlx5_9 broken 2c9 1 0\n"
              "mlx5_2 1 2c9 0 0\n 4 1 8 16\n");
    assert_int_equal(ports.n, 4);
    const struct ib_port *p = ports.list;
    assert_string_equal(p[0].name, "mlx5_2:1"); /* before mlx5_10 */
    assert_int_equal(p[0].rate_mbit_per_s, 12 * 14000);
    assert_int_equal(p[0].atomics, IB_ATOMICS_NONE);
    assert_int_equal(p[0].place.numa_node, 0);
    assert_int_equal(p[0].n_gids, 0);
    assert_string_equal(p[1].name, "mlx5_10:1");
    assert_string_equal(p[1].adapter, "mlx5_10");
    assert_int_equal(p[1].link, IB_LINK_INFINIBAND);
    assert_int_equal(p[1].rate_mbit_per_s, 200000);
    assert_int_equal(p[1].place.numa_node, 1);
    assert_true(p[1].is_active && !p[1].is_software);
    assert_string_equal(p[2].name, "mlx5_10:2");
    assert_int_equal(p[2].number, 2);
    assert_false(p[2].is_active);
    assert_string_equal(p[3].name, "rxe0:1");
    assert_true(p[3].is_software);
    assert_int_equal(p[3].link, IB_LINK_ETHERNET);
    assert_int_equal(p[3].atomics, IB_ATOMICS_SYSTEM);
    assert_int_equal(p[3].place.numa_node, -1);
    assert_int_equal(p[3].n_gids, 2);
    assert_int_equal(p[3].gids[1].type, IB_GID_ROCE_2);
    assert_int_equal(p[3].gids[1].index, 3);
    assert_true(p[3].gids[1].is_ipv4);
    assert_memory_equal(p[3].gids[1].raw + 12, ((uint8_t[]){10, 0, 0, 1}), 4);
}

/* The library's field of speeds ends at NDR. */
static void rates_that_only_the_system_prints(void **state)
{
    char path[PATH_ROOM];
    (void)state;
    read_alike(2);
    snprintf(path, sizeof path, "%s/adapters.d/mlx5_0/ports/1", folder);
    make_folders(path);
    snprintf(path, sizeof path, "%s/adapters.d/mlx5_0/ports/1/rate", folder);
    write_file(path, "800 Gb/sec (4X XDR)\n");
    read_alike(2);
    assert_int_equal(ports.list[0].rate_mbit_per_s, 800000);
    assert_int_equal(ports.list[1].rate_mbit_per_s, 200000);
    write_file(path, "2.5 Gb/sec (1X SDR)\n");
    read_alike(2);
    assert_int_equal(ports.list[0].rate_mbit_per_s, 200000);
}

static void distances_of_nodes(void **state)
{
    char path[PATH_ROOM];
    (void)state;
    snprintf(path, sizeof path, "%s/devices/system/node/node1", folder);
    make_folders(path);
    snprintf(path, sizeof path, "%s/devices/system/node/node1/distance", folder);
    write_file(path, "21 10 31\n");
    assert_int_equal(isthmus_numa_distance(folder, 1, 0), 21);
    assert_int_equal(isthmus_numa_distance(folder, 1, 1), 10);
    assert_int_equal(isthmus_numa_distance(folder, 1, 2), 31);
    assert_int_equal(isthmus_numa_distance(folder, 1, 3), ISTHMUS_FAR);
    assert_int_equal(isthmus_numa_distance(folder, 0, 1), ISTHMUS_FAR);
    assert_int_equal(isthmus_numa_distance(folder, -1, 1), ISTHMUS_FAR);
    assert_int_equal(isthmus_numa_distance(folder, 1, -1), ISTHMUS_FAR);
}

/* ---- which are used ---- */

/* The names of what is selected, with counts when they are dealt; or the failure. */
static const char *selected(const char *text)
{
    static char out[512];
    struct ib_selection s;
    size_t used = 0;
    if (ib_select(&services, &ports, text, &s) != ISTHMUS_OK) return failed;
    out[0] = '\0';
    for (uint32_t i = 0; i < s.n; i++) {
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%s", i > 0 ? "," : "", ports.list[s.ports[i]].name);
        if (s.is_dealt) used += (size_t)snprintf(out + used, sizeof out - used, "*%u", s.counts[i]);
    }
    return out;
}

static void a_list_of_ucx(void **state)
{
    (void)state;
    read_host("mlx5_1 2 2c9 1 0\n 1 1 2 64\n 4 1 2 64\n mlx5_10 2 2c9 1 0\n 4 1 2 64\n 4 1 2 64\n");
    assert_string_equal(ib_port_in_list(&ports, "mlx5_10:1")->name, "mlx5_10:1");
    assert_string_equal(ib_port_in_list(&ports, "eth0,mlx5_10:2")->name, "mlx5_10:2");
    assert_string_equal(ib_port_in_list(&ports, "mlx5_10:2,mlx5_1:2,eth0")->name, "mlx5_1:2");
    assert_string_equal(ib_port_in_list(&ports, "all")->name, "mlx5_1:2");
    assert_string_equal(ib_port_in_list(&ports, "^mlx5_1:2,mlx5_10:1")->name, "mlx5_10:2");
    assert_null(ib_port_in_list(&ports, "mlx5_1:1")); /* down */
    assert_null(ib_port_in_list(&ports, "mlx5_1,eth0,mlx5_10:20"));
}

static void the_usual_ones(void **state)
{
    (void)state;
    read_alike(0);
    assert_string_equal(selected(NULL), "");
    read_alike(1);
    assert_string_equal(selected(""), "mlx5_0:1");
    read_alike(4);
    assert_string_equal(selected(NULL), "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1");
    read_host("a0 2 2c9 1 0\n 1 1 2 64\n 4 1 2 64\n" /* the first port is down */
              "a1 1 2c9 1 0\n 4 1 2 32\n"            /* 100 Gb/s beside 200: still */
              "a2 1 2c9 1 0\n 4 1 1 32\n"            /* 25 Gb/s: not */
              "a3 1 2c9 1 0\n 4 2 2 64\n");          /* Ethernet */
    assert_string_equal(selected(NULL), "a0:2,a1:1");
    assert_string_equal(selected("round_robin"), "a0:2*1,a1:1*1");
    read_host("a0 1 2c9 1 0\n 1 1 2 64\n");
    assert_string_equal(selected(NULL), "");
}

static void what_the_user_wants(void **state)
{
    (void)state;
    read_host("mlx5_1 1 2c9 1 0\n 4 1 2 64\n"
              "mlx5_10 2 2c9 1 0\n 4 1 2 64\n 4 1 2 64\n"
              "bnxt_0 2 14e4 1 0\n 4 2 1 32\n 1 2 1 32\n");
    assert_string_equal(selected("mlx5_10"), "mlx5_10:1,mlx5_10:2");
    assert_string_equal(selected("mlx5_10:2"), "mlx5_10:2");
    assert_string_equal(selected("bnxt_0:1,mlx5_1,bnxt_0"), "bnxt_0:1,mlx5_1:1"); /* no more often than once */
    assert_string_equal(selected("mlx5"), "mlx5_1:1,mlx5_10:1,mlx5_10:2");        /* the beginning of names */
    assert_string_equal(selected("mlx5_10:2:3,mlx5_1:1:1"), "mlx5_10:2*3,mlx5_1:1*1");
    assert_string_equal(selected("mlx5_1:1:2,mlx5_10:1:2,mlx5_1:1:1"), "mlx5_1:1*2,mlx5_10:1*2,mlx5_1:1*1");
    assert_string_equal(selected("^mlx5_10:1"), "mlx5_1:1,mlx5_10:2");
    assert_string_equal(selected("^mlx5"), "bnxt_0:1");
    assert_string_equal(selected("^mlx5,bnxt_0"), "");
}

static void what_the_user_cannot_have(void **state)
{
    (void)state;
    read_host("mlx5_0 2 2c9 1 0\n 4 1 2 64\n 1 1 2 64\n");
    assert_string_equal(selected("mlx5_1:1"),
                        "ISTHMUS_HCA names 'mlx5_1:1', but this host has no such adapter; did you mean "
                        "'mlx5_0:1'?; it has: mlx5_0:1, mlx5_0:2 (down)");
    assert_non_null(strstr(selected("^mlx5_1"), "no such adapter"));
    assert_non_null(strstr(selected("mlx5_0:3"), "no such adapter"));
    assert_string_equal(selected("mlx5_0:2"),
                        "ISTHMUS_HCA names 'mlx5_0:2', whose link is down; bring it up, or name another adapter");
    for (const char *bad = "mlx5_0:\0:1\0mlx5_0:0\0mlx5_0:x\0mlx5_0:1:0\0mlx5_0:1:1:1\0,\0mlx5_0:99999\0"; *bad != '\0';
         bad += strlen(bad) + 1)
        assert_non_null(strstr(selected(bad), "cannot be read"));
    read_host("");
    assert_string_equal(selected("mlx5_0"),
                        "ISTHMUS_HCA names 'mlx5_0', but this host has no such adapter; it has: none");
    assert_string_equal(selected("round_robin"), "");
}

/* ---- by which PEs ---- */

/* The digits of `nodes` are those of the PEs, '-' is none; the result has the digit of each PE's port. Distances are 10
 * within a node and 21 between two. */
static const char *shared(const char *text, const char *nodes)
{
    static char out[64];
    uint32_t distances[32 * IB_MAX_PORTS], shares[32], n_pes = (uint32_t)strlen(nodes);
    struct ib_selection s;
    assert_int_equal(ib_select(&services, &ports, text, &s), ISTHMUS_OK);
    for (uint32_t pe = 0; pe < n_pes; pe++)
        for (uint32_t i = 0; i < s.n; i++) {
            bool is_near = nodes[pe] - '0' == ports.list[s.ports[i]].place.numa_node;
            distances[pe * s.n + i] = nodes[pe] == '-' ? ISTHMUS_FAR : is_near ? 10 : 21;
        }
    ib_share(&s, distances, n_pes, shares);
    for (uint32_t pe = 0; pe < n_pes; pe++) out[pe] = (char)('0' + s.ports[shares[pe]]);
    out[n_pes] = '\0';
    return out;
}

static void fair_and_near(void **state)
{
    (void)state;
    read_alike(1);
    assert_string_equal(shared(NULL, "0011-"), "00000");
    read_alike(2);
    assert_string_equal(shared(NULL, "000"), "001"); /* two and one, the two near */
    assert_string_equal(shared(NULL, "-0"), "10");   /* a bound PE goes first */
    assert_string_equal(shared(NULL, "1010"), "1010");
    assert_string_equal(shared(NULL, "1"), "1");
    read_alike(4);
    assert_string_equal(shared(NULL, "00001111"), "01012323");
    assert_string_equal(shared(NULL, "01010101"), "02130213");
    assert_string_equal(shared(NULL, "--------"), "01230123");
    assert_string_equal(shared(NULL, "00000000"), "01012323"); /* no adapter idles while others have four */
    assert_string_equal(shared(NULL, "111"), "230");
    assert_string_equal(shared("mlx5_3,mlx5_1", "0011"), "1133");
    read_alike(8);
    assert_string_equal(shared(NULL, "11110000"), "45670123");
}

static void dealt_in_order(void **state)
{
    (void)state;
    read_alike(4);
    assert_string_equal(shared("round_robin", "111111"), "012301");
    assert_string_equal(shared("mlx5_2:1:2,mlx5_0:1:1", "0000000"), "2202202");
}

/* Loads differ by one at most, for all places. */
static void always_fair(void **state)
{
    (void)state;
    unsigned seed = 20;
    read_alike(8);
    for (int round = 0; round < 200; round++) {
        char nodes[33] = "";
        uint32_t n_pes = 1 + (uint32_t)rand_r(&seed) % 32, loads[8] = {0};
        for (uint32_t pe = 0; pe < n_pes; pe++) nodes[pe] = "01-"[rand_r(&seed) % 3];
        const char *got = shared(NULL, nodes);
        for (uint32_t pe = 0; pe < n_pes; pe++) loads[got[pe] - '0']++;
        for (uint32_t i = 0; i < 8; i++) assert_in_range(loads[i], n_pes / 8, (n_pes + 7) / 8);
    }
}

/* ---- addresses ---- */

static const char *family, *range, *version;
static const char *gid_config(void *core, const char *key)
{
    (void)core;
    return strcmp(key, "ADDR_FAMILY") == 0 ? family : strcmp(key, "ADDR_RANGE") == 0 ? range : version;
}

static void the_address_that_fits(void **state)
{
    (void)state;
    const struct ib_port port = {
        .name = "mlx5_0:1",
        .link = IB_LINK_ETHERNET,
        .n_gids = 4,
        .gids = {{.raw = {0xfe, 0x80}, .index = 0, .type = IB_GID_ROCE_1},
                 {.raw = {0xfe, 0x80}, .index = 1, .type = IB_GID_ROCE_2},
                 {.raw = {[10] = 0xff, 0xff, 10, 1, 0, 7}, .index = 4, .type = IB_GID_ROCE_2, .is_ipv4 = true},
                 {.raw = {[10] = 0xff, 0xff, 10, 2, 0, 7}, .index = 5, .type = IB_GID_ROCE_2, .is_ipv4 = true}},
    };
    static const struct {
        const char *family, *range, *version;
        isthmus_status status;
        int32_t index;
    } rows[] = {
        {NULL, NULL, NULL, ISTHMUS_OK, -1},
        {"AF_INET", NULL, NULL, ISTHMUS_OK, 4},
        {NULL, "10.2.0.0/16", NULL, ISTHMUS_OK, 5},
        {NULL, "::/0", "2", ISTHMUS_OK, 4},
        {"AF_INET6", "fe80::/10", "1", ISTHMUS_OK, 0},
        {"AF_INET6", NULL, NULL, ISTHMUS_OK, 1},
        {NULL, NULL, "1", ISTHMUS_ERR_NO_DEVICE, -1},
        {NULL, "11.0.0.0/8", NULL, ISTHMUS_ERR_NO_DEVICE, -1},
        {"IPv4", NULL, NULL, ISTHMUS_ERR_INVALID, -1},
        {NULL, "10.2.0.0", NULL, ISTHMUS_ERR_INVALID, -1},
        {NULL, "10.2.0.0/33", NULL, ISTHMUS_ERR_INVALID, -1},
        {NULL, NULL, "3", ISTHMUS_ERR_INVALID, -1},
    };
    struct isthmus_services asked = services;
    asked.config = gid_config;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t index = 0;
        family = rows[i].family, range = rows[i].range, version = rows[i].version;
        assert_int_equal(ib_gid_choose(&asked, &port, &index), rows[i].status);
        assert_int_equal(index, rows[i].index);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_without_adapters),
        cmocka_unit_test(ports_in_words_of_ours),
        cmocka_unit_test(rates_that_only_the_system_prints),
        cmocka_unit_test(distances_of_nodes),
        cmocka_unit_test(a_list_of_ucx),
        cmocka_unit_test(the_usual_ones),
        cmocka_unit_test(what_the_user_wants),
        cmocka_unit_test(what_the_user_cannot_have),
        cmocka_unit_test(fair_and_near),
        cmocka_unit_test(dealt_in_order),
        cmocka_unit_test(always_fair),
        cmocka_unit_test(the_address_that_fits),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

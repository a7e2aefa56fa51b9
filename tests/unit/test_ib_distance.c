/* Unit tests of plugins/ib/ib_distance.c, and of how ports are shared out by what it finds: in made-up trees of the
 * system's files, with a double of libibverbs. Each is a machine that exists, or a part of one that a container
 * sees. */
#include "plugins/ib/ib_hca.h"
#include "plugins/ib/ib_text.h"
#include "tests/unit/ib_test.h"

#include <unistd.h>

enum { MOST = 16 };

static char root[64]; /* of the tree of one test */
static char adapters[1024];
static struct ib_ports ports;

/* ---- trees ---- */

/* A PCI device: its folder, below /sys/devices; out: the whole path. */
static void add_device(const char *chain, int node, char out[PATH_ROOM])
{
    char path[PATH_ROOM + 16], text[16];
    snprintf(out, PATH_ROOM, "%s/devices/%s", root, chain);
    make_folders(out);
    snprintf(path, sizeof path, "%s/numa_node", out);
    snprintf(text, sizeof text, "%d\n", node);
    write_file(path, text);
}

static void add_gpu(const char *chain, int node)
{
    char device[PATH_ROOM], link[PATH_ROOM];
    add_device(chain, node, device);
    snprintf(link, sizeof link, "%s/bus/pci/devices", root);
    make_folders(link);
    snprintf(link, sizeof link, "%s/bus/pci/devices/%s", root, strrchr(chain, '/') + 1);
    assert_int_equal(symlink(device, link), 0);
}

/* chain NULL: it is no PCI device. */
static void add_adapter(const char *name, const char *chain, int node)
{
    char device[PATH_ROOM], link[PATH_ROOM];
    size_t used = strlen(adapters);
    snprintf(adapters + used, sizeof adapters - used, "%s 1 2c9 1 -1\n 4 1 2 64\n", name);
    snprintf(link, sizeof link, "%s/class/infiniband/%s", root, name);
    make_folders(link);
    if (chain == NULL) return;
    add_device(chain, node, device);
    snprintf(link, sizeof link, "%s/class/infiniband/%s/device", root, name);
    assert_int_equal(symlink(device, link), 0);
}

static void add_nodes(void)
{
    char path[PATH_ROOM];
    for (int node = 0; node < 2; node++) {
        snprintf(path, sizeof path, "%s/devices/system/node/node%d", root, node);
        make_folders(path);
        snprintf(path, sizeof path, "%s/devices/system/node/node%d/distance", root, node);
        write_file(path, node == 0 ? "10 21\n" : "21 10\n");
    }
}

static int begin(void **state)
{
    static int n;
    (void)state;
    snprintf(root, sizeof root, "%s/%d", folder, n++);
    make_folders(root);
    adapters[0] = '\0';
    add_nodes();
    return 0;
}

static void read_ports(void)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/adapters", root);
    write_file(path, adapters);
    setenv("IBVERBS_DOUBLE", path, 1);
    ib_ports_read(root, &ports);
}

/* ---- PEs ---- */

static const struct isthmus_services services = {
    .struct_size = sizeof services, .config = config, .fail = keep_failure};

/* A PE: the address of its GPU, or the NUMA node that it is bound to. */
struct pe {
    const char *gpu;
    int node;
};

static struct ib_origin origins[MOST];
static uint32_t distances[MOST * IB_MAX_PORTS];

/* "0 1+2": the first PE goes through port 0, the second one through 1 and, as a further rail, 2. */
static const char *shared(const char *request, const struct pe *pes, uint32_t n, uint32_t most_rails)
{
    static char out[200];
    struct ib_selection selection;
    struct ib_text text = {.start = out, .room = sizeof out};
    uint32_t shares[MOST], owners[IB_MAX_PORTS];
    read_ports();
    assert_int_equal(ib_select(&services, &ports, request, &selection), ISTHMUS_OK);
    for (uint32_t pe = 0; pe < n; pe++) {
        ib_origin_find(root, pes[pe].node, pes[pe].gpu, &origins[pe]);
        for (uint32_t i = 0; i < selection.n; i++)
            distances[pe * selection.n + i] = ib_distance(root, &origins[pe], &ports.list[selection.ports[i]]);
    }
    ib_share(&selection, distances, n, shares);
    ib_share_rails(&selection, distances, n, most_rails, shares, owners);
    for (uint32_t pe = 0; pe < n; pe++) {
        ib_text_add(&text, "%s%u", pe > 0 ? " " : "", selection.ports[shares[pe]]);
        for (uint32_t i = 0; i < selection.n; i++)
            if (owners[i] == pe && i != shares[pe]) ib_text_add(&text, "+%u", selection.ports[i]);
    }
    return out;
}

/* ---- machines ---- */

/* Eight GPUs, each behind a switch with one adapter, four a socket; the adapters count in another order. */
static void a_switch_for_each_gpu(void **state)
{
    static const char *const gpus[] = {"0000:1d:00.0", "0000:2d:00.0", "0000:3d:00.0", "0000:4d:00.0",
                                       "0000:9d:00.0", "0000:ad:00.0", "0000:bd:00.0", "0000:cd:00.0"};
    static const int adapter_of[] = {3, 0, 2, 1, 6, 7, 4, 5};
    struct pe pes[8];
    char chain[PATH_ROOM], name[24];
    (void)state;
    for (int i = 0; i < 8; i++) {
        char bus = gpus[i][5];
        snprintf(chain, sizeof chain, "pci0000:%c0/0000:%c0:01.0/0000:%c1:00.0/0000:%c2:00.0/%s", bus, bus, bus, bus,
                 gpus[i]);
        add_gpu(chain, i / 4);
        snprintf(chain, sizeof chain, "pci0000:%c0/0000:%c0:01.0/0000:%c1:00.0/0000:%c2:01.0/0000:%ce:00.0", bus, bus,
                 bus, bus, bus);
        snprintf(name, sizeof name, "mlx5_%d", adapter_of[i]);
        add_adapter(name, chain, i / 4);
        pes[i] = (struct pe){gpus[i], -1};
    }
    assert_string_equal(shared(NULL, pes, 8, 2), "3 0 2 1 6 7 4 5");
    assert_int_equal(distances[3], ISTHMUS_SAME_SWITCH);
    assert_int_equal(distances[0], 10);
    assert_int_equal(distances[4], 21);
    /* a job on two of them: no second port, for none is as near */
    assert_string_equal(shared(NULL, &pes[2], 2, 2), "2 1");
    /* more PEs than GPUs */
    const struct pe twice[] = {pes[7], pes[7], pes[0]};
    assert_string_equal(shared("mlx5_5,mlx5_3", twice, 3, 2), "5 5 3");
}

/* Two GPUs and two adapters behind each of two switches. */
static void a_switch_for_two(void **state)
{
    const struct pe pes[] = {{"0000:a5:00.0", 0}, {"0000:a4:00.0", 0}, {"0000:b4:00.0", 0}, {"0000:b5:00.0", 0}};
    (void)state;
    add_gpu("pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:04.0/0000:a4:00.0", 0);
    add_gpu("pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:05.0/0000:a5:00.0", 0);
    add_gpu("pci0000:b0/0000:b0:01.0/0000:b1:00.0/0000:b2:04.0/0000:b4:00.0", 0);
    add_gpu("pci0000:b0/0000:b0:01.0/0000:b1:00.0/0000:b2:05.0/0000:b5:00.0", 0);
    add_adapter("mlx5_0", "pci0000:b0/0000:b0:01.0/0000:b1:00.0/0000:b2:06.0/0000:b6:00.0", 0);
    add_adapter("mlx5_1", "pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:06.0/0000:a6:00.0", 0);
    add_adapter("mlx5_2", "pci0000:b0/0000:b0:01.0/0000:b1:00.0/0000:b2:07.0/0000:b7:00.0", 0);
    add_adapter("mlx5_3", "pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:07.0/0000:a7:00.0", 0);
    assert_string_equal(shared(NULL, pes, 4, 2), "1 3 0 2"); /* equals are spread */
    assert_string_equal(shared(NULL, pes, 1, 2), "1+3");
    assert_string_equal(shared(NULL, pes, 1, 1), "1");
    assert_string_equal(shared(NULL, pes, 1, 4), "1+3"); /* the others are farther */
    assert_string_equal(shared(NULL, pes, 2, 2), "1 3");
    assert_string_equal(shared(NULL, pes, 3, 2), "1 3 0+2");
}

/* What NUMA nodes do not show: four GPUs and four adapters at one socket, in pairs behind root ports. */
static void one_socket(void **state)
{
    const struct pe pes[] = {{"0000:41:00.0", 0}, {"0000:31:00.0", 0}, {"0000:21:00.0", 0}, {"0000:11:00.0", 0}};
    (void)state;
    add_gpu("pci0000:10/0000:10:01.0/0000:11:00.0", 0);
    add_gpu("pci0000:20/0000:20:01.0/0000:21:00.0", 0);
    add_gpu("pci0000:30/0000:30:01.0/0000:31:00.0", 0);
    add_gpu("pci0000:40/0000:40:01.0/0000:41:00.0", 0);
    add_adapter("mlx5_0", "pci0000:10/0000:10:02.0/0000:12:00.0", 0);
    add_adapter("mlx5_1", "pci0000:20/0000:20:02.0/0000:22:00.0", 0);
    add_adapter("mlx5_2", "pci0000:30/0000:30:02.0/0000:32:00.0", 0);
    add_adapter("mlx5_3", "pci0000:40/0000:40:02.0/0000:42:00.0", 0);
    assert_string_equal(shared(NULL, pes, 4, 2), "3 2 1 0");
    assert_int_equal(distances[3], ISTHMUS_SAME_HOST_BRIDGE);
}

/* Switches behind a switch: nearer than the host bridge, farther than one switch. */
static void switches_in_a_row(void **state)
{
    const struct pe pes[] = {{"0000:06:00.0", 0}};
    (void)state;
    add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:00.0/0000:06:00.0", 0);
    add_adapter("mlx5_0", "pci0000:00/0000:00:02.0/0000:0a:00.0", 0);
    add_adapter("mlx5_1", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:07:00.0/0000:08:00.0/0000:09:00.0",
                0);
    assert_string_equal(shared(NULL, pes, 1, 2), "1");
    assert_int_equal(distances[0], ISTHMUS_SAME_HOST_BRIDGE);
    assert_int_equal(distances[1], ISTHMUS_SAME_ROOT_PORT);
}

static void without_gpus(void **state)
{
    const struct pe pes[] = {{NULL, 1}, {NULL, 0}, {NULL, -1}};
    (void)state;
    add_adapter("mlx5_0", "pci0000:10/0000:10:01.0/0000:11:00.0", 0);
    add_adapter("mlx5_1", "pci0000:90/0000:90:01.0/0000:91:00.0", 1);
    assert_string_equal(shared(NULL, pes, 2, 2), "1 0");
    assert_string_equal(shared(NULL, pes, 1, 2), "1");       /* the other one is farther */
    assert_string_equal(shared(NULL, &pes[2], 1, 2), "0+1"); /* bound to no node, all are equally near */
    assert_string_equal(shared(NULL, &pes[2], 1, 1), "0");
    assert_string_equal(shared("round_robin", &pes[2], 1, 2), "0"); /* dealt by the user */
    assert_string_equal(shared("mlx5_1", &pes[2], 1, 2), "1");
}

/* Ports that are left over go round by round. */
static void several_rails(void **state)
{
    const struct pe pes[] = {{NULL, -1}, {NULL, -1}, {NULL, -1}};
    char name[24], chain[PATH_ROOM];
    (void)state;
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "mlx5_%d", i);
        snprintf(chain, sizeof chain, "pci0000:%d0/0000:%d0:01.0/0000:%d1:00.0", i, i, i);
        add_adapter(name, chain, 0);
    }
    assert_string_equal(shared(NULL, pes, 3, 2), "0+3 1+4 2+5");
    assert_string_equal(shared(NULL, pes, 2, 3), "0+2+4 1+3+5");
    assert_string_equal(shared(NULL, pes, 2, 2), "0+2 1+3");
    assert_string_equal(shared(NULL, pes, 1, 16), "0+1+2+3+4+5");
}

/* Virtual functions are beside their adapter; in a virtual machine all is on one bus. */
static void virtual_functions(void **state)
{
    const struct pe host[] = {{"0000:3d:00.0", 0}};
    const struct pe guest[] = {{"0000:00:06.0", -1}, {"0000:00:05.0", -1}};
    (void)state;
    add_gpu("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:00.0/0000:3d:00.0", 0);
    add_adapter("mlx5_7", "pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:01.0/0000:3e:00.5", 0);
    assert_string_equal(shared(NULL, host, 1, 2), "0");
    assert_int_equal(distances[0], ISTHMUS_SAME_SWITCH);
    (void)begin(state);
    add_gpu("pci0000:00/0000:00:05.0", -1);
    add_gpu("pci0000:00/0000:00:06.0", -1);
    add_adapter("mlx5_0", "pci0000:00/0000:00:07.0", -1);
    add_adapter("mlx5_1", "pci0000:00/0000:00:08.0", -1);
    assert_string_equal(shared(NULL, guest, 2, 2), "0 1");
    assert_int_equal(distances[0], ISTHMUS_SAME_HOST_BRIDGE);
}

/* Soft-RoCE and Soft-iWARP are on no bus. */
static void adapters_without_pci(void **state)
{
    const struct pe pes[] = {{"0000:11:00.0", 0}, {NULL, 0}};
    (void)state;
    add_gpu("pci0000:10/0000:10:01.0/0000:11:00.0", 0);
    add_adapter("rxe0", NULL, 0);
    add_adapter("rxe1", NULL, 0);
    assert_string_equal(shared(NULL, pes, 2, 2), "0 1");
    assert_int_equal(distances[0], ISTHMUS_FAR);
    assert_string_equal(ports.list[0].place.chain, "");
    assert_int_equal(ports.list[0].place.numa_node, -1);
}

/* A container that hides the GPU's folder, or all of it. */
static void a_part_of_the_system(void **state)
{
    const struct pe pes[] = {{"0000:91:00.0", 1}, {"0000:92:00.0", -1}};
    char path[PATH_ROOM];
    (void)state;
    add_adapter("mlx5_0", "pci0000:10/0000:10:01.0/0000:11:00.0", 0);
    add_adapter("mlx5_1", "pci0000:90/0000:90:01.0/0000:93:00.0", 1);
    assert_string_equal(shared(NULL, pes, 2, 2), "1 0"); /* by the node of the first PE's processors */
    assert_int_equal(distances[1], 10);
    snprintf(path, sizeof path, "%s/nowhere", root);
    memcpy(root, path, sizeof root);
    assert_int_equal(mkdir(root, 0700), 0);
    assert_string_equal(shared(NULL, pes, 2, 2), "0 1");
    assert_int_equal(distances[0], ISTHMUS_FAR);
}

/* ---- chains ---- */

static void chains_of_paths(void **state)
{
    static const char *const rows[][2] = {
        {"/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0"},
        {"/sys/devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
         "pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0"},
        {"/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/"
         "47505500-0001-0000-3130-444531334632/pci0001:00/0001:00:00.0",
         "pci0001:00/0001:00:00.0"},
        {"/sys/devices/platform/40000000.pcie/pci0000:00/0000:00:01.0", "pci0000:00/0000:00:01.0"},
        {"/sys/devices/pci0000:3a/0000:3a:00.0/mlx5_core.sf.4", "pci0000:3a/0000:3a:00.0"},
        {"/sys/devices/virtual/net/eth0", ""},
        {"/home/0000:3b:00.0/nothing", ""},
        {"/", ""},
    };
    char out[ISTHMUS_CHAIN_BYTES], path[600] = "/sys/devices/pci0000:00";
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        isthmus_chain_of(rows[i][0], out);
        assert_string_equal(out, rows[i][1]);
    }
    for (int i = 0; i < 20; i++) memcpy(path + strlen(path), "/0000:00:00.0", sizeof "/0000:00:00.0");
    isthmus_chain_of(path, out);
    assert_string_equal(out, ""); /* too long to be compared as a whole */
}

/* Two functions of one device, and host bridges whose names begin alike. */
static void near_names(void **state)
{
    const struct ib_origin origin = {.place.chain = "pci0000:01/0000:01:01.0/0000:02:00.0", .place.numa_node = -1};
    struct ib_port port = {.place.numa_node = -1, .place.chain = "pci0000:01/0000:01:01.0/0000:02:00.1"};
    (void)state;
    assert_int_equal(ib_distance(root, &origin, &port), ISTHMUS_SAME_SWITCH);
    memcpy(port.place.chain, origin.place.chain, sizeof port.place.chain);
    assert_int_equal(ib_distance(root, &origin, &port), ISTHMUS_SAME_SWITCH);
    memcpy(port.place.chain, "pci0000:0/0000:01:01.0", sizeof "pci0000:0/0000:01:01.0");
    assert_int_equal(ib_distance(root, &origin, &port), ISTHMUS_FAR);
}

static const char *words(uint32_t distance, const struct ib_origin *origin)
{
    static char out[120];
    struct ib_text text = {.start = out, .room = sizeof out};
    ib_distance_describe(&text, distance, origin);
    return out;
}

static void distances_in_words(void **state)
{
    struct ib_origin gpu = {.device = "0000:3b:00.0", .place.numa_node = 1, .is_node_of_device = true};
    struct ib_origin pe = {.place.numa_node = 1};
    (void)state;
    assert_string_equal(words(ISTHMUS_SAME_SWITCH, &gpu), "behind the same PCIe switch as GPU 0000:3b:00.0");
    assert_string_equal(words(ISTHMUS_SAME_ROOT_PORT, &gpu), "behind the same PCIe root port as GPU 0000:3b:00.0");
    assert_string_equal(words(ISTHMUS_SAME_HOST_BRIDGE, &gpu), "behind the same PCIe host bridge as GPU 0000:3b:00.0");
    assert_string_equal(words(21, &gpu), "at distance 21 from NUMA node 1 of GPU 0000:3b:00.0");
    gpu.is_node_of_device = false;
    assert_string_equal(words(21, &gpu), "at distance 21 from NUMA node 1 of this PE");
    gpu.place.numa_node = -1;
    assert_string_equal(words(ISTHMUS_FAR, &gpu), "at an unknown distance from GPU 0000:3b:00.0");
    assert_string_equal(words(10, &pe), "at distance 10 from NUMA node 1 of this PE");
    assert_string_equal(words(ISTHMUS_FAR, &pe), "at an unknown distance from NUMA node 1 of this PE");
    pe.place.numa_node = -1;
    assert_string_equal(words(ISTHMUS_FAR, &pe), "and this PE is bound to no NUMA node");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_switch_for_each_gpu, begin),
        cmocka_unit_test_setup(a_switch_for_two, begin),
        cmocka_unit_test_setup(one_socket, begin),
        cmocka_unit_test_setup(switches_in_a_row, begin),
        cmocka_unit_test_setup(without_gpus, begin),
        cmocka_unit_test_setup(several_rails, begin),
        cmocka_unit_test_setup(virtual_functions, begin),
        cmocka_unit_test_setup(adapters_without_pci, begin),
        cmocka_unit_test_setup(a_part_of_the_system, begin),
        cmocka_unit_test(chains_of_paths),
        cmocka_unit_test(near_names),
        cmocka_unit_test(distances_in_words),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

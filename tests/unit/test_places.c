/* Unit tests of core/transport/places.c with a bootstrap of the test: what a transport learns of the PEs of its host.
 * Where this process itself is bound depends on the machine: the test queries it, and expects no value. */
#include "core/transport/places.h"

#include "core/topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* PEs 3, 5 and 8 of a job of 9 are here; this is PE 5. */
static int here[] = {3, 5, 8};
static int n_puts, n_gets, n_unready;
static size_t value_bytes;
static char device_put[24];

/* What PEs of a host publish for one another; see places.c. */
struct note {
    int32_t numa_node;
    uint32_t has_device_note;
    cpu_set_t cpus;
};
struct device_note {
    uint32_t kind, reserved;
    char pci_address[24];
};

static isthmus_status fake_put(ist_boot *boot, const char *key, const void *value, size_t n_bytes)
{
    struct note note;
    struct device_note device;
    (void)boot;
    n_puts++;
    if (strcmp(key, "place.device") == 0) {
        assert_int_equal(n_bytes, sizeof device);
        memcpy(&device, value, sizeof device);
        memcpy(device_put, device.pci_address, sizeof device_put);
        return ISTHMUS_OK;
    }
    assert_string_equal(key, "place");
    assert_int_equal(n_bytes, sizeof note);
    memcpy(&note, value, sizeof note);
    assert_int_equal(note.numa_node, ist_topo_bound_node());
    return ISTHMUS_OK;
}

/* PE 3 is bound to node 30 and has a device, PE 8 is bound to node 80 and has none. */
static isthmus_status fake_get(ist_boot *boot, int pe, const char *key, void **out, size_t *n_bytes)
{
    (void)boot;
    struct note note = {10 * pe, pe == 3, {{0}}};
    CPU_SET((size_t)(1000 + pe % 2), &note.cpus); /* each PE is bound to a processor of its own */
    const struct device_note device = {.kind = ISTHMUS_MEM_CUDA, .pci_address = "0000:33:00.0"};
    bool is_device = strcmp(key, "place.device") == 0;
    assert_true(is_device || strcmp(key, "place") == 0);
    assert_int_not_equal(pe, 5);
    assert_true(!is_device || pe == 3); /* PE 8 has announced no note */
    n_gets++;
    if (is_device && n_unready-- > 0) return ist_fail(ISTHMUS_ERR_UNREACHABLE, "it is not there");
    *out = calloc(1, sizeof note + sizeof device);
    assert_non_null(*out);
    memcpy(*out, is_device ? (const void *)&device : &note, is_device ? sizeof device : sizeof note);
    *n_bytes = is_device ? sizeof device : value_bytes;
    return ISTHMUS_OK;
}

static const struct ist_boot_ops ops = {.name = "fake", .put = fake_put, .get = fake_get};
static ist_boot boot;

static int set_up(void **state)
{
    (void)state;
    boot = (ist_boot){.ops = &ops, .pe = 5, .n_pes = 9, .n_local = 3, .local_pes = here};
    n_puts = n_gets = n_unready = 0;
    value_bytes = sizeof(struct note);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ist_places_close();
    return 0;
}

static void all_of_the_host_in_order(void **state)
{
    const struct isthmus_local_pe *list, *again;
    uint32_t n;
    (void)state;
    assert_int_equal(ist_places_publish(&boot, "place", false), ISTHMUS_OK);
    assert_int_equal(n_puts, 1);
    assert_int_equal(n_gets, 0); /* not before the first ist_places_get */
    assert_int_equal(ist_places_get(&list, &n), ISTHMUS_OK);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(list[i].pe, here[i]);
    assert_int_equal(list[0].numa_node, 30);
    assert_int_equal(list[1].numa_node, ist_topo_bound_node());
    assert_int_equal(list[2].numa_node, 80);
    assert_int_equal(ist_places_get(&again, &n), ISTHMUS_OK);
    assert_ptr_equal(again, list);
    assert_int_equal(n_gets, 2); /* the others, once */
}

static void who_is_by_himself_publishes_nothing(void **state)
{
    const struct isthmus_local_pe *list;
    uint32_t n;
    (void)state;
    boot.n_local = 1;
    boot.local_pes = &here[1];
    assert_int_equal(ist_places_publish(&boot, "place", false), ISTHMUS_OK);
    assert_int_equal(ist_places_get(&list, &n), ISTHMUS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(list[0].pe, 5);
    assert_int_equal(n_puts + n_gets, 0);
}

static void without_a_bootstrap_there_is_one(void **state)
{
    const struct isthmus_local_pe *list;
    uint32_t n;
    (void)state;
    assert_int_equal(ist_places_get(&list, &n), ISTHMUS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(list[0].pe, 0);
}

static void a_place_of_another_version_is_refused(void **state)
{
    const struct isthmus_local_pe *list;
    uint32_t n;
    (void)state;
    value_bytes = 12;
    assert_int_equal(ist_places_publish(&boot, "place", false), ISTHMUS_OK);
    assert_int_equal(ist_places_get(&list, &n), ISTHMUS_ERR_VERSION);
    assert_non_null(strstr(ist_fail_text(), "PE 3"));
}

/* ---- processors ---- */

static void processors_of_all(void **state)
{
    cpu_set_t before, one;
    int n_cpus;
    size_t first = 0;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) skip();
    while (!CPU_ISSET(first, &before)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(ist_places_publish(&boot, "place", false), ISTHMUS_OK);
    assert_int_equal(ist_places_cpus(&n_cpus), ISTHMUS_OK);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(n_cpus, ist_topo_capped_cpus(3));
    assert_int_equal(n_gets, 2);
}

/* ---- devices ---- */

static void devices_of_all(void **state)
{
    const struct isthmus_local_place *list;
    uint32_t n;
    (void)state;
    n_unready = 3; /* a driver is slow */
    assert_int_equal(ist_places_publish(&boot, "place", true), ISTHMUS_OK);
    assert_int_equal(ist_places_publish_device(ISTHMUS_MEM_CUDA, "00000000:5B:00.0"), ISTHMUS_OK);
    assert_int_equal(ist_places_publish_device(ISTHMUS_MEM_HOST, NULL), ISTHMUS_OK); /* the first one counts */
    assert_int_equal(n_puts, 2);
    assert_string_equal(device_put, "0000:5b:00.0");
    assert_int_equal(ist_places_get_all(&list, &n), ISTHMUS_OK);
    assert_int_equal(n, 3);
    assert_int_equal(list[0].struct_size, sizeof *list);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(list[i].pe, here[i]);
    assert_int_equal(list[0].numa_node, 30);
    assert_int_equal(list[0].kind, ISTHMUS_MEM_CUDA);
    assert_string_equal(list[0].pci_address, "0000:33:00.0");
    assert_string_equal(list[1].pci_address, "0000:5b:00.0");
    assert_int_equal(list[2].kind, ISTHMUS_MEM_HOST);
    assert_null(list[2].pci_address);
    assert_int_equal(n_gets, 2 + 1 + 3);
    assert_int_equal(ist_places_get_all(&list, &n), ISTHMUS_OK);
    assert_int_equal(n_gets, 6);
}

/* Two transports to devices that query each other's device would wait for ever. */
static void not_before_the_own_one_is_published(void **state)
{
    const struct isthmus_local_place *list;
    const struct isthmus_local_pe *pes;
    uint32_t n;
    (void)state;
    assert_int_equal(ist_places_publish(&boot, "place", true), ISTHMUS_OK);
    assert_int_equal(ist_places_get_all(&list, &n), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(ist_places_get(&pes, &n), ISTHMUS_OK);
    assert_int_equal(ist_places_publish_device(ISTHMUS_MEM_CUDA, "no address"), ISTHMUS_OK);
    assert_int_equal(ist_places_get_all(&list, &n), ISTHMUS_OK);
    assert_null(list[1].pci_address);
}

static void where_none_is_announced_none_is_published(void **state)
{
    const struct isthmus_local_place *list;
    uint32_t n;
    (void)state;
    assert_int_equal(ist_places_publish(&boot, "place", false), ISTHMUS_OK);
    assert_int_equal(ist_places_publish_device(ISTHMUS_MEM_CUDA, "0000:5b:00.0"), ISTHMUS_OK);
    assert_int_equal(n_puts, 1);
    assert_int_equal(ist_places_get_all(&list, &n), ISTHMUS_OK);
    assert_null(list[1].pci_address);
    assert_string_equal(list[0].pci_address, "0000:33:00.0");
}

static void without_a_bootstrap_the_own_one(void **state)
{
    const struct isthmus_local_place *list;
    uint32_t n;
    (void)state;
    assert_int_equal(ist_places_publish_device(ISTHMUS_MEM_ZE, "0000:5b:00.0"), ISTHMUS_OK);
    assert_int_equal(ist_places_get_all(&list, &n), ISTHMUS_OK);
    assert_int_equal(n, 1);
    assert_string_equal(list[0].pci_address, "0000:5b:00.0");
    assert_int_equal(n_puts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_the_host_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processors_of_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_by_himself_publishes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_bootstrap_there_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_place_of_another_version_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(devices_of_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_before_the_own_one_is_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_none_is_announced_none_is_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_bootstrap_the_own_one, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

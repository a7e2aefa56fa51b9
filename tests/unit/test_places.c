/* Unit tests of core/transport/places.c with a bootstrap of our own: what a transport is told of the PEs of its host. Where this
 * process itself is bound is the machine's business: it is asked for, and not expected to be anything. */
#include "core/transport/places.h"

#include "core/topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* PEs 3, 5 and 8 of a job of 9 are here; this is PE 5. */
static int here[] = {3, 5, 8};
static int n_puts, n_gets;
static size_t value_bytes;

static isthmus_status fake_put(ist_boot *boot, const char *key, const void *value, size_t n_bytes)
{
    int32_t node;
    (void)boot;
    assert_string_equal(key, "place");
    assert_int_equal(n_bytes, sizeof node);
    memcpy(&node, value, sizeof node);
    assert_int_equal(node, ist_topo_bound_node());
    n_puts++;
    return ISTHMUS_OK;
}

/* PE 3 is bound to node 30, PE 8 to node 80. */
static isthmus_status fake_get(ist_boot *boot, int pe, const char *key, void **out, size_t *n_bytes)
{
    (void)boot;
    int32_t node = 10 * pe;
    assert_string_equal(key, "place");
    assert_int_not_equal(pe, 5);
    *out = calloc(1, 16);
    assert_non_null(*out);
    memcpy(*out, &node, sizeof node);
    *n_bytes = value_bytes;
    n_gets++;
    return ISTHMUS_OK;
}

static const struct ist_boot_ops ops = {.name = "fake", .put = fake_put, .get = fake_get};
static ist_boot boot;

static int set_up(void **state)
{
    (void)state;
    boot = (ist_boot){.ops = &ops, .pe = 5, .n_pes = 9, .n_local = 3, .local_pes = here};
    n_puts = n_gets = 0;
    value_bytes = sizeof(int32_t);
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
    assert_int_equal(ist_places_publish(&boot, "place"), ISTHMUS_OK);
    assert_int_equal(n_puts, 1);
    assert_int_equal(n_gets, 0); /* not before somebody wants to know */
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
    assert_int_equal(ist_places_publish(&boot, "place"), ISTHMUS_OK);
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
    assert_int_equal(ist_places_publish(&boot, "place"), ISTHMUS_OK);
    assert_int_equal(ist_places_get(&list, &n), ISTHMUS_ERR_VERSION);
    assert_non_null(strstr(ist_fail_text(), "PE 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_the_host_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_by_himself_publishes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_bootstrap_there_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_place_of_another_version_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

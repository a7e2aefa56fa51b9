/* tests/unit/test_ib_settings.c: the numbers that users set for ib, and the defaults. */
#include "plugins/ib/ib_settings.h"

#include "tests/unit/ib_test.h"

static const struct isthmus_services services = {
    .struct_size = sizeof services, .config = config, .fail = keep_failure, .n_local_pes = 1};

static isthmus_status read_with(const char *key, const char *value, struct ib_settings *out)
{
    set_variable = key;
    set_value = value;
    return ib_settings_read(&services, out);
}

static void a_number_is_taken(void **state)
{
    struct ib_settings settings;
    (void)state;
    assert_int_equal(read_with("WORKERS", "16", &settings), ISTHMUS_OK);
    assert_int_equal(settings.n_workers, 16);
    assert_int_equal(read_with("TIMEOUT", "1", &settings), ISTHMUS_OK);
    assert_int_equal(settings.timeout_s, 1);
    assert_int_equal(read_with("PEERS", "2147483647", &settings), ISTHMUS_OK);
    assert_int_equal(settings.n_peers, 2147483647);
    assert_int_equal(settings.n_rails, 1);
    assert_int_equal(read_with("RAILS", "", &settings), ISTHMUS_OK);
    assert_int_equal(settings.n_rails, 1);
    assert_int_equal(read_with("RAILS", "16", &settings), ISTHMUS_OK);
    assert_int_equal(settings.n_rails, 16);
}

static void what_is_no_such_number_is_refused_by_name(void **state)
{
    static const char *const wrong[] = {" ", "0", "-1", "17", "four", "4 ", "4k", "99999999999999999999"};
    struct ib_settings settings;
    char expected[100];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read_with("WORKERS", wrong[i], &settings), ISTHMUS_ERR_INVALID);
        snprintf(expected, sizeof expected, "ISTHMUS_IB_WORKERS is '%s'; accepted: 1 to 16", wrong[i]);
        assert_string_equal(failed, expected);
    }
    assert_int_equal(read_with("TIMEOUT", "3601", &settings), ISTHMUS_ERR_INVALID);
    assert_string_equal(failed, "ISTHMUS_IB_TIMEOUT is '3601'; accepted: 1 to 3600");
}

static void workers_follow_the_processors_of_a_pe(void **state)
{
    (void)state;
    assert_int_equal(ib_workers_of_use(128, 128, 1), 4);
    assert_int_equal(ib_workers_of_use(128, 128, 64), 2); /* unbound: its share */
    assert_int_equal(ib_workers_of_use(64, 64, 64), 1);
    assert_int_equal(ib_workers_of_use(2, 128, 64), 2); /* bound: it has these alone */
    assert_int_equal(ib_workers_of_use(1, 128, 64), 1);
    assert_int_equal(ib_workers_of_use(2, 2, 16), 1); /* more PEs than processors */
    assert_int_equal(ib_workers_of_use(8, 8, 0), 4);  /* the number of PEs is unknown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_taken),
        cmocka_unit_test(what_is_no_such_number_is_refused_by_name),
        cmocka_unit_test(workers_follow_the_processors_of_a_pe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

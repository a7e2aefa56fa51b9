/* tests/unit/test_ib_registration.c: which registration a variable chooses, for which memory, and how pinned memory is
 * counted. */
#include "plugins/ib/ib_registration.h"

#include "tests/unit/ib_test.h"

#include <ucp/api/ucp.h>
#include <unistd.h>

static const struct isthmus_services services = {
    .struct_size = sizeof services, .fail = keep_failure, .config = config};

static void expect(const char *value, bool expected)
{
    bool is_on_demand = !expected;
    set_variable = "REGISTRATION";
    set_value = value;
    assert_int_equal(ib_registration_choose(&services, &is_on_demand), ISTHMUS_OK);
    assert_int_equal(is_on_demand, expected);
}

static void variable_chooses(void **state)
{
    (void)state;
    expect(NULL, false);
    expect("", false);
    expect("pinned", false);
    expect("on_demand", true);
    expect("ON_DEMAND", true);
}

static void other_values_are_refused(void **state)
{
    (void)state;
    bool is_on_demand;
    set_variable = "REGISTRATION";
    set_value = "odp";
    assert_int_equal(ib_registration_choose(&services, &is_on_demand), ISTHMUS_ERR_INVALID);
    assert_string_equal(failed, "ISTHMUS_IB_REGISTRATION is 'odp'; valid: pinned, on_demand");
}

static void only_host_memory_is_registered_on_demand(void **state)
{
    (void)state;
    assert_int_equal(ib_registration_flags(true, ISTHMUS_MEM_HOST), UCP_MEM_MAP_NONBLOCK);
    assert_int_equal(ib_registration_flags(true, ISTHMUS_MEM_CUDA), 0);
    assert_int_equal(ib_registration_flags(false, ISTHMUS_MEM_HOST), 0);
}

static void pinned_memory_is_counted(void **state)
{
    (void)state;
    static const char text[] = "VmPeak:\t  9000 kB\nVmPin:\t   2048 kB\nVmHWM:\t  1000 kB\n";
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/status", folder);
    write_file(path, text);
    assert_int_equal(ib_registration_pinned_bytes(path), 2 << 20);
    unlink(path);
    assert_int_equal(ib_registration_pinned_bytes(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variable_chooses),
        cmocka_unit_test(other_values_are_refused),
        cmocka_unit_test(only_host_memory_is_registered_on_demand),
        cmocka_unit_test(pinned_memory_is_counted),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

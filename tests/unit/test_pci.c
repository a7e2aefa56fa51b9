/* Unit tests of core/topo/topo.c: addresses as drivers write them, and as the system does. */
#include "core/topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void as_the_system_writes_them(void **state)
{
    static const char *const rows[][2] = {
        {"0000:3b:00.0", "0000:3b:00.0"},     /* HIP */
        {"0000:3B:1F.7", "0000:3b:1f.7"},     /* CUDA */
        {"00000000:3B:00.0", "0000:3b:00.0"}, /* NVML */
        {"10000:01:00.0", "10000:01:00.0"},   /* a domain of VMD */
        {"0:1:2.3", "0000:01:02.3"},
    };
    char out[IST_PCI_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(ist_pci_normalise(rows[i][0], out));
        assert_string_equal(out, rows[i][1]);
    }
}

static void what_is_none(void **state)
{
    static const char *const rows[] = {
        "",           "ze0",          "3b:00.0", "0000:3b:00", "0000:3b:00.0 ", "0000:3b:00.0/..", "0000: 3b:00.0",
        "-1:3b:00.0", "0000:3b:00.00"};
    char out[IST_PCI_BYTES] = "as it was";
    (void)state;
    assert_false(ist_pci_normalise(NULL, out));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_false(ist_pci_normalise(rows[i], out));
    assert_string_equal(out, "as it was");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_system_writes_them),
        cmocka_unit_test(what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

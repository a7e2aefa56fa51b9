/* Unit tests of core/base/config_alias.def against the list of the specifications: every variable of theirs is known here, and treated
 * as the list says. What each alias does: test_config.c. */
#include "core/base/config_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_alias(const char *name)
{
    for (size_t i = 0; i < ist_n_aliases; i++)
        if (strcmp(ist_aliases[i].name, name) == 0) return true;
    for (size_t i = 0; i < ist_n_exclusions; i++)
        if (strcmp(ist_exclusions[i].name, name) == 0) return true;
    for (size_t i = 0; i < ist_n_plugin_aliases; i++)
        if (strcmp(ist_plugin_aliases[i].name, name) == 0) return true;
    return false;
}

static bool is_in(const struct ist_ignored *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return true;
    return false;
}

enum { HONOUR, ALIAS, WARN, SILENT, SYSTEM };
static const struct row {
    const char *name;
    int wanted;
} rows[] = {
#define ROW(name, wanted) {name, wanted},
#include "environment_rows.def"
};

/* Some that the list ignores have words that mean something here, and others that are warned of. */
static bool is_as_wanted(const struct row *row)
{
    bool alias = is_alias(row->name), silent = is_in(ist_silent_names, ist_n_silent_names, row->name);
    bool ignored = is_in(ist_ignored_names, ist_n_ignored_names, row->name);
    if (alias + silent + ignored != (row->wanted != SYSTEM)) return false;
    switch (row->wanted) {
    case HONOUR: return alias;
    case ALIAS: return alias || ignored;
    case WARN: return ignored || alias;
    case SILENT: return silent;
    default: return true;
    }
}

static void every_variable_of_the_specifications_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!is_as_wanted(&rows[i])) fail_msg("%s is not treated as it should be", rows[i].name);
}

static void plugins_read_other_names_too(void **state)
{
    (void)state;
    setenv("NVSHMEM_IB_GID_INDEX", "3", 1);
    setenv("NVSHMEM_IB_SL", "2", 1);
    setenv("ISTHMUS_IB_SL", "1", 1);
    assert_string_equal(ist_config_plugin_value("ISTHMUS_IB_GID_INDEX"), "3");
    assert_string_equal(ist_config_plugin_value("ISTHMUS_IB_SL"), "1");
    assert_null(ist_config_plugin_value("ISTHMUS_IB_TRAFFIC_CLASS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variable_of_the_specifications_is_known),
        cmocka_unit_test(plugins_read_other_names_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

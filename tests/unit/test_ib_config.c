/* tests/unit/test_ib_config.c: the keys of UCX's configuration: which are set for a UCX of each kind, and what becomes
 * of a key that it lacks. The double accepts the keys of one version, as that version does. */
#include "plugins/ib/ib_config.h"

#include "tests/unit/ib_test.h"

#include <stdbool.h>

/* ---- the double of UCX ---- */

static const struct version {
    const char *text;
    unsigned minor;
    const char *keys; /* each between spaces */
    bool accepts_any; /* and writes a warning later */
} versions[] = {
    {"1.13.1", 13, " TLS TX_SEG_SIZE ", true},
    {"1.16.0", 16, " FENCE_MODE TLS TX_SEG_SIZE ", true},
    {"1.17.0", 17, " FENCE_MODE TLS TCP_TX_SEG_SIZE ", true},
    {"1.20.1", 20, " FENCE_MODE TLS TCP_TX_SEG_SIZE ", false},
    {"1.22.0", 22, " FENCE_MODE TLS TCP_TX_SEG_SIZE ", false},
};
enum { N_VERSIONS = sizeof versions / sizeof *versions };

static const struct version *version;
static char taken[300], missed[300]; /* " KEY=value KEY=value" */
static const char *user_has_set;

static void append(char to[300], const char *name, const char *value)
{
    size_t used = strlen(to);
    snprintf(to + used, 300 - used, " %s=%s", name, value);
}

static ucs_status_t config_modify(ucp_config_t *config, const char *name, const char *value)
{
    (void)config;
    char key[40];
    snprintf(key, sizeof key, " %s ", name);
    bool is_here = strstr(version->keys, key) != NULL;
    append(is_here ? taken : missed, name, value);
    return is_here || version->accepts_any ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

static const char *status_string(ucs_status_t status)
{
    (void)status;
    return "Invalid parameter";
}

struct ib_ucp ib_ucp = {.ucp_config_modify = config_modify, .ucs_status_string = status_string};

bool ib_ucp_is_set(const char *variable) { return user_has_set != NULL && strcmp(variable, user_has_set) == 0; }
const char *ib_ucp_version(void) { return version->text; }
bool ib_ucp_is_at_least(unsigned major, unsigned minor) { return major < 1 || (major == 1 && version->minor >= minor); }
void ib_ucp_reason_begin(void) {}
void ib_ucp_reason(char out[IB_REASON_TEXT_BYTES]) { snprintf(out, IB_REASON_TEXT_BYTES, " (the words of UCX)"); }

/* ---- the double of the core ---- */

static char logged[500];

static void keep_line(void *core, uint32_t level, const char *fmt, ...)
{
    (void)core, (void)level;
    va_list args;
    va_start(args, fmt);
    vsnprintf(logged, sizeof logged, fmt, args);
    va_end(args);
}

static const struct isthmus_services services = {
    .struct_size = sizeof services, .fail = keep_failure, .log = keep_line};

static void begin(const struct version *which)
{
    version = which;
    user_has_set = NULL;
    taken[0] = missed[0] = failed[0] = logged[0] = '\0';
}

/* ---- tests ---- */

static void each_version_takes_all_keys(void **state)
{
    (void)state;
    for (int i = 0; i < N_VERSIONS; i++) {
        begin(&versions[i]);
        assert_int_equal(ib_config_set_all(&services, NULL), ISTHMUS_OK);
        assert_string_equal(missed, "");
        assert_string_equal(logged, "");
        assert_non_null(strstr(taken, " TLS=^sm"));
        assert_non_null(strstr(taken, "TX_SEG_SIZE=64k"));
        assert_true((strstr(taken, " FENCE_MODE=weak") != NULL) == (versions[i].minor >= 16));
    }
}

static void missing_key_is_left_out_in_words(void **state)
{
    (void)state;
    const struct version lacking = {"1.23.4", 23, " ", false};
    begin(&lacking);
    const struct ib_config_key key = {.name = "FUTURE_KEY", .value = "on", .why = "it is faster"};
    assert_int_equal(ib_config_set(&services, NULL, &key), ISTHMUS_OK);
    assert_string_equal(logged, "UCX 1.23.4 does not accept FUTURE_KEY=on: Invalid parameter (the words of UCX); "
                                "left out, it was to be set because it is faster");
    assert_int_equal(ib_config_set_all(&services, NULL), ISTHMUS_OK); /* the optional keys of the table */
}

static void missing_key_that_is_needed_is_named(void **state)
{
    (void)state;
    const struct version lacking = {"1.23.4", 23, " TLS ", false};
    begin(&lacking);
    const struct ib_config_key key = {
        .name = "NET_DEVICES", .value = "mlx5_0:1", .why = "it was chosen", .is_needed = true};
    assert_int_equal(ib_config_set(&services, NULL, &key), ISTHMUS_ERR_UNSUPPORTED);
    assert_non_null(
        strstr(failed, "UCX 1.23.4 does not accept NET_DEVICES=mlx5_0:1: Invalid parameter (the words of UCX)"));
}

static void variable_of_the_user_decides(void **state)
{
    (void)state;
    begin(&versions[N_VERSIONS - 1]);
    user_has_set = "UCX_TCP_RX_SEG_SIZE";
    assert_int_equal(ib_config_set_all(&services, NULL), ISTHMUS_OK);
    assert_null(strstr(taken, "SEG_SIZE"));
}

static void key_without_value_is_not_set(void **state)
{
    (void)state;
    begin(&versions[0]);
    const struct ib_config_key key = {.name = "IB_GID_INDEX", .is_needed = true};
    assert_int_equal(ib_config_set(&services, NULL, &key), ISTHMUS_OK);
    assert_string_equal(taken, "");
    assert_string_equal(missed, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_takes_all_keys),         cmocka_unit_test(missing_key_is_left_out_in_words),
        cmocka_unit_test(missing_key_that_is_needed_is_named), cmocka_unit_test(variable_of_the_user_decides),
        cmocka_unit_test(key_without_value_is_not_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

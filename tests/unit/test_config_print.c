/* tests/unit/test_config_print.c: the table, the short list, JSON and the reference page. */
#include "core/base/config_priv.h"
#include "core/base/json.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct ist_config config;

static void read_with(const char *const *names_and_values)
{
    ist_config_fini(&config);
    clearenv();
    for (; *names_and_values != NULL; names_and_values += 2) setenv(names_and_values[0], names_and_values[1], 1);
    assert_int_equal(ist_config_init(&config, IST_FACE_SHMEM), ISTHMUS_OK);
}
#define READ_WITH(...) read_with((const char *const[]){__VA_ARGS__, NULL})

static int release(void **state)
{
    (void)state;
    ist_config_fini(&config);
    return 0;
}

static char printed[1 << 16];

static void print_with(void (*print)(FILE *out, const struct ist_config *config))
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    print(out, &config);
    fclose(out);
}

static void the_table_has_every_row_within_80_columns(void **state)
{
    (void)state;
    READ_WITH("SHMEM_SYMMETRIC_SIZE", "1536m", "ISTHMUS_SPIN", "1500", "ISTHMUS_COLL_BARRIER", "dissemination",
              "SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES", "1");
    print_with(ist_config_print_table);
    assert_non_null(strstr(printed, "ISTHMUS_HEAP_SIZE              1536m         SHMEM_SYMMETRIC_SIZE\n"));
    assert_non_null(strstr(printed, "ISTHMUS_SPIN                   1500ns        ISTHMUS_SPIN\n"));
    assert_non_null(strstr(printed, "ISTHMUS_TRANSPORTS             -             default\n"));
    for (size_t row = 0; row < IST_N_VARS; row++) assert_non_null(strstr(printed, ist_vars[row].name));
    for (size_t i = 0; i < ist_n_aliases; i++) assert_non_null(strstr(printed, ist_aliases[i].name));
    assert_null(strstr(printed, "JOB_SECRET"));
    char *rest = printed;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strlen(line) > 80) fail_msg("%s", line);
}

static void the_short_list_has_what_is_set(void **state)
{
    (void)state;
    READ_WITH("SHMEM_DEBUG", "1", "ISTHMUS_ALIAS", "0");
    print_with(ist_config_print_set);
    assert_string_equal(printed, "  ISTHMUS_ALIAS = false\n  ISTHMUS_LOG = debug (set by SHMEM_DEBUG)\n");
    READ_WITH(NULL);
    print_with(ist_config_print_set);
    assert_string_equal(printed, "  none\n");
}

static void json_of(const struct ist_config *what)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    struct ist_json json = {.out = out};
    ist_config_print_json(&json, NULL, what);
    fclose(out);
}

static void json_has_typed_values(void **state)
{
    (void)state;
    READ_WITH("SHMEM_SYMMETRIC_SIZE", "1k", "ISTHMUS_SPIN", "1us", "ISTHMUS_TRANSPORTS", "\"\\\x01\xff\xc3\xa9");
    json_of(&config);
    assert_non_null(strstr(printed,
                           "\"name\": \"ISTHMUS_HEAP_SIZE\",\n    \"type\": \"size\",\n    \"unit\": \"bytes\",\n"
                           "    \"value\": 1024,\n    \"set_by\": \"SHMEM_SYMMETRIC_SIZE\",\n"));
    assert_non_null(strstr(printed, "\"value\": \"\\\"\\\\\\u0001\\ufffd\xc3\xa9\",\n"));
    assert_non_null(strstr(printed, "\"value\": 1000,\n"));
    READ_WITH(NULL);
    json_of(&config);
    assert_non_null(strstr(printed, "\"value\": null,\n    \"set_by\": null,\n    \"default\": null,\n"));
    assert_non_null(strstr(printed, "\"value\": \"auto\",\n"));
    assert_non_null(strstr(printed, "\"value\": true,\n"));
    struct ist_config zero = {0};
    json_of(&zero);
}

static void the_page_has_every_name(void **state)
{
    (void)state;
    FILE *out = fmemopen(printed, sizeof printed, "w");
    ist_config_print_markdown(out);
    fclose(out);
    for (size_t row = 0; row < IST_N_VARS; row++) assert_non_null(strstr(printed, ist_vars[row].name));
    for (size_t i = 0; i < ist_n_aliases; i++) assert_non_null(strstr(printed, ist_aliases[i].name));
    for (size_t i = 0; i < ist_n_ignored_names; i++) assert_non_null(strstr(printed, ist_ignored_names[i].name));
}

int main(void)
{
#define PRINT_TEST(name) cmocka_unit_test_teardown(name, release)
    const struct CMUnitTest tests[] = {
        PRINT_TEST(the_table_has_every_row_within_80_columns),
        PRINT_TEST(the_short_list_has_what_is_set),
        PRINT_TEST(json_has_typed_values),
        PRINT_TEST(the_page_has_every_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tests/unit/test_config_value.c: sizes and booleans from text, and every type back to text. */
#include "core/base/config_priv.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"00512", 512},
        {"1k", KIB},
        {"1K", KIB},
        {"512m", 512 * MIB},
        {"512MB", 512 * MIB},
        {"20kk", 20 * KIB},
        {"2G", 2 * GIB},
        {"3t and more", 3 * TIB},
        {"3.1M", 3250586}, /* 3250585.6 */
        {".5m", 512 * KIB},
        {"1.", 1},
        {"1.k", KIB},
        {"0.5", 1},
        {"0.0000000000000000000000000001", 1},
        {"1.0000000000000000000000000001k", KIB + 1},
        {"1.0000000000000000000000000000k", KIB},
        {"0.999999999999999999999g", GIB},
        {"1.5t", 3 * TIB / 2},
        {"4611686018427387904", UINT64_C(1) << 62},
        {"4194304t", UINT64_C(1) << 62},
        {"0000000000000000000000000000000000000000000000000000000000001g", GIB},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t bytes = 99;
        if (ist_config_parse_size(good[i].text, &bytes) != ISTHMUS_OK || bytes != good[i].bytes)
            fail_msg("%s: expected %llu, seen %llu", good[i].text, (unsigned long long)good[i].bytes,
                     (unsigned long long)bytes);
    }
}

static const char *const bad_sizes[] = {
    "abc",
    "-1",
    "-0",
    "+1",
    "",
    " ",
    " 1",
    "1 k",
    "nan",
    "inf",
    "infinity",
    "0x10",
    "1e9",
    ".",
    ".k",
    "k",
    "1..5",
    "1,5",
    "1x",
    "1b",
    "4611686018427387905",
    "4611686018427387904.1",
    "4194304.0001t",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551617k",
    "99999999999999999999999999999999999999",
    "16777216t",
    "\xc2\xb2",
    "1\xc2\xa0k",
    "\n1",
    "1\n",
};
#define N_BAD_SIZES (sizeof bad_sizes / sizeof *bad_sizes)

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_BAD_SIZES; i++) {
        uint64_t bytes = 99;
        if (ist_config_parse_size(bad_sizes[i], &bytes) != ISTHMUS_ERR_INVALID || bytes != 99)
            fail_msg("'%s': expected INVALID, seen %llu", bad_sizes[i], (unsigned long long)bytes);
    }
}

static void booleans_have_six_words_for_false(void **state)
{
    (void)state;
    static const char *const no[] = {"0", "n", "no", "f", "false", "off", "N", "No", "F", "FALSE", "Off"};
    static const char *const yes[] = {"", "1", "y", "yes", "true", "on", "00", "nope", "falsely", " 0", "2"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) assert_false(ist_text_is_true(no[i]));
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) assert_true(ist_text_is_true(yes[i]));
}

/* A printed value, read again, is the same value. */
static void printed_values_are_accepted_again(void **state)
{
    (void)state;
    static const struct {
        enum ist_var_row row;
        const char *text, *printed;
    } cases[] = {
        {IST_ROW_heap_size_bytes, "1536m", "1536m"},
        {IST_ROW_heap_size_bytes, "1025", "1025"},
        {IST_ROW_heap_size_bytes, "1024k", "1m"},
        {IST_ROW_heap_size_bytes, "2048t", "2048t"},
        {IST_ROW_heap_size_bytes, "4194304t", "4194304t"},
        {IST_ROW_spin_ns, "auto", "auto"},
        {IST_ROW_spin_ns, "0", "0ns"},
        {IST_ROW_spin_ns, "1500", "1500ns"},
        {IST_ROW_spin_ns, "2000us", "2ms"},
        {IST_ROW_peer_timeout_s, "5s", "5"},
        {IST_ROW_heap_pages, "1g", "1G"},
        {IST_ROW_alias, "", "true"},
        {IST_ROW_alias, "Off", "false"},
        {IST_ROW_transports, "^a,b", "^a,b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ist_var *var = &ist_vars[cases[i].row];
        struct ist_value value, again;
        char text[IST_VALUE_TEXT_BYTES];
        assert_true(ist_value_parse(var, cases[i].text, &value));
        ist_value_print(var, &value, text, sizeof text);
        assert_string_equal(text, cases[i].printed);
        assert_true(ist_value_parse(var, text, &again));
        assert_true(ist_value_equal(&value, &again));
    }
}

static void long_and_wild_texts_are_printed_on_one_line(void **state)
{
    (void)state;
    static char endless[1000];
    char text[IST_VALUE_TEXT_BYTES];
    memset(endless, '\n', sizeof endless - 1);
    struct ist_value value = {.text = endless};
    ist_value_print(&ist_vars[IST_ROW_transports], &value, text, sizeof text);
    assert_int_equal(strlen(text), IST_VALUE_TEXT_BYTES - 1);
    assert_null(strchr(text, '\n'));
    assert_string_equal(text + IST_VALUE_TEXT_BYTES - 5, " ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(booleans_have_six_words_for_false),
        cmocka_unit_test(printed_values_are_accepted_again),
        cmocka_unit_test(long_and_wild_texts_are_printed_on_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

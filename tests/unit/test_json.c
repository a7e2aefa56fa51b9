/* tests/unit/test_json.c: what the writer writes: structure, escapes, bytes that are no text. */
#include "core/base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char printed[1 << 16];

static void structure_is_indented_and_commas_are_between(void **state)
{
    (void)state;
    FILE *out = fmemopen(printed, sizeof printed, "w");
    struct ist_json json = {.out = out};
    ist_json_begin_object(&json, NULL);
    ist_json_number(&json, "most", UINT64_MAX);
    ist_json_integer(&json, "least", INT64_MIN);
    ist_json_begin_array(&json, "list");
    ist_json_bool(&json, NULL, true);
    ist_json_begin_array(&json, NULL);
    ist_json_end_array(&json);
    ist_json_begin_object(&json, NULL);
    ist_json_end_object(&json);
    ist_json_end_array(&json);
    ist_json_null(&json, "nothing");
    ist_json_end_object(&json);
    fclose(out);
    assert_string_equal(printed, "{\n"
                                 "  \"most\": 18446744073709551615,\n"
                                 "  \"least\": -9223372036854775808,\n"
                                 "  \"list\": [\n"
                                 "    true,\n"
                                 "    [],\n"
                                 "    {}\n"
                                 "  ],\n"
                                 "  \"nothing\": null\n"
                                 "}\n");
}

static void assert_written(const char *text, const char *expected)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    struct ist_json json = {.out = out};
    ist_json_string(&json, NULL, text);
    fclose(out);
    assert_string_equal(printed, expected);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    assert_written("", "\"\"");
    assert_written("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    assert_written("\n\r\t\b\x01\x1f\x7f", "\"\\n\\r\\t\\u0008\\u0001\\u001f\\u007f\"");
    assert_written(NULL, "null");
}

static void utf8_stays_and_other_bytes_are_replaced(void **state)
{
    (void)state;
    assert_written("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_written("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"");             /* U+10FFFF */
    assert_written("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* above it */
    assert_written("\xc0\xaf", "\"\\ufffd\\ufffd\"");                       /* overlong */
    assert_written("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"");            /* overlong */
    assert_written("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");            /* surrogate */
    assert_written("\xff\xfe", "\"\\ufffd\\ufffd\"");
    assert_written("\x80", "\"\\ufffd\"");
    assert_written("a\xe2\x82", "\"a\\ufffd\\ufffd\""); /* ends in the middle: nothing past the end is read */
    assert_written("\xf0\x9f", "\"\\ufffd\\ufffd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structure_is_indented_and_commas_are_between),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(utf8_stays_and_other_bytes_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tests/unit/test_mac.c: tags are those of SipHash-2-4 with 128 bits (the authors' test vectors), and comparisons cover
 * every byte. */
#include "core/base/mac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Key 00 01 .. 0f, message 00 01 .. of n bytes. */
static void tags_are_those_of_the_authors(void **state)
{
    (void)state;
    static const struct {
        size_t n_bytes;
        uint8_t tag[IST_TAG_BYTES];
    } vectors[] = {
        {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}},
        {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}},
        {7, {0xa1, 0xf1, 0xeb, 0xbe, 0xd8, 0xdb, 0xc1, 0x53, 0xc0, 0xb8, 0x4a, 0xa6, 0x1f, 0xf0, 0x82, 0x39}},
        {8, {0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97, 0xb4}},
        {9, {0x26, 0x44, 0x99, 0x06, 0x0a, 0xd9, 0xba, 0xab, 0xc4, 0x7f, 0x8b, 0x02, 0xbb, 0x6d, 0x71, 0xed}},
        {15, {0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3, 0xd9}},
        {16, {0x6e, 0xe2, 0xa4, 0xca, 0x67, 0xb0, 0x54, 0xbb, 0xfd, 0x33, 0x15, 0xbf, 0x85, 0x23, 0x05, 0x77}},
        {63, {0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd, 0x7c}},
    };
    uint8_t key[IST_KEY_BYTES], message[64], tag[IST_TAG_BYTES];
    for (uint8_t i = 0; i < sizeof key; i++) key[i] = i;
    for (uint8_t i = 0; i < sizeof message; i++) message[i] = i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        ist_mac(key, message, vectors[i].n_bytes, tag);
        assert_memory_equal(tag, vectors[i].tag, sizeof tag);
    }
}

static void every_byte_is_compared(void **state)
{
    (void)state;
    uint8_t a[IST_TAG_BYTES] = {0}, b[IST_TAG_BYTES] = {0};
    assert_true(ist_same_bytes(a, b, sizeof a));
    for (size_t bit = 0; bit < 8 * sizeof a; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(ist_same_bytes(a, b, sizeof a));
        b[bit / 8] = 0;
    }
}

static void keys_are_32_digits(void **state)
{
    (void)state;
    uint8_t key[IST_KEY_BYTES];
    assert_true(ist_key_parse("00112233445566778899aabbccddeeff", key));
    assert_int_equal(key[1], 0x11);
    assert_int_equal(key[15], 0xff);
    static const char *const wrong[] = {"", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeefff",
                                        "00112233445566778899aabbccddeefg", "00112233445566778899AABBCCDDEEFF"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(ist_key_parse(wrong[i], key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_those_of_the_authors),
        cmocka_unit_test(every_byte_is_compared),
        cmocka_unit_test(keys_are_32_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

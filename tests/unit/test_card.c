/* tests/unit/test_card.c: cards to bytes and back; bytes of a peer are never trusted. */
#include "core/boot/card.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FLIPS = 200000, NOISE = 50000 };

static const char long_key[] =
    "a key that is as long as a key may be, give or take, with bytes of every kind: \x01\xff\x80";

/* A card with something in every field. */
static struct ist_card_room room; /* of what full_card() makes */

static struct ist_card full_card(void)
{
    struct ist_card card = {
        .pe = 3,
        .pid = 4711,
        .numa_node = -1,
        .n_cpus = 96,
        .heap_limit_bytes = (uint64_t)1 << 40,
        .job = UINT64_C(0xfedcba9876543210),
        .agreement = "version=1;alias=1",
        .n_transports = 2,
        .n_segments = 3,
    };
    ist_card_use_room(&card, &room);
    memcpy(card.host.bytes, "0123456789abcdef01234567", sizeof card.host.bytes);
    memcpy(card.host_name, "node17", 7);
    memcpy(card.transports[0].name, "loopback", 9);
    card.transports[0].card = (struct ist_blob){"\0\1\2\3", 4};
    memcpy(card.transports[1].name, "abcdefghijklmno", 16); /* the longest */
    card.transports[1].card = (struct ist_blob){NULL, 0};
    for (uint32_t s = 0; s < card.n_segments; s++) {
        card.segments[s].id = s == 2 ? IST_CARD_SEGMENT_IDS - 1 : s;
        card.segments[s].kind = s;
        card.segments[s].base = 0x7f0000000000u + s;
        card.segments[s].length_bytes = UINT64_MAX - s;
        card.segments[s].left_out = (struct ist_blob){long_key, s * IST_SPAN_BYTES};
        card.segments[s].keys[0] = (struct ist_blob){long_key, sizeof long_key};
        card.segments[s].keys[1] = (struct ist_blob){long_key, s};
    }
    return card;
}

/* A copy of its own, exactly as large: AddressSanitizer reports a read beyond it. */
static void *copy_of(const void *bytes, size_t n_bytes)
{
    void *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    assert_non_null(copy);
    if (n_bytes > 0) memcpy(copy, bytes, n_bytes);
    return copy;
}

static void *write_card(const struct ist_card *card, size_t *n_bytes)
{
    void *bytes = NULL;
    assert_int_equal(ist_card_write(card, &bytes, n_bytes), ISTHMUS_OK);
    return bytes;
}

static void assert_blob_equal(const struct ist_blob *a, const struct ist_blob *b)
{
    assert_int_equal(a->length_bytes, b->length_bytes);
    if (a->length_bytes > 0) assert_memory_equal(a->bytes, b->bytes, a->length_bytes);
}

static void every_field_comes_back(void **state)
{
    (void)state;
    struct ist_card card = full_card(), read;
    size_t n_bytes;
    void *bytes = write_card(&card, &n_bytes);
    assert_int_equal(ist_card_read(bytes, n_bytes, &read), ISTHMUS_OK);
    assert_int_equal(read.pe, card.pe);
    assert_int_equal(read.pid, card.pid);
    assert_int_equal(read.numa_node, -1);
    assert_int_equal(read.n_cpus, 96);
    assert_int_equal(read.failure, ISTHMUS_OK);
    assert_memory_equal(read.host.bytes, card.host.bytes, sizeof card.host.bytes);
    assert_string_equal(read.host_name, "node17");
    assert_true(read.heap_limit_bytes == card.heap_limit_bytes);
    assert_true(read.job == card.job);
    assert_string_equal(read.agreement, card.agreement);
    assert_int_equal(read.n_transports, 2);
    assert_int_equal(read.n_segments, 3);
    for (uint32_t t = 0; t < 2; t++) {
        assert_string_equal(read.transports[t].name, card.transports[t].name);
        assert_blob_equal(&read.transports[t].card, &card.transports[t].card);
    }
    for (uint32_t s = 0; s < 3; s++) {
        assert_int_equal(read.segments[s].id, card.segments[s].id);
        assert_int_equal(read.segments[s].kind, card.segments[s].kind);
        assert_true(read.segments[s].base == card.segments[s].base);
        assert_true(read.segments[s].length_bytes == card.segments[s].length_bytes);
        assert_blob_equal(&read.segments[s].left_out, &card.segments[s].left_out);
        for (uint32_t t = 0; t < 2; t++) assert_blob_equal(&read.segments[s].keys[t], &card.segments[s].keys[t]);
    }
    ist_card_fini(&read);
}

static void spans_touch_what_shares_a_byte_with_them(void **state)
{
    (void)state;
    uint8_t bytes[2][IST_SPAN_BYTES];
    const struct ist_blob spans = {bytes, sizeof bytes}, none = {NULL, 0};
    ist_span_write(bytes[0], 4096, 8192);
    ist_span_write(bytes[1], UINT64_MAX - 4095, 4096);
    assert_false(ist_spans_touch(&none, 0, UINT64_MAX));
    assert_false(ist_spans_touch(&spans, 0, 4096));
    assert_true(ist_spans_touch(&spans, 0, 4097));
    assert_true(ist_spans_touch(&spans, 4096, 1));
    assert_true(ist_spans_touch(&spans, 12287, 100));
    assert_false(ist_spans_touch(&spans, 12288, 100));
    assert_true(ist_spans_touch(&spans, 12288, UINT64_MAX - 12288));
    assert_true(ist_spans_touch(&spans, UINT64_MAX, 1));
}

static void a_card_of_failure_comes_back(void **state)
{
    (void)state;
    struct ist_card card = {.pe = 1, .failure = ISTHMUS_ERR_NO_MEMORY, .failure_text = "no memory for the heap"}, read;
    size_t n_bytes;
    void *bytes = write_card(&card, &n_bytes);
    assert_int_equal(ist_card_read(bytes, n_bytes, &read), ISTHMUS_OK);
    assert_int_equal(read.failure, ISTHMUS_ERR_NO_MEMORY);
    assert_string_equal(read.failure_text, "no memory for the heap");
    assert_int_equal(read.n_segments, 0);
    ist_card_fini(&read);
}

static void a_full_house_comes_back(void **state)
{
    (void)state;
    static struct ist_card card, read;
    size_t n_bytes;
    card = full_card();
    card.n_transports = IST_CARD_MAX_TRANSPORTS;
    card.n_segments = IST_CARD_MAX_SEGMENTS;
    for (uint32_t t = 0; t < card.n_transports; t++) snprintf(card.transports[t].name, 16, "t%u", t);
    for (uint32_t s = 0; s < card.n_segments; s++) card.segments[s].id = s;
    void *bytes = write_card(&card, &n_bytes);
    assert_int_equal(ist_card_read(bytes, n_bytes, &read), ISTHMUS_OK);
    assert_int_equal(read.n_transports, IST_CARD_MAX_TRANSPORTS);
    assert_string_equal(read.transports[15].name, "t15");
    assert_int_equal(read.segments[15].id, 15);
    ist_card_fini(&read);
}

static void a_trimmed_card_keeps_what_paths_need(void **state)
{
    (void)state;
    struct ist_card card = full_card(), read;
    size_t n_bytes;
    card.liveness = (struct ist_blob){"where", 6};
    void *bytes = write_card(&card, &n_bytes);
    assert_int_equal(ist_card_read(bytes, n_bytes, &read), ISTHMUS_OK);
    ist_card_trim(&read);
    assert_string_equal(read.host_name, "node17");
    assert_int_equal(read.n_transports, 2);
    assert_string_equal(read.transports[0].name, "loopback");
    for (uint32_t t = 0; t < 2; t++) assert_blob_equal(&read.transports[t].card, &card.transports[t].card);
    assert_blob_equal(&read.liveness, &card.liveness);
    assert_string_equal(read.agreement, "");
    assert_int_equal(read.n_segments, 0);
    ist_card_trim(&read);
    ist_card_fini(&read);
}

static void fini_takes_a_zeroed_card(void **state)
{
    (void)state;
    struct ist_card card;
    memset(&card, 0, sizeof card);
    ist_card_fini(&card);
    ist_card_fini(&card);
}

/* ---- damage ---- */

static void a_card_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct ist_card card = full_card(), read;
    size_t n_bytes;
    void *bytes = write_card(&card, &n_bytes);
    for (size_t cut = 0; cut < n_bytes; cut++) {
        assert_int_equal(ist_card_read(copy_of(bytes, cut), cut, &read), ISTHMUS_ERR_VERSION);
        assert_true(ist_fail_text()[0] != '\0');
    }
    free(bytes);
}

static void bytes_after_the_end_are_refused(void **state)
{
    (void)state;
    struct ist_card card = full_card(), read;
    size_t n_bytes;
    char *bytes = write_card(&card, &n_bytes);
    char *longer = malloc(n_bytes + 1);
    assert_non_null(longer);
    memcpy(longer, bytes, n_bytes);
    longer[n_bytes] = 0;
    assert_int_equal(ist_card_read(longer, n_bytes + 1, &read), ISTHMUS_ERR_VERSION);
    free(bytes);
}

static void another_version_is_named(void **state)
{
    (void)state;
    struct ist_card card = full_card(), read;
    size_t n_bytes;
    unsigned char *bytes = write_card(&card, &n_bytes);
    bytes[4] = 77; /* after the magic: the version */
    assert_int_equal(ist_card_read(bytes, n_bytes, &read), ISTHMUS_ERR_VERSION);
    assert_non_null(strstr(ist_fail_text(), "version 77"));
}

static uint64_t next_random(uint64_t *seed) /* xorshift64 */
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static bool is_inside(const struct ist_card *card, size_t n_bytes, const void *at, size_t length)
{
    uintptr_t begin = (uintptr_t)card->buffer, p = (uintptr_t)at;
    return length == 0 || (p >= begin && length <= n_bytes && p - begin <= n_bytes - length);
}

/* An accepted card points into its own bytes, and its texts end there. */
static void check_accepted(const struct ist_card *card, size_t n_bytes)
{
    assert_true(card->n_transports <= IST_CARD_MAX_TRANSPORTS && card->n_segments <= IST_CARD_MAX_SEGMENTS);
    assert_true(strlen(card->host_name) < sizeof card->host_name);
    assert_true(is_inside(card, n_bytes, card->agreement, strlen(card->agreement) + 1));
    assert_true(is_inside(card, n_bytes, card->failure_text, strlen(card->failure_text) + 1));
    for (uint32_t t = 0; t < card->n_transports; t++) {
        const struct ist_blob *blob = &card->transports[t].card;
        assert_true(is_inside(card, n_bytes, blob->bytes, blob->length_bytes));
        assert_true(strlen(card->transports[t].name) < sizeof card->transports[t].name);
        for (uint32_t s = 0; s < card->n_segments; s++) {
            const struct ist_blob *key = &card->segments[s].keys[t];
            assert_true(is_inside(card, n_bytes, key->bytes, key->length_bytes));
        }
    }
}

static void read_damaged(const void *bytes, size_t n_bytes)
{
    static struct ist_card read;
    isthmus_status status = ist_card_read(copy_of(bytes, n_bytes), n_bytes, &read);
    if (status == ISTHMUS_OK) {
        check_accepted(&read, n_bytes);
        ist_card_fini(&read);
    } else {
        assert_int_equal(status, ISTHMUS_ERR_VERSION);
    }
}

static void flipped_bits_do_no_harm(void **state)
{
    (void)state;
    struct ist_card card = full_card();
    size_t n_bytes;
    unsigned char *good = write_card(&card, &n_bytes);
    uint64_t seed = 0x123456789abcdef;
    unsigned char *bytes = copy_of(good, n_bytes);
    for (int i = 0; i < FLIPS; i++) {
        memcpy(bytes, good, n_bytes);
        for (uint64_t flips = 1 + next_random(&seed) % 4; flips > 0; flips--)
            bytes[next_random(&seed) % n_bytes] ^= (unsigned char)(1u << next_random(&seed) % 8);
        read_damaged(bytes, n_bytes);
    }
    free(bytes);
    free(good);
}

/* Random bytes after a valid beginning of any length, so that each field is read from them in some runs. */
static void noise_does_no_harm(void **state)
{
    (void)state;
    struct ist_card card = full_card();
    size_t n_bytes;
    unsigned char *good = write_card(&card, &n_bytes);
    uint64_t seed = 0xfedcba987654321;
    unsigned char *bytes = malloc(2 * n_bytes);
    assert_non_null(bytes);
    for (int i = 0; i < NOISE; i++) {
        size_t keep = next_random(&seed) % n_bytes, total = keep + next_random(&seed) % n_bytes;
        memcpy(bytes, good, keep);
        for (size_t b = keep; b < total; b++)
            bytes[b] = next_random(&seed) % 3 == 0 ? (unsigned char)next_random(&seed) : 0;
        read_damaged(bytes, total);
    }
    free(bytes);
    free(good);
}

/* Two extents of one number would be attached in one place. */
static void each_segment_comes_once(void **state)
{
    (void)state;
    struct ist_card card = full_card(), read;
    size_t n_bytes;
    card.segments[2].id = card.segments[0].id;
    void *bytes = write_card(&card, &n_bytes);
    assert_int_equal(ist_card_read(bytes, n_bytes, &read), ISTHMUS_ERR_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(a_card_of_failure_comes_back),
        cmocka_unit_test(spans_touch_what_shares_a_byte_with_them),
        cmocka_unit_test(a_full_house_comes_back),
        cmocka_unit_test(a_trimmed_card_keeps_what_paths_need),
        cmocka_unit_test(fini_takes_a_zeroed_card),
        cmocka_unit_test(a_card_cut_anywhere_is_refused),
        cmocka_unit_test(bytes_after_the_end_are_refused),
        cmocka_unit_test(another_version_is_named),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(noise_does_no_harm),
        cmocka_unit_test(each_segment_comes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

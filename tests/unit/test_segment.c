/* Unit tests of core/transport/segment.c: which registration holds a local operand in symmetric memory. Transports of
 * the test:
 * 0 takes a segment once and whole, 1 in extents, 2 is not open. */
#include "core/transport/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WHOLE, EXTENTS, CLOSED, LENGTH = 4096, FIRST = 1024 };
enum { KEY_BYTE = 0x6b };
static char memory[LENGTH], other[64];
static size_t n_key_bytes;

/* The registration is the address of what was exposed. */
static isthmus_status fake_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                                  isthmus_lmem **out)
{
    (void)tr;
    assert_true(*key_bytes >= ISTHMUS_KEY_MAX_BYTES);
    *key_bytes = n_key_bytes;
    memset(key, KEY_BYTE, n_key_bytes);
    *out = (isthmus_lmem *)mem->addr;
    return ISTHMUS_OK;
}

static void fake_unregister(isthmus_lmem *lmem) { (void)lmem; }

static char published[8][96]; /* keys; empty: room for one */

static char *find_key(const char *key)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (strcmp(published[i], key) == 0) return published[i];
    return NULL;
}

static isthmus_status fake_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    (void)tr, (void)buf;
    *length_bytes = 0;
    return ISTHMUS_OK;
}

static isthmus_status fake_put(ist_boot *boot, const char *key, const void *value, size_t value_bytes)
{
    (void)boot, (void)value, (void)value_bytes;
    assert_null(find_key(key)); /* an earlier look-up may be in a cache */
    char *room = find_key("");
    assert_non_null(room); /* else keys accumulate */
    snprintf(room, sizeof *published, "%s", key);
    return ISTHMUS_OK;
}

static isthmus_status fake_remove(ist_boot *boot, const char *key)
{
    (void)boot;
    char *found = find_key(key);
    assert_non_null(found);
    found[0] = '\0';
    return ISTHMUS_OK;
}

static int count_keys(void)
{
    int n = 0;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) n += published[i][0] != '\0';
    return n;
}

static const struct ist_boot_ops boot_ops = {.name = "fake", .put = fake_put, .remove = fake_remove};
static ist_boot boot = {.ops = &boot_ops, .n_pes = 1};

static int set_up(void **state)
{
    n_key_bytes = *state != NULL ? *(const size_t *)*state : 1;
    memset(&ist_registry, 0, sizeof ist_registry);
    ist_registry.n = 3;
    for (uint32_t i = 0; i < CLOSED; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        t->state = IST_TRANSPORT_OPEN;
        t->traits.kinds_expose = 1u << ISTHMUS_MEM_HOST;
        t->ops.card = fake_card;
        t->ops.expose = fake_expose;
        t->ops.unregister_local = fake_unregister;
    }
    ist_registry.list[WHOLE].traits.traits = ISTHMUS_TRAIT_SPARSE;
    struct isthmus_mem mem = {
        .struct_size = sizeof mem, .device = -1, .fd = -1, .addr = memory, .length_bytes = LENGTH};
    return ist_segment_expose(IST_SEGMENT_HEAP, "the symmetric heap", &mem, FIRST);
}

static int tear_down(void **state)
{
    (void)state;
    ist_segments_withdraw();
    return 0;
}

static void *found(uint32_t transport, const void *addr, size_t length_bytes)
{
    return (void *)(uintptr_t)ist_segment_lmem(transport, addr, length_bytes);
}

static void extents_have_their_own(void **state)
{
    (void)state;
    assert_ptr_equal(found(EXTENTS, memory, FIRST), memory);
    assert_null(found(EXTENTS, memory + FIRST - 1, 2)); /* its end is not exposed */
    assert_null(found(EXTENTS, memory + FIRST, 1));
    assert_int_equal(ist_segment_grow(&boot, "card", IST_SEGMENT_HEAP, 2 * FIRST, 1), ISTHMUS_OK);
    assert_ptr_equal(found(EXTENTS, memory + FIRST - 1, 1), memory);
    assert_ptr_equal(found(EXTENTS, memory + FIRST, FIRST), memory + FIRST);
    assert_null(found(EXTENTS, memory + FIRST - 1, 2)); /* in two */
}

static void a_whole_one_is_whole(void **state)
{
    (void)state;
    assert_ptr_equal(found(WHOLE, memory + FIRST - 1, LENGTH - FIRST + 1), memory);
    assert_null(found(WHOLE, memory + 1, LENGTH));
}

static void others_have_none(void **state)
{
    (void)state;
    assert_null(found(CLOSED, memory, 1));
    assert_null(found(EXTENTS, other, 1));
    assert_null(found(WHOLE, other, 1));
}

static void keys_of_what_is_gone_are_removed(void **state)
{
    (void)state;
    enum { ROUNDS = 1000 };
    struct isthmus_mem mem = {
        .struct_size = sizeof mem, .device = -1, .fd = -1, .addr = other, .length_bytes = sizeof other};
    memset(published, 0, sizeof published);
    for (uint32_t number = 1; number <= ROUNDS; number++) {
        uint32_t id;
        assert_int_equal(ist_segment_expose_late(&boot, "card", number, "a buffer", &mem, &id), ISTHMUS_OK);
        ist_segment_show_late(id, number);
        assert_int_equal(count_keys(), 1);
        ist_segment_show_late(id, 0);
        ist_segment_withdraw_late(&boot, "card", id);
        assert_int_equal(ist_segment_grow(&boot, "card", IST_SEGMENT_HEAP, 2 * FIRST, number), ISTHMUS_OK);
        assert_int_equal(count_keys(), 1);
        ist_segment_shrink(&boot, "card", IST_SEGMENT_HEAP);
        assert_int_equal(count_keys(), 0);
    }
}

/* UCX writes a part for each network into a key: CUDA's alone has more than 256 bytes from UCX 1.18 on. */
static void the_longest_key_reaches_the_card(void **state)
{
    (void)state;
    static struct ist_card_room room;
    struct ist_card card = {.pe = 0};
    ist_card_use_room(&card, &room);
    assert_int_equal(ist_segments_to_card(&card, NULL, 0), ISTHMUS_OK);
    const struct ist_blob *key = &card.segments[IST_SEGMENT_HEAP].keys[EXTENTS];
    assert_int_equal(key->length_bytes, ISTHMUS_KEY_MAX_BYTES);
    for (uint32_t i = 0; i < key->length_bytes; i++) assert_int_equal(((const uint8_t *)key->bytes)[i], KEY_BYTE);
}

/* 16 transports have room in each, and the heap may grow 48 times. */
static void keys_take_the_room_that_they_need(void **state)
{
    (void)state;
    assert_true(sizeof(struct ist_extent) <= 24 + IST_MAX_TRANSPORTS * 24);
}

int main(void)
{
    static size_t longest = ISTHMUS_KEY_MAX_BYTES;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(extents_have_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_whole_one_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_have_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_of_what_is_gone_are_removed, set_up, tear_down),
        cmocka_unit_test_prestate_setup_teardown(the_longest_key_reaches_the_card, set_up, tear_down, &longest),
        cmocka_unit_test(keys_take_the_room_that_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tests/unit/test_inline.c: the fast paths of isthmus/inline.h on a peer with an alias: what they store and load, and
 * that they do nothing at all where they return 0. */
#include "core/transport/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE = 4096, MINE = 0, PEER = 1, LOST = 2, N_PES = 3 };

/* The heap of this PE and that of its peer; a PE without an alias has no memory here. */
static _Alignas(PAGE) unsigned char heap[PAGE], peer_heap[PAGE];

static int set_up(void **state)
{
    (void)state;
    memset(heap, 0xaa, sizeof heap);
    memset(peer_heap, 0x55, sizeof peer_heap);
    if (ist_rows_init(N_PES) != ISTHMUS_OK) return -1;
    ist_window_set_heap(heap, sizeof heap);
    ist_rows[MINE].delta[1] = 0;
    ist_rows[PEER].delta[1] = (intptr_t)((uintptr_t)peer_heap - (uintptr_t)heap);
    ist_fast_paths_set(N_PES);
    return 0;
}

static int reset(void **state)
{
    (void)state;
    ist_fast_paths_set(0);
    ist_rows_fini();
    return 0;
}

static void assert_peer_holds(size_t offset, const void *bytes, size_t length_bytes)
{
    for (size_t i = 0; i < sizeof peer_heap; i++) {
        bool is_written = i >= offset && i < offset + length_bytes;
        assert_int_equal(peer_heap[i], is_written ? ((const unsigned char *)bytes)[i - offset] : 0x55);
    }
}

static void an_element_of_any_width_arrives_and_returns(void **state)
{
    const uint64_t value = 0x0123456789abcdef;
    for (size_t size = 1; size <= 8; size *= 2) {
        assert_int_equal(isthmus_p_(isthmus_row_(PEER), heap + 64, &value, size), 1);
        assert_peer_holds(64, &value, size);
        uint64_t seen = 0, expected = 0;
        assert_int_equal(isthmus_g_(isthmus_row_(PEER), &seen, heap + 64, size), 1);
        memcpy(&expected, &value, size);
        assert_true(seen == expected);
        (void)reset(state);
        assert_int_equal(set_up(state), 0);
    }
}

static void a_copy_writes_its_bytes_and_no_others(void **state)
{
    unsigned char source[ISTHMUS_SMALL_BYTES], seen[ISTHMUS_SMALL_BYTES];
    for (size_t i = 0; i < sizeof source; i++) source[i] = (unsigned char)(i + 1);
    for (size_t n = 0; n <= ISTHMUS_SMALL_BYTES; n++) {
        size_t offset = 1 + n % 16;
        assert_int_equal(isthmus_put_(isthmus_row_(PEER), heap + offset, source, n), 1);
        assert_peer_holds(offset, source, n);
        memset(seen, 0, sizeof seen);
        assert_int_equal(isthmus_get_(isthmus_row_(PEER), seen, heap + offset, n), 1);
        assert_memory_equal(seen, source, n);
        assert_true(n == sizeof seen || seen[n] == 0);
        memset(peer_heap, 0x55, sizeof peer_heap);
    }
    (void)state;
}

/* The old value, and what is then there, of an operation with operand 6 on a word that holds 5; compared with 5. */
static void atomics_return_the_old_value(void **state)
{
    static const struct {
        uint32_t op;
        uint64_t then;
    } rows[] = {{ISTHMUS_AMO_FETCH, 5}, {ISTHMUS_AMO_SET, 6}, {ISTHMUS_AMO_SWAP, 6}, {ISTHMUS_AMO_ADD, 11},
                {ISTHMUS_AMO_AND, 4},   {ISTHMUS_AMO_OR, 7},  {ISTHMUS_AMO_XOR, 3},  {ISTHMUS_AMO_COMPARE_SWAP, 6}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t size = 4; size <= 8; size *= 2) {
            uint64_t old = 0, word = 5;
            memcpy(peer_heap + 128, &word, size);
            assert_int_equal(isthmus_amo_(isthmus_row_(PEER), rows[i].op, &old, heap + 128, 6, 5, size), 1);
            assert_true(old == 5);
            memcpy(&word, peer_heap + 128, size);
            assert_true(word == rows[i].then);
        }
    }
}

static void without_an_alias_nothing_happens(void **state)
{
    unsigned char local[8] = {1, 2, 3};
    const struct isthmus_row *none[] = {isthmus_row_(LOST), isthmus_row_(N_PES), isthmus_row_(-1)};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(isthmus_p_(none[i], heap, local, 8), 0);
        assert_int_equal(isthmus_g_(none[i], local, heap, 8), 0);
        assert_int_equal(isthmus_put_(none[i], heap, local, 8), 0);
        assert_int_equal(isthmus_get_(none[i], local, heap, 8), 0);
        assert_int_equal(isthmus_amo_(none[i], ISTHMUS_AMO_ADD, local, heap, 1, 0, 8), 0);
    }
    const struct isthmus_row *peer = isthmus_row_(PEER);
    assert_int_equal(isthmus_p_(peer, heap + 4, local, 8), 0); /* misaligned */
    assert_int_equal(isthmus_p_(peer, heap, local, 16), 0);    /* wider than one store */
    assert_int_equal(isthmus_p_(peer, local, local, 1), 0);    /* not symmetric */
    assert_int_equal(isthmus_put_(peer, heap, NULL, 8), 0);
    assert_int_equal(isthmus_get_(peer, NULL, heap, 8), 0);
    assert_int_equal(isthmus_put_(peer, heap, local, ISTHMUS_SMALL_BYTES + 1), 0);
    assert_int_equal(isthmus_put_(peer, heap + PAGE - 8, local, 8), 0); /* a copy that starts here may leave the heap */
    assert_int_equal(local[0] == 1 && local[1] == 2 && local[2] == 3 && local[3] == 0, 1);
    assert_peer_holds(0, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_element_of_any_width_arrives_and_returns, set_up, reset),
        cmocka_unit_test_setup_teardown(a_copy_writes_its_bytes_and_no_others, set_up, reset),
        cmocka_unit_test_setup_teardown(atomics_return_the_old_value, set_up, reset),
        cmocka_unit_test_setup_teardown(without_an_alias_nothing_happens, set_up, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

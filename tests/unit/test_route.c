/* tests/unit/test_route.c: which addresses and PEs the fast paths handle, and which they leave to the slow paths. */
#include "core/transport/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAGE = 4096, N_PES = 5, NEAR = 64 };

/* Nothing is loaded from these: only numbers are compared. The second lies right behind the first. */
static const uintptr_t heap = 0x7f1234560000, statics = 0x7f1234560000 + 3 * PAGE;
static const uint64_t heap_bytes = 3 * PAGE, statics_bytes = 2 * PAGE + 12;

static void set_windows(uint64_t n_heap, uint64_t n_statics)
{
    ist_window_set_heap((const void *)heap, n_heap);
    ist_window_set_statics((const void *)statics, n_statics);
}

static int reset(void **state)
{
    (void)state;
    ist_fast_paths_set(0);
    ist_rows_fini();
    return 0;
}

/* The definition: an aligned element that lies inside as a whole. */
static size_t column_by_hand(uintptr_t addr, uint64_t size, uint64_t n_heap, uint64_t n_statics)
{
    if (addr % size != 0) return 0;
    if (addr >= heap && addr - heap + size <= n_heap) return 1;
    if (addr >= statics && addr - statics + size <= n_statics) return 2;
    return 0;
}

static void compare_around(uintptr_t centre, uint64_t n_heap, uint64_t n_statics)
{
    for (uintptr_t addr = centre - NEAR; addr <= centre + NEAR; addr++)
        for (unsigned log2_size = 0; log2_size < 5; log2_size++)
            assert_int_equal(ist_column_of_element(addr, log2_size),
                             column_by_hand(addr, (uint64_t)1 << log2_size, n_heap, n_statics));
}

static void elements_belong_to_the_segment_that_holds_them_whole(void **state)
{
    (void)state;
    set_windows(heap_bytes, statics_bytes);
    compare_around(heap, heap_bytes, statics_bytes);
    compare_around(heap + PAGE, heap_bytes, statics_bytes);
    compare_around(statics, heap_bytes, statics_bytes); /* one ends where the other starts */
    compare_around(statics + statics_bytes, heap_bytes, statics_bytes);
}

static void far_addresses_belong_to_none(void **state)
{
    (void)state;
    set_windows(heap_bytes, statics_bytes);
    const uintptr_t far[] = {
        0, 1, 8, PAGE, heap / 2, heap * 2, UINTPTR_MAX, UINTPTR_MAX - 7, UINTPTR_MAX - heap, 1ull << 63};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (unsigned log2_size = 0; log2_size < 5; log2_size++)
            assert_int_equal(ist_column_of_element(far[i], log2_size), 0);
    /* what would fall into the heap if high bits were dropped, or low bits moved to the top */
    for (unsigned bit = 47; bit < 64; bit++)
        for (unsigned log2_size = 0; log2_size < 5; log2_size++)
            assert_int_equal(ist_column_of_element(heap ^ (uintptr_t)1 << bit, log2_size), 0);
}

static void empty_segments_hold_nothing(void **state)
{
    (void)state;
    set_windows(0, 0);
    compare_around(heap, 0, 0);
    compare_around(statics, 0, 0);
    set_windows(0, 5); /* shorter than most elements */
    compare_around(statics, 0, 5);
    (void)reset(state);
    compare_around(heap, 0, 0);
    compare_around(NEAR, 0, 0);
}

/* A short copy that is taken must stay inside; one that starts well before the end must be taken. */
static void short_copies_stay_inside(void **state)
{
    (void)state;
    set_windows(heap_bytes, statics_bytes);
    for (uintptr_t addr = heap - NEAR; addr < statics + statics_bytes + NEAR; addr++) {
        size_t column = isthmus_column_(&isthmus_fast_v1.small, addr);
        if (column == 1) assert_true(addr >= heap && addr + IST_SMALL_BYTES <= heap + heap_bytes);
        if (column == 2) assert_true(addr >= statics && addr + IST_SMALL_BYTES <= statics + statics_bytes);
        assert_true(column <= 2);
        if (addr >= heap && addr + IST_SMALL_BYTES < heap + heap_bytes) assert_int_equal(column, 1);
        if (addr >= statics && addr + IST_SMALL_BYTES < statics + statics_bytes) assert_int_equal(column, 2);
    }
}

static void segments_shorter_than_a_short_copy_take_none(void **state)
{
    (void)state;
    for (uint64_t n = 0; n <= IST_SMALL_BYTES; n++) {
        set_windows(n, n);
        for (uintptr_t addr = heap; addr < heap + n; addr++)
            assert_int_equal(isthmus_column_(&isthmus_fast_v1.small, addr), 0);
    }
}

/* ---- rows ---- */

static intptr_t delta(const struct ist_reachable *reach, size_t column, int pe)
{
    const struct isthmus_row *row = ist_reachable_row(reach, pe);
    return row != NULL ? row->delta[column] : ISTHMUS_NO_ALIAS;
}

static void a_pe_not_talked_to_has_no_alias(void **state)
{
    (void)state;
    assert_int_equal(ist_rows_init(N_PES), ISTHMUS_OK);
    struct ist_reachable reach = {.rows = ist_rows, .stride_bytes = sizeof *ist_rows, .n_pes = N_PES};
    for (int pe = 0; pe < N_PES; pe++)
        for (size_t column = 0; column < 4; column++) assert_int_equal(delta(&reach, column, pe), ISTHMUS_NO_ALIAS);
}

static void only_members_have_rows(void **state)
{
    (void)state;
    assert_int_equal(ist_rows_init(N_PES), ISTHMUS_OK);
    for (int pe = 0; pe < N_PES; pe++) ist_rows[pe].delta[1] = (pe + 1) * PAGE;
    struct ist_reachable world = {.rows = ist_rows, .stride_bytes = sizeof *ist_rows, .n_pes = N_PES};
    for (int pe = 0; pe < N_PES; pe++) assert_true(delta(&world, 1, pe) == (pe + 1) * PAGE);
    const int beyond[] = {-1, N_PES, N_PES + 1, 1 << 30, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) assert_null(ist_reachable_row(&world, beyond[i]));
    struct ist_reachable no_pes = {.rows = NULL, .stride_bytes = 0, .n_pes = 0};
    assert_null(ist_reachable_row(&no_pes, 0));
    assert_int_equal(delta(&no_pes, 1, 0), ISTHMUS_NO_ALIAS);
}

static void a_strided_team_is_a_view_of_the_worlds_rows(void **state)
{
    (void)state;
    assert_int_equal(ist_rows_init(N_PES), ISTHMUS_OK);
    for (int pe = 0; pe < N_PES; pe++) ist_rows[pe].delta[1] = (pe + 1) * PAGE;
    struct ist_reachable odd = {.rows = ist_rows + 1, .stride_bytes = 2 * sizeof *ist_rows, .n_pes = 2};
    assert_true(delta(&odd, 1, 0) == 2 * PAGE && delta(&odd, 1, 1) == 4 * PAGE);
    assert_int_equal(delta(&odd, 1, 2), ISTHMUS_NO_ALIAS);
    struct ist_reachable backwards = {
        .rows = ist_rows + 4, .stride_bytes = -2 * (intptr_t)sizeof *ist_rows, .n_pes = 3};
    assert_true(delta(&backwards, 1, 0) == 5 * PAGE && delta(&backwards, 1, 2) == 1 * PAGE);
}

/* ---- fast paths that programs inline ---- */

static void programs_get_an_address_or_null(void **state)
{
    (void)state;
    set_windows(heap_bytes, statics_bytes);
    assert_int_equal(ist_rows_init(N_PES), ISTHMUS_OK);
    ist_rows[0].delta[1] = 0; /* this PE */
    ist_rows[1].delta[1] = 16 * PAGE;
    ist_rows[1].delta[2] = -16 * PAGE;
    const void *in_heap = (const void *)(heap + 64), *in_statics = (const void *)(statics + 64);
    assert_null(isthmus_element_(isthmus_row_(1), in_heap, 8)); /* not switched on */
    ist_fast_paths_set(N_PES);
    assert_ptr_equal(isthmus_element_(isthmus_row_(0), in_heap, 8), in_heap);
    assert_ptr_equal(isthmus_element_(isthmus_row_(1), in_heap, 8), (const char *)in_heap + 16 * PAGE);
    assert_ptr_equal(isthmus_element_(isthmus_row_(1), in_statics, 4), (const char *)in_statics - 16 * PAGE);
    assert_ptr_equal(isthmus_small_(isthmus_row_(1), (const char *)in_heap + 3), (const char *)in_heap + 3 + 16 * PAGE);
    assert_null(isthmus_element_(isthmus_row_(1), (const char *)in_heap + 4, 8)); /* misaligned */
    assert_null(isthmus_element_(isthmus_row_(0), in_statics, 8)); /* that PE's static data was not attached */
    assert_null(isthmus_element_(isthmus_row_(2), in_heap, 8));    /* not in use so far */
    assert_null(isthmus_element_(isthmus_row_(N_PES), in_heap, 8));
    assert_null(isthmus_element_(isthmus_row_(-1), in_heap, 8));
    assert_null(isthmus_element_(isthmus_row_(1), NULL, 8));
    ist_fast_paths_set(0);
    assert_null(isthmus_element_(isthmus_row_(0), in_heap, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(elements_belong_to_the_segment_that_holds_them_whole, reset),
        cmocka_unit_test_teardown(far_addresses_belong_to_none, reset),
        cmocka_unit_test_teardown(empty_segments_hold_nothing, reset),
        cmocka_unit_test_teardown(short_copies_stay_inside, reset),
        cmocka_unit_test_teardown(segments_shorter_than_a_short_copy_take_none, reset),
        cmocka_unit_test_teardown(a_pe_not_talked_to_has_no_alias, reset),
        cmocka_unit_test_teardown(only_members_have_rows, reset),
        cmocka_unit_test_teardown(a_strided_team_is_a_view_of_the_worlds_rows, reset),
        cmocka_unit_test_teardown(programs_get_an_address_or_null, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

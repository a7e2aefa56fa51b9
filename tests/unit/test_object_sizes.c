/* tests/unit/test_object_sizes.c: what must stay small: what a put reads, and what a PE costs that was never talked to. */
#include "core/transport/peer.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY_PES = 100000, BYTES_PER_PE = 64 };

static void a_row_is_half_a_cache_line(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct isthmus_row), 32);
    assert_int_equal(ist_rows_init(3), ISTHMUS_OK);
    assert_int_equal((uintptr_t)ist_rows % 64, 0);
    ist_rows_fini();
}

static void what_ordering_reads_is_one_cache_line(void **state)
{
    (void)state;
    assert_int_equal((uintptr_t)&isthmus_fast_v1 % 64, 0);
    assert_int_equal(offsetof(struct isthmus_fast, element), 64);
    assert_int_equal(sizeof(struct isthmus_bounds), 32);
    assert_true(sizeof(struct isthmus_fast) <= (size_t)5 * 64);
}

static size_t allocated_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Those of sanitizers do not. */
static bool allocator_tells(void)
{
    static void *kept; /* static: the compiler may not leave the allocation out */
    size_t before = allocated_bytes();
    kept = malloc((size_t)1 << 20);
    size_t after = allocated_bytes();
    free(kept);
    return after - before >= (size_t)1 << 20;
}

/* Rows and tables of peers, as the allocator sees them. */
static void a_pe_never_talked_to_costs_at_most_64_bytes(void **state)
{
    (void)state;
    if (!allocator_tells()) skip();
    ist_boot boot = {.pe = 0, .n_pes = MANY_PES};
    size_t before = allocated_bytes();
    assert_int_equal(ist_rows_init(MANY_PES), ISTHMUS_OK);
    assert_int_equal(ist_peers_init(&boot, "card", true), ISTHMUS_OK);
    size_t used = allocated_bytes() - before;
    assert_true(used >= MANY_PES * sizeof(struct isthmus_row));
    assert_in_range(used / MANY_PES, sizeof(struct isthmus_row), BYTES_PER_PE);
    ist_peers_fini();
    ist_rows_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_half_a_cache_line),
        cmocka_unit_test(what_ordering_reads_is_one_cache_line),
        cmocka_unit_test(a_pe_never_talked_to_costs_at_most_64_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Unit tests of core/proxy/ranges.c: buffers that kernels reach, on processors or on a device. */
#include "gpu_peers.h"

#include "core/proxy/tables.h"

static struct ist_ranges make(uint32_t kind, bool is_direct)
{
    struct ist_ranges ranges;
    assert_int_equal(ist_ranges_make(&boot, kind, is_direct, &ranges), ISTHMUS_OK);
    assert_int_equal(ranges.list[ranges.n].length_bytes, 0);
    return ranges;
}

static void the_heap_is_no_range(void **state)
{
    (void)state;
    struct ist_ranges on_host = make(ISTHMUS_MEM_HOST, true), on_device = make(ISTHMUS_MEM_CUDA, true);
    assert_int_equal(on_host.n, 0);
    assert_int_equal(on_device.n, 0);
    assert_true(on_host.n_far == 0 && on_device.n_far == 0);
    for (int pe = 0; pe < N_PES; pe++)
        assert_int_equal(on_host.heap_delta[pe], own_choice(&(struct gpu_key){.pe = pe}) - HOST_HEAP);
    assert_int_equal(on_device.heap_delta[0], 0);
    ist_ranges_free(&on_host);
    ist_ranges_free(&on_device);
}

/* A buffer of either kind: kernels of the same kind reach it, others leave it to the host. */
static void expect_buffer(uint32_t kind, uint32_t other_kind)
{
    show_buffer(kind);
    struct ist_ranges ranges = make(kind, true);
    assert_int_equal(ranges.n, 1);
    assert_int_equal(ranges.list[0].base, (uintptr_t)BUFFER_AT);
    assert_int_equal(ranges.list[0].length_bytes, BUFFER_BYTES);
    for (int pe = 0; pe < N_PES; pe++) {
        struct gpu_key key = {pe, BUFFER, 0};
        bool is_mine = pe == 0 && kind != ISTHMUS_MEM_HOST;
        assert_int_equal(ranges.list[0].delta[pe], is_mine ? 0 : own_choice(&key) - BUFFER_AT);
    }
    assert_true(ranges.n_far == 0 && !ranges.is_mixed);
    ist_ranges_free(&ranges);
    struct ist_ranges other = make(other_kind, true);
    assert_int_equal(other.n, 0);
    assert_int_equal(other.n_far, N_PES);
    assert_true(other.is_mixed); /* the heap is near, the buffer far */
    ist_ranges_free(&other);
    ist_segment_show_late(BUFFER, 0);
    other = make(other_kind, true);
    assert_true(other.n_far == 0 && !other.is_mixed); /* a buffer that is not there for all any more */
    ist_ranges_free(&other);
}

static void a_buffer_on_the_device_is_a_range(void **state)
{
    (void)state;
    expect_buffer(ISTHMUS_MEM_CUDA, ISTHMUS_MEM_HOST);
}

static void a_buffer_on_the_host_is_a_range(void **state)
{
    (void)state;
    expect_buffer(ISTHMUS_MEM_HOST, ISTHMUS_MEM_CUDA);
}

static void without_direct_ways_only_the_own_pe_is_near(void **state)
{
    (void)state;
    show_buffer(ISTHMUS_MEM_CUDA);
    struct ist_ranges ranges = make(ISTHMUS_MEM_CUDA, false);
    assert_int_equal(ranges.list[0].delta[0], 0);
    for (int pe = 1; pe < N_PES; pe++) assert_true((ranges.list[0].delta[pe] & ISTHMUS_NO_ALIAS) != 0);
    assert_int_equal(ranges.n_far, N_PES - 1);
    assert_false(ranges.is_mixed); /* all of a PE is far, or all of it is near */
    ist_ranges_free(&ranges);
    ist_segment_show_late(BUFFER, 0);
}

static void a_copy_elsewhere_points_into_itself(void **state)
{
    (void)state;
    show_buffer(ISTHMUS_MEM_CUDA);
    set_segment(BUFFER + 1, ISTHMUS_MEM_HOST, BUFFER_AT + BUFFER_BYTES, 0); /* none */
    struct ist_ranges ranges = make(ISTHMUS_MEM_CUDA, true);
    void *copy = malloc(ranges.bytes);
    ist_ranges_move(&ranges, copy);
    memcpy(copy, ranges.list, ranges.bytes);
    const struct isthmus_device_range *there = copy;
    assert_ptr_equal(there[0].delta, (char *)copy + 2 * sizeof *there + N_PES * sizeof(int64_t));
    assert_int_equal(there[0].delta[0], 0);
    ist_ranges_move(&ranges, ranges.list);
    assert_memory_equal(there[0].delta, ranges.list[0].delta, N_PES * sizeof(int64_t));
    free(copy);
    ist_ranges_free(&ranges);
    ist_segment_show_late(BUFFER, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_heap_is_no_range),
        TEST(a_buffer_on_the_device_is_a_range),
        TEST(a_buffer_on_the_host_is_a_range),
        TEST(without_direct_ways_only_the_own_pe_is_near),
        TEST(a_copy_elsewhere_points_into_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Unit tests of core/transport/device_view.c: one distance for all of a peer's heap, before and after it grows. */
#include "gpu_peers.h"

static int64_t delta(int pe) { return ist_device_delta(peer(pe), IST_SEGMENT_DEVICE); }

/* How many pieces of this PE's heap are attached at that distance. */
static int n_placed(int pe, int64_t distance)
{
    int n = 0;
    for (int i = 0; i < gpu.n_rmems; i++) {
        const struct isthmus_rmem *r = &gpu.rmems[i];
        if (!r->is_attached || r->key.pe != pe || r->key.segment != IST_SEGMENT_DEVICE) continue;
        assert_ptr_equal(r->view, DEVICE_HEAP + distance + r->key.offset_bytes);
        assert_true(r->has_place);
        n++;
    }
    return n;
}

static void the_own_heap_is_where_it_is(void **state)
{
    (void)state;
    assert_int_equal(delta(0), 0);
    assert_int_equal(gpu.n_reserved, 0);
}

static void pieces_are_at_one_distance(void **state)
{
    (void)state;
    int64_t first = delta(1);
    assert_int_equal(first & ISTHMUS_NO_ALIAS, 0);
    assert_int_not_equal(first, delta(2));
    assert_int_equal(n_placed(1, first), 1);
    for (int n = 2; n < 5; n++) {
        grow();
        assert_int_equal(n_placed(1, first), n - 1);
        assert_int_equal(ist_device_views_extend(IST_SEGMENT_DEVICE), ISTHMUS_OK);
        assert_int_equal(n_placed(1, first), n);
        assert_int_equal(delta(1), first);
    }
    assert_int_equal(n_placed(2, delta(2)), 4);
    assert_int_equal(gpu.n_reserved, 2);
}

static void a_peer_that_is_used_later_has_all_pieces(void **state)
{
    (void)state;
    grow();
    assert_int_equal(ist_device_views_extend(IST_SEGMENT_DEVICE), ISTHMUS_OK);
    grow(); /* not all PEs have published this one */
    assert_int_equal(n_placed(1, delta(1)), 2);
    assert_int_equal(ist_device_views_extend(IST_SEGMENT_DEVICE), ISTHMUS_OK);
    assert_int_equal(n_placed(1, delta(1)), 3);
}

static void a_piece_that_one_pe_cannot_map_is_given_back(void **state)
{
    (void)state;
    int64_t first = delta(1);
    (void)delta(2);
    grow();
    gpu.fails_place = true;
    assert_int_equal(ist_device_views_extend(IST_SEGMENT_DEVICE), ISTHMUS_ERR_NO_MEMORY);
    gpu.fails_place = false;
    ist_device_views_cut(IST_SEGMENT_DEVICE);
    shrink();
    assert_int_equal(n_placed(1, first), 1);
    for (int round = 0; round < 2; round++) { /* attached here, and taken back because of another PE */
        grow();
        assert_int_equal(ist_device_views_extend(IST_SEGMENT_DEVICE), ISTHMUS_OK);
        assert_int_equal(n_placed(1, first), 2);
        assert_ptr_equal(ist_peer_extent(peer(1), IST_SEGMENT_DEVICE, GRANULE)->rmem->view,
                         DEVICE_HEAP + first + GRANULE);
        if (round > 0) break;
        ist_device_views_cut(IST_SEGMENT_DEVICE);
        shrink();
        assert_int_equal(n_placed(1, first), 1);
    }
    assert_int_equal(n_placed(2, delta(2)), 2);
}

static void without_attach_at_there_is_no_distance(void **state)
{
    (void)state;
    ist_registry.list[0].extensions.has_attach_at = false;
    assert_true((delta(1) & ISTHMUS_NO_ALIAS) != 0);
    assert_int_equal(gpu.n_reserved, 0);
    assert_int_equal(gpu.n_attached, 2); /* both heaps, all the same */
    grow();
    assert_int_equal(ist_device_views_extend(IST_SEGMENT_DEVICE), ISTHMUS_OK);
    assert_int_equal(gpu.n_attached, 2); /* the piece on its first use */
    assert_non_null(ist_peer_extent(peer(1), IST_SEGMENT_DEVICE, GRANULE));
    assert_int_equal(gpu.n_attached, 3);
}

static void without_addresses_there_is_no_distance(void **state)
{
    (void)state;
    gpu.refuses_reserve = true;
    assert_true((delta(1) & ISTHMUS_NO_ALIAS) != 0);
    gpu.refuses_reserve = false;
    gpu.refuses_place = true;
    assert_true((delta(2) & ISTHMUS_NO_ALIAS) != 0);
    assert_int_equal(gpu.n_reserved, 0);
    assert_int_equal(gpu.n_attached, 4);
}

static void memory_of_the_host_has_no_distance_for_a_device(void **state)
{
    (void)state;
    assert_true((ist_device_delta(peer(1), IST_SEGMENT_HEAP) & ISTHMUS_NO_ALIAS) != 0);
    assert_true((ist_device_delta(peer(1), IST_SEGMENT_STREAMS) & ISTHMUS_NO_ALIAS) != 0); /* no PE has it */
}

static isthmus_status reach_for_data(isthmus_tr *tr, const struct isthmus_peer *to, struct isthmus_reach *out)
{
    isthmus_status status = gpu_reach(tr, to, out);
    if (to->kind != ISTHMUS_MEM_HOST) out->atomics_domain = ISTHMUS_DOMAIN_NONE;
    return status;
}

static void without_atomics_on_the_way_a_kernel_goes_another(void **state)
{
    (void)state;
    ist_registry.list[0].ops.reach = reach_for_data;
    assert_true((delta(1) & ISTHMUS_NO_ALIAS) != 0);
}

static void a_buffer_needs_no_reservation(void **state)
{
    (void)state;
    show_buffer(ISTHMUS_MEM_CUDA);
    struct gpu_key key = {1, BUFFER, 0};
    assert_int_equal(ist_device_delta(peer(1), BUFFER), own_choice(&key) - BUFFER_AT);
    assert_int_equal(ist_device_delta(peer(0), BUFFER), 0);
    ist_segment_show_late(BUFFER, 0);
    ist_peers_detach(BUFFER);
    assert_true((ist_device_delta(peer(1), BUFFER) & ISTHMUS_NO_ALIAS) != 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_own_heap_is_where_it_is),
        TEST(pieces_are_at_one_distance),
        TEST(a_peer_that_is_used_later_has_all_pieces),
        TEST(a_piece_that_one_pe_cannot_map_is_given_back),
        TEST(without_attach_at_there_is_no_distance),
        TEST(without_addresses_there_is_no_distance),
        TEST(memory_of_the_host_has_no_distance_for_a_device),
        TEST(without_atomics_on_the_way_a_kernel_goes_another),
        TEST(a_buffer_needs_no_reservation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

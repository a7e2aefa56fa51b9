/* Unit tests of core/transport/peer.c and extents.c: the first use of peers by several threads, and the extents in
 * which an operation finds its target. A transport of the test opens the path to a peer only when a second thread calls
 * for one, too. */
#include "core/ops/target.h"
#include "core/transport/choose.h"
#include "core/transport/peer.h"
#include "core/transport/registry.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N_PES = 3, WAIT_S = 60 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_opening, n_opened;
    int n_to_meet; /* how many calls wait for one another */
    bool has_waited_in_vain, has_overlapped;
} paths = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static isthmus_status open_path(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    struct timespec until;
    bool has_company;
    (void)tr, (void)peer;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&paths.lock);
    has_company = paths.n_opening++ > paths.n_opened;
    paths.has_overlapped = paths.has_overlapped || has_company;
    pthread_cond_broadcast(&paths.changed);
    while (paths.n_opening < paths.n_to_meet && !paths.has_waited_in_vain)
        if (pthread_cond_timedwait(&paths.changed, &paths.lock, &until) != 0) paths.has_waited_in_vain = true;
    paths.n_opened++;
    pthread_mutex_unlock(&paths.lock);
    *out = (isthmus_path *)(void *)&paths;
    return ISTHMUS_OK;
}

static isthmus_status attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    (void)path, (void)key, (void)key_bytes;
    *out = (isthmus_rmem *)(void *)&paths;
    *alias = NULL;
    return ISTHMUS_OK;
}

static void detach(isthmus_rmem *rmem) { (void)rmem; }

static void path_close(isthmus_path *path) { (void)path; }

static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr, (void)peer;
    *out = (struct isthmus_reach){
        .struct_size = out->struct_size, .latency_ns = 100, .atomics_domain = ISTHMUS_DOMAIN_CPU};
    return ISTHMUS_OK;
}

/* ---- a segment that doubles: extent 0 is in the card, extent i is published under the number i ---- */

enum { FIRST_BYTES = 4096, N_EXTENTS = 5, GROWN_BYTES = FIRST_BYTES << (N_EXTENTS - 1) };

static uint64_t begin_of_extent(uint32_t i) { return i == 0 ? 0 : (uint64_t)FIRST_BYTES << (i - 1); }
static uint64_t end_of_extent(uint32_t i) { return (uint64_t)FIRST_BYTES << i; }

/* The card of any PE: one transport, one segment. That of an extent: the same, with its range. */
static isthmus_status get(ist_boot *boot, int pe, const char *key, void **out, size_t *out_bytes)
{
    static const char rkey[] = "key";
    struct ist_card_room room;
    struct ist_card card = {.pe = pe, .agreement = "", .n_transports = 1, .n_segments = 1};
    uint32_t extent = 0;
    (void)boot;
    (void)sscanf(key, "card.0.%" SCNu32, &extent);
    ist_card_use_room(&card, &room);
    memcpy(card.host_name, "elsewhere", sizeof "elsewhere");
    memcpy(card.transports[0].name, "wire", sizeof "wire");
    card.segments[0] = (struct ist_card_segment){
        .id = IST_SEGMENT_HEAP,
        .base = begin_of_extent(extent),
        .length_bytes = extent > 0 ? end_of_extent(extent) - begin_of_extent(extent) : GROWN_BYTES,
        .first_bytes = FIRST_BYTES,
        .keys = card.segments[0].keys};
    card.segments[0].keys[0] = (struct ist_blob){rkey, sizeof rkey};
    return ist_card_write(&card, out, out_bytes);
}

static const struct ist_boot_ops boot_ops = {.name = "fake", .get = get};
static ist_boot boot = {.ops = &boot_ops, .n_pes = N_PES};

static int set_up(void **state)
{
    pthread_mutexattr_t attributes;
    struct ist_transport *t = &ist_registry.list[0];
    (void)state;
    memset(&ist_registry, 0, sizeof ist_registry);
    ist_registry.n = 1;
    memcpy(t->name, "wire", sizeof "wire");
    t->state = IST_TRANSPORT_OPEN;
    t->traits.kinds_attach = 1u << ISTHMUS_MEM_HOST;
    t->ops.reach = reach;
    t->ops.path_open = open_path;
    t->ops.path_close = path_close;
    t->ops.attach = attach;
    t->ops.detach = detach;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&t->cold, &attributes);
    paths.n_opening = paths.n_opened = 0;
    paths.n_to_meet = 1;
    paths.has_waited_in_vain = paths.has_overlapped = false;
    assert_int_equal(ist_rows_init(N_PES), ISTHMUS_OK);
    return ist_peers_init(&boot, "card", true);
}

static int tear_down(void **state)
{
    (void)state;
    ist_peers_fini();
    ist_rows_fini();
    return 0;
}

static void *use(void *pe)
{
    const struct ist_peer *peer = NULL;
    assert_int_equal(ist_peer_get(*(const int *)pe, &peer), ISTHMUS_OK);
    return (void *)(uintptr_t)peer;
}

static void use_at_once(const int pes[], const void *peers[], size_t n)
{
    pthread_t threads[N_PES];
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)(uintptr_t)&pes[i]), 0);
    for (size_t i = 0; i < n; i++) assert_int_equal(pthread_join(threads[i], (void **)(uintptr_t)&peers[i]), 0);
}

static void different_peers_are_opened_at_once(void **state)
{
    static const int pes[] = {0, 1, 2};
    const void *peers[N_PES];
    (void)state;
    ist_registry.list[0].traits.traits = ISTHMUS_TRAIT_PATHS_AT_ONCE;
    paths.n_to_meet = N_PES;
    use_at_once(pes, peers, N_PES);
    assert_false(paths.has_waited_in_vain);
    assert_int_equal(paths.n_opened, N_PES);
}

static void threads_that_meet_at_a_peer_get_one(void **state)
{
    static const int pes[] = {1, 1, 1};
    const void *peers[N_PES];
    (void)state;
    ist_registry.list[0].traits.traits = ISTHMUS_TRAIT_PATHS_AT_ONCE;
    use_at_once(pes, peers, N_PES);
    assert_int_equal(paths.n_opened, 1);
    assert_ptr_equal(peers[0], peers[1]);
    assert_ptr_equal(peers[0], peers[2]);
}

static void without_the_trait_one_path_is_opened_after_the_other(void **state)
{
    static const int pes[] = {0, 1, 2};
    const void *peers[N_PES];
    (void)state;
    use_at_once(pes, peers, N_PES);
    assert_int_equal(paths.n_opened, N_PES);
    assert_false(paths.has_overlapped);
}

/* This PE's own segment, at addresses that are not touched. */
static void grow_own_segment(void)
{
    static struct ist_extent extents[N_EXTENTS];
    struct ist_segment *segment = &ist_segments.list[IST_SEGMENT_HEAP];
    *segment = (struct ist_segment){.name = "the symmetric heap", .n_extents = N_EXTENTS};
    segment->mem = (struct isthmus_mem){.addr = (void *)(uintptr_t)GROWN_BYTES, .length_bytes = GROWN_BYTES};
    segment->plain_bytes = GROWN_BYTES;
    for (uint32_t i = 0; i < N_EXTENTS; i++) {
        extents[i].number = i;
        segment->extents[i] = &extents[i];
    }
    ist_segments.n = ist_segments.n_at_start = 1;
}

static bool is_known(uint64_t offset_bytes, size_t length_bytes, struct ist_target *out)
{
    static struct ist_team team = {.n_pes = N_PES, .stride = 1};
    static ist_ctx ctx = {.is_valid = 1, .team = &team};
    char *base = ist_segments.list[IST_SEGMENT_HEAP].mem.addr;
    const struct ist_transfer t = ist_transfer_put(&ctx, base + offset_bytes, base, length_bytes, 1, "the test");
    return ist_target_known(&t, out);
}

static void every_extent_in_use_is_known(void **state)
{
    static const int pes[] = {1};
    const void *peers[1];
    struct ist_target far;
    (void)state;
    grow_own_segment();
    use_at_once(pes, peers, 1);
    assert_true(is_known(0, 8, &far));
    assert_false(is_known(FIRST_BYTES, 8, &far)); /* not attached yet */
    assert_non_null(ist_peer_extent(peers[0], IST_SEGMENT_HEAP, GROWN_BYTES - 1));
    for (uint32_t i = 0; i < N_EXTENTS; i++) {
        uint64_t begin = begin_of_extent(i), length = end_of_extent(i) - begin;
        assert_true(is_known(begin, length, &far));
        assert_int_equal(far.extent->offset_bytes, begin);
        assert_int_equal(far.offset_bytes, 0);
        assert_true(is_known(begin + length - 8, 8, &far));
        assert_int_equal(far.offset_bytes, length - 8);
        assert_false(is_known(begin + length - 8, 9, &far)); /* in two extents, or past the end */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(different_peers_are_opened_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_that_meet_at_a_peer_get_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_extent_in_use_is_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_the_trait_one_path_is_opened_after_the_other, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tests/unit/test_object_sizes.c: what must stay small: the data that a put reads, and the cost of a PE before and
 * after its first use. */
#include "core/team/team.h"
#include "core/transport/peer.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY_PES = 100000, PES_PER_HOST = 128, BYTES_PER_PE = 64, TALKED_TO = 1000, BYTES_PER_PEER = 2048 };

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

/* Allocators of sanitizers do not. */
static bool allocator_tells(void)
{
    static void *kept; /* static: the compiler may not leave the allocation out */
    size_t before = allocated_bytes();
    kept = malloc((size_t)1 << 20);
    size_t after = allocated_bytes();
    free(kept);
    return after - before >= (size_t)1 << 20;
}

static bool nodes(ist_boot *boot, uint32_t *node_of)
{
    for (int pe = 0; pe < boot->n_pes; pe++) node_of[pe] = (uint32_t)pe / PES_PER_HOST;
    return true;
}

/* Rows, tables of peers and of hosts, as the allocator sees them, and the pointer of core/life/liveness.c. */
static void a_pe_never_talked_to_costs_at_most_64_bytes(void **state)
{
    (void)state;
    if (!allocator_tells()) skip();
    static const struct ist_boot_ops boot_ops = {.name = "fake", .nodes = nodes};
    ist_boot boot = {.ops = &boot_ops, .pe = 0, .n_pes = MANY_PES};
    const int *host_of = NULL;
    struct ist_hosts *hosts = NULL;
    size_t before = allocated_bytes();
    ist_hosts_init(&boot, "");
    assert_int_equal(ist_hosts_of_world(&host_of), ISTHMUS_OK);
    assert_int_equal(ist_hosts_new(host_of, MANY_PES, MANY_PES, 0, &hosts), ISTHMUS_OK);
    assert_int_equal(ist_rows_init(MANY_PES), ISTHMUS_OK);
    assert_int_equal(ist_peers_init(&boot, "card", true), ISTHMUS_OK);
    size_t used = allocated_bytes() - before;
    print_message("%zu bytes for each PE\n", used / MANY_PES + sizeof(void *));
    assert_true(used >= MANY_PES * sizeof(struct isthmus_row));
    assert_in_range(used / MANY_PES + sizeof(void *), sizeof(struct isthmus_row), BYTES_PER_PE);
    ist_peers_fini();
    ist_rows_fini();
    ist_hosts_free(hosts);
    ist_hosts_fini();
}

/* ---- peers in use: two transports, of which the second reaches all peers, and cards as ib publishes them ---- */

enum { ADDRESS_BYTES = 300, KEY_BYTES = 250, N_SEGMENTS = 3 };
static char some_bytes[ADDRESS_BYTES], some_agreement[700];

static isthmus_status card_of(ist_boot *boot, int pe, const char *key, void **value, size_t *value_bytes)
{
    (void)boot, (void)key;
    struct ist_card_room room;
    struct ist_card card = {.pe = pe, .host_name = "node17", .agreement = some_agreement};
    ist_card_use_room(&card, &room);
    card.n_transports = ist_registry.n;
    card.n_segments = N_SEGMENTS;
    card.liveness = (struct ist_blob){some_bytes, 32};
    for (uint32_t t = 0; t < card.n_transports; t++) {
        memcpy(card.transports[t].name, ist_registry.list[t].name, sizeof card.transports[t].name);
        card.transports[t].card = (struct ist_blob){some_bytes, ADDRESS_BYTES};
    }
    for (uint32_t s = 0; s < card.n_segments; s++) {
        card.segments[s].id = s;
        card.segments[s].length_bytes = card.segments[s].first_bytes = 4096;
        for (uint32_t t = 0; t < card.n_transports; t++)
            card.segments[s].keys[t] = (struct ist_blob){some_bytes, KEY_BYTES};
    }
    return ist_card_write(&card, value, value_bytes);
}

static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)peer;
    out->atomics_domain = ISTHMUS_DOMAIN_CPU;
    return (void *)tr == &ist_registry.list[1] ? ISTHMUS_OK : ISTHMUS_ERR_UNREACHABLE;
}

static isthmus_status path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    *out = (isthmus_path *)(void *)tr;
    return peer->card_bytes == ADDRESS_BYTES ? ISTHMUS_OK : ISTHMUS_ERR_INVALID;
}

static void path_close(isthmus_path *path) { (void)path; }

static isthmus_status attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    (void)path, (void)key;
    *out = (isthmus_rmem *)(void *)some_bytes;
    *alias = NULL;
    return key_bytes == KEY_BYTES ? ISTHMUS_OK : ISTHMUS_ERR_INVALID;
}

static void detach(isthmus_rmem *rmem) { (void)rmem; }

static void open_transports(void)
{
    static const struct isthmus_transport ops = {
        .reach = reach, .path_open = path_open, .path_close = path_close, .attach = attach, .detach = detach};
    memset(&ist_registry, 0, sizeof ist_registry);
    ist_registry.n = 2;
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        t->ops = ops;
        t->state = IST_TRANSPORT_OPEN;
        t->handle = (isthmus_tr *)(void *)t;
        t->traits.kinds_attach = 1u << ISTHMUS_MEM_HOST;
        memcpy(t->name, i == 0 ? "first" : "other", sizeof "first");
        pthread_mutex_init(&t->cold, NULL);
    }
}

/* The paths and the attached memory are the transport's. */
static void a_pe_that_was_talked_to_costs_at_most_2_kib(void **state)
{
    (void)state;
    if (!allocator_tells()) skip();
    static const struct ist_boot_ops boot_ops = {.name = "fake", .get = card_of};
    ist_boot boot = {.ops = &boot_ops, .pe = 0, .n_pes = TALKED_TO};
    memset(some_agreement, 'a', sizeof some_agreement - 1);
    open_transports();
    assert_int_equal(ist_rows_init(TALKED_TO), ISTHMUS_OK);
    assert_int_equal(ist_peers_init(&boot, "card", true), ISTHMUS_OK);
    size_t before = allocated_bytes();
    for (int pe = 0; pe < TALKED_TO; pe++) {
        const struct ist_peer *peer;
        assert_int_equal(ist_peer_get(pe, &peer), ISTHMUS_OK);
        assert_int_equal(ist_peer_segment(peer, N_SEGMENTS - 1)->carrier, 1);
        assert_int_equal(ist_peer_segment(peer, IST_MAX_SEGMENTS - 1)->length_bytes, 0);
        assert_string_equal(peer->card.host_name, "node17");
        assert_int_equal(peer->card.transports[1].card.length_bytes, ADDRESS_BYTES);
    }
    size_t used = allocated_bytes() - before;
    print_message("%zu bytes for each peer\n", used / TALKED_TO);
    assert_in_range(used / TALKED_TO, 1, BYTES_PER_PEER);
    ist_peers_fini();
    ist_rows_fini();
    memset(&ist_registry, 0, sizeof ist_registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_half_a_cache_line),
        cmocka_unit_test(what_ordering_reads_is_one_cache_line),
        cmocka_unit_test(a_pe_never_talked_to_costs_at_most_64_bytes),
        cmocka_unit_test(a_pe_that_was_talked_to_costs_at_most_2_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

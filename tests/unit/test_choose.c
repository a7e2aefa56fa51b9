/* Unit tests of core/transport/choose.c: atomics on host memory have one home in a job. The test's transports: "near"
 * is the faster one and has processors execute atomics, "wire" network adapters. */
#include "core/transport/choose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NEAR, WIRE, N };

static isthmus_status near_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr, (void)peer;
    *out = (struct isthmus_reach){
        .struct_size = out->struct_size, .latency_ns = 100, .atomics_domain = ISTHMUS_DOMAIN_CPU};
    return ISTHMUS_OK;
}

static isthmus_status wire_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr, (void)peer;
    *out = (struct isthmus_reach){
        .struct_size = out->struct_size, .latency_ns = 2000, .atomics_domain = ISTHMUS_DOMAIN_NIC};
    return ISTHMUS_OK;
}

static isthmus_status mute_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    (void)tr, (void)peer;
    *out = (struct isthmus_reach){.struct_size = out->struct_size, .latency_ns = 2000};
    return ISTHMUS_OK;
}

/* Adapters that are near to the own PE, 0, and far from others. */
static isthmus_status turn_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    isthmus_status status = wire_reach(tr, peer, out);
    out->latency_ns = peer->pe == 0 ? 100 : 5000;
    return status;
}

static struct ist_card card;
static struct ist_card_room room; /* of its lists */

static int set_up(void **state)
{
    static const char *const names[N] = {"near", "wire"};
    (void)state;
    memset(&ist_registry, 0, sizeof ist_registry);
    memset(&card, 0, sizeof card);
    ist_card_use_room(&card, &room);
    ist_registry.n = card.n_transports = N;
    for (uint32_t i = 0; i < N; i++) {
        struct ist_transport *t = &ist_registry.list[i];
        snprintf(t->name, sizeof t->name, "%s", names[i]);
        snprintf(card.transports[i].name, sizeof card.transports[i].name, "%s", names[i]);
        t->state = IST_TRANSPORT_OPEN;
        t->traits.kinds_attach = 1u << ISTHMUS_MEM_HOST;
        t->ops.scopes = i == NEAR ? ISTHMUS_SCOPE_HOST : ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK;
        t->ops.reach = i == NEAR ? near_reach : wire_reach;
        pthread_mutex_init(&t->cold, NULL);
    }
    return 0;
}

/* The home in a job with PEs on other hosts, or without. */
static isthmus_status settle(int wanted, uint64_t scopes, struct ist_choice *choice)
{
    struct ist_config config = {.atomics = wanted};
    isthmus_status status = ist_home_settle(&card, ISTHMUS_SCOPE_SELF | scopes, &config);
    assert_int_equal(config.atomics == IST_ATOMICS_NIC, ist_home_of_kind(ISTHMUS_MEM_HOST) == ISTHMUS_DOMAIN_NIC);
    assert_int_not_equal(config.atomics, IST_ATOMICS_AUTO);
    ist_choose(&card, ISTHMUS_MEM_HOST, choice);
    return status;
}

static void processors_are_the_home(void **state)
{
    struct ist_choice choice;
    (void)state;
    assert_int_equal(settle(IST_ATOMICS_AUTO, 0, &choice), ISTHMUS_OK);
    assert_int_equal(choice.atomics, NEAR);
    assert_int_equal(settle(IST_ATOMICS_CPU, 0, &choice), ISTHMUS_OK);
    assert_int_equal(choice.atomics, NEAR);
    ist_registry.list[NEAR].state = IST_TRANSPORT_EXCLUDED; /* no other agent replaces them */
    assert_int_equal(settle(IST_ATOMICS_CPU, 0, &choice), ISTHMUS_ERR_UNSUPPORTED);
    assert_non_null(strstr(ist_fail_text(), "ISTHMUS_ATOMICS is cpu"));
    assert_int_equal(choice.carrier, WIRE);
    assert_int_equal(choice.atomics, IST_NO_TRANSPORT);
}

/* Puts still take the faster transport; a PE of the same host, and this PE itself, has its atomics executed by its
 * adapter. */
static void adapters_are_the_home(void **state)
{
    struct ist_choice choice;
    (void)state;
    assert_int_equal(settle(IST_ATOMICS_NIC, 0, &choice), ISTHMUS_OK);
    assert_int_equal(choice.carrier, NEAR);
    assert_int_equal(choice.atomics, WIRE);
    assert_int_equal(ist_home_of_kind(ISTHMUS_MEM_CUDA), ISTHMUS_DOMAIN_GPU);
}

/* No transport to other hosts has processors execute its atomics; or no transport has. */
static void adapters_are_the_home_where_no_processor_is(void **state)
{
    struct ist_choice choice;
    (void)state;
    assert_int_equal(settle(IST_ATOMICS_AUTO, ISTHMUS_SCOPE_NETWORK, &choice), ISTHMUS_OK);
    assert_int_equal(choice.atomics, WIRE);
    ist_registry.list[NEAR].state = IST_TRANSPORT_EXCLUDED;
    assert_int_equal(settle(IST_ATOMICS_AUTO, 0, &choice), ISTHMUS_OK);
    assert_int_equal(choice.atomics, WIRE);
}

static void a_job_without_such_atomics_does_not_start(void **state)
{
    struct ist_choice choice;
    (void)state;
    ist_registry.list[WIRE].state = IST_TRANSPORT_UNFIT;
    snprintf(ist_registry.list[WIRE].why, sizeof ist_registry.list[WIRE].why, "no adapter");
    assert_int_equal(settle(IST_ATOMICS_NIC, 0, &choice), ISTHMUS_ERR_UNSUPPORTED);
    assert_int_equal(choice.atomics, IST_NO_TRANSPORT);
    assert_non_null(strstr(ist_fail_text(), "near: its atomics are executed by processors; wire: no adapter"));
}

static void a_job_without_atomics_does_not_start(void **state)
{
    struct ist_choice choice;
    (void)state;
    ist_registry.list[WIRE].ops.reach = mute_reach;
    assert_int_equal(settle(IST_ATOMICS_AUTO, 0, &choice), ISTHMUS_OK);
    assert_int_equal(settle(IST_ATOMICS_AUTO, ISTHMUS_SCOPE_NETWORK, &choice), ISTHMUS_ERR_UNSUPPORTED);
    assert_non_null(strstr(ist_fail_text(), "executes atomics on other hosts: near: its atomics are executed by "
                                            "processors; wire: it has no atomics; "));
    ist_registry.list[NEAR].state = IST_TRANSPORT_EXCLUDED;
    assert_int_equal(settle(IST_ATOMICS_AUTO, 0, &choice), ISTHMUS_ERR_UNSUPPORTED);
    ist_registry.list[WIRE].state = IST_TRANSPORT_UNFIT; /* this PE alone, with its own memory */
    assert_int_equal(settle(IST_ATOMICS_AUTO, 0, &choice), ISTHMUS_OK);
}

/* A word has one adapter that executes its atomics, whichever PE they are from. */
static void adapters_of_two_transports_are_not_mixed(void **state)
{
    struct ist_choice own, other;
    (void)state;
    ist_registry.list[NEAR].ops.reach = turn_reach;
    assert_int_equal(settle(IST_ATOMICS_NIC, 0, &own), ISTHMUS_OK);
    card.pe = 1;
    ist_choose(&card, ISTHMUS_MEM_HOST, &other);
    assert_int_equal(other.carrier, WIRE);
    assert_int_equal(own.atomics, NEAR); /* the first of the names */
    assert_int_equal(other.atomics, NEAR);
    ist_registry.list[NEAR].rank = 1;
    ist_choose(&card, ISTHMUS_MEM_HOST, &other);
    assert_int_equal(other.atomics, WIRE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(processors_are_the_home, set_up),
        cmocka_unit_test_setup(adapters_are_the_home, set_up),
        cmocka_unit_test_setup(adapters_are_the_home_where_no_processor_is, set_up),
        cmocka_unit_test_setup(adapters_of_two_transports_are_not_mixed, set_up),
        cmocka_unit_test_setup(a_job_without_atomics_does_not_start, set_up),
        cmocka_unit_test_setup(a_job_without_such_atomics_does_not_start, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

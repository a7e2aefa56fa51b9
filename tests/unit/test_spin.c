/* tests/unit/test_spin.c: how long a wait sleeps at most, by what can end it. No time passes: the clock, the yields and
 * the sleeps are planted, and the test checks what a wait requests. */
#include "core/base/clock.h"
#include "core/sync/spin.h"
#include "core/transport/progress.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { POLL_NS = 100, TIMER_SLACK_NS = 50000, TICK_NS = 1000000, TIME_SLICE_NS = 4 * TICK_NS };

static struct {
    uint64_t now_ns, yield_ns, events;
    uint64_t n_polls, n_yields, n_sleeps, longest_ask_ns, first_sleep_ns;
    uint64_t looked_ns, longest_gap_ns; /* between two polls of the variable */
} planted;

static uint64_t planted_clock_ns(void) { return planted.now_ns; }

static uint32_t planted_poll(void)
{
    planted.n_polls++;
    planted.now_ns += POLL_NS;
    return 0;
}

static uint64_t planted_events(void) { return planted.events; }

static int planted_yield(void)
{
    planted.n_yields++;
    planted.now_ns += planted.yield_ns;
    return 0;
}

static void planted_sleep(uint64_t n_events, uint64_t most_ns)
{
    assert_int_equal(n_events, planted.events);
    if (planted.n_sleeps++ == 0) planted.first_sleep_ns = planted.now_ns;
    if (most_ns > planted.longest_ask_ns) planted.longest_ask_ns = most_ns;
    planted.now_ns += most_ns + TIMER_SLACK_NS;
}

static void planted_attended(uint64_t now_ns) { (void)now_ns; }

static void planted_note(const struct ist_awaited *awaited, uint64_t since_ns, uint64_t now_ns)
{
    (void)awaited, (void)since_ns, (void)now_ns;
}

#define ist_clock_ns planted_clock_ns
#define sched_yield planted_yield
#define ist_progress_poll planted_poll
#define ist_progress_events planted_events
#define ist_progress_sleep planted_sleep
#define ist_progress_attended planted_attended
#define ist_awaited_note planted_note
#include "core/sync/spin.c"

enum { ALONE = 1, CROWDED = 4, N_CPUS = 2 };
static const uint64_t a_second_ns = 1000000000, start_ns = 5000000000;

/* One wait that no update ends, until so much time has passed. */
static void wait_for_ns(uint64_t ns)
{
    struct ist_spin spin = {0};
    uint64_t begin_ns = planted.now_ns;
    planted.looked_ns = planted.now_ns;
    while (planted.now_ns - begin_ns < ns) {
        uint64_t n_polls = planted.n_polls;
        ist_spin_yield(&spin);
        assert_true(planted.n_polls > n_polls || who_ends_waits == IST_SPIN_LOCAL); /* peers are served meanwhile */
        uint64_t gap_ns = planted.now_ns - planted.looked_ns;
        if (gap_ns > planted.longest_gap_ns) planted.longest_gap_ns = gap_ns;
        planted.looked_ns = planted.now_ns;
    }
}

static void begin(enum ist_spin_peers peers, int n_local, uint64_t nap_ns)
{
    memset(&planted, 0, sizeof planted);
    planted.now_ns = start_ns;
    planted.yield_ns = 400;
    habit = (struct isthmus_idle_habit){0};
    ist_spin_init(UINT64_MAX, nap_ns, n_local, N_CPUS, peers);
}

static void kinds_of_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) assert_int_equal(ist_spin_peers_of(false, i & 1, i & 2), IST_SPIN_LOCAL);
    assert_int_equal(ist_spin_peers_of(true, true, false), IST_SPIN_REMOTE);
    assert_int_equal(ist_spin_peers_of(true, true, true), IST_SPIN_MIXED);
    assert_int_equal(ist_spin_peers_of(true, false, false), IST_SPIN_SILENT); /* one PE a host, one thread, RDMA */
    assert_int_equal(ist_spin_peers_of(true, false, true), IST_SPIN_SILENT);
}

/* The update arrives without a wake-up: between two polls there is no more than a scheduler's tick, however long the
 * wait. */
static void what_no_arrival_wakes_looks_every_tick(void **state)
{
    static const enum ist_spin_peers kinds[] = {IST_SPIN_SILENT, IST_SPIN_MIXED};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        begin(kinds[i], ALONE, UINT64_MAX);
        wait_for_ns(60 * a_second_ns);
        assert_true(planted.n_sleeps > 0); /* and it does not use a whole processor */
        assert_true(planted.longest_ask_ns <= TICK_NS);
        assert_true(planted.longest_gap_ns <= TICK_NS + 2 * TIMER_SLACK_NS);
    }
}

static void an_adapter_is_waited_for_awake_at_first(void **state)
{
    (void)state;
    begin(IST_SPIN_SILENT, ALONE, UINT64_MAX);
    wait_for_ns(TICK_NS - 50000);
    assert_int_equal(planted.n_sleeps, 0);
    assert_true(planted.longest_gap_ns < 10000);
    wait_for_ns(2 * TICK_NS);
    assert_true(planted.n_sleeps > 0);
}

/* A request of a peer was served during the wait: the next one finds this PE awake. */
static void a_served_request_keeps_a_wait_awake(void **state)
{
    struct ist_spin spin = {0};
    (void)state;
    begin(IST_SPIN_SILENT, ALONE, UINT64_MAX);
    while (planted.n_sleeps == 0) ist_spin_yield(&spin);
    planted.events++;
    ist_spin_yield(&spin);
    uint64_t served_ns = planted.now_ns, n_sleeps = planted.n_sleeps;
    while (planted.now_ns - served_ns < TICK_NS - 50000) ist_spin_yield(&spin);
    assert_int_equal(planted.n_sleeps, n_sleeps);
    while (planted.n_sleeps == n_sleeps) ist_spin_yield(&spin);
    assert_true(planted.now_ns - served_ns < 2 * TICK_NS);
}

/* The first nap is short, and a nap is late by an eighth of the wait. */
static void naps_grow_with_the_wait(void **state)
{
    (void)state;
    begin(IST_SPIN_MIXED, ALONE, UINT64_MAX);
    wait_for_ns(200000);
    assert_true(planted.n_sleeps > 0);
    assert_int_equal(planted.longest_ask_ns, NAP_LEAST_NS);
    wait_for_ns(4 * TICK_NS);
    assert_true(planted.longest_ask_ns <= 4 * TICK_NS / NAP_SHARE + NAP_LEAST_NS);
}

/* Other threads need the processor: they get it at once, and the wait still polls in time. */
static void a_crowded_processor_is_given_away(void **state)
{
    (void)state;
    begin(IST_SPIN_SILENT, ALONE, UINT64_MAX);
    planted.yield_ns = TIME_SLICE_NS; /* another process has used its time slice */
    wait_for_ns(a_second_ns);
    assert_true(planted.n_sleeps > planted.n_yields);
    assert_true(planted.longest_ask_ns <= TICK_NS);
    begin(IST_SPIN_SILENT, CROWDED, UINT64_MAX);
    wait_for_ns(TICK_NS / 2);
    assert_true(planted.n_sleeps > 0);
}

static void what_arrivals_wake_sleeps_long(void **state)
{
    (void)state;
    begin(IST_SPIN_REMOTE, ALONE, UINT64_MAX);
    wait_for_ns(10 * a_second_ns);
    assert_int_equal(planted.longest_ask_ns, LOOK_EVERY_NS);
    assert_true(planted.n_sleeps < 50);
}

static void the_longest_nap_can_be_chosen(void **state)
{
    (void)state;
    begin(IST_SPIN_SILENT, ALONE, 20000);
    wait_for_ns(a_second_ns);
    assert_int_equal(planted.longest_ask_ns, 20000);
    begin(IST_SPIN_SILENT, CROWDED, 0);
    wait_for_ns(a_second_ns);
    assert_int_equal(planted.n_sleeps, 0);
    begin(IST_SPIN_MIXED, ALONE, 0);
    wait_for_ns(a_second_ns);
    assert_int_equal(planted.n_sleeps, 0);
    begin(IST_SPIN_LOCAL, ALONE, 0);
    planted.yield_ns = TIME_SLICE_NS;
    wait_for_ns(a_second_ns);
    assert_int_equal(planted.n_sleeps, 0);
    begin(IST_SPIN_REMOTE, ALONE, 0); /* it is woken */
    wait_for_ns(a_second_ns);
    assert_true(planted.n_sleeps > 0);
}

/* After an event a wait stays awake for some time again. */
static void an_event_begins_anew(void **state)
{
    struct ist_spin spin = {0};
    (void)state;
    begin(IST_SPIN_REMOTE, ALONE, UINT64_MAX);
    while (planted.n_sleeps == 0) ist_spin_yield(&spin);
    planted.events++;
    uint64_t woken_ns = planted.now_ns;
    while (planted.n_sleeps == 1) ist_spin_yield(&spin);
    assert_true(planted.now_ns - woken_ns > 50000);
}

/* Short waits until one has yielded the processor, for so long. What earlier waits have learned may let some sleep. */
static void wait_for_a_yield(uint64_t yield_ns)
{
    uint64_t n_yields = planted.n_yields;
    planted.yield_ns = yield_ns;
    while (planted.n_yields == n_yields) wait_for_ns(1);
}

static void a_shared_processor_makes_spins_short(void **state)
{
    (void)state;
    begin(IST_SPIN_SILENT, ALONE, UINT64_MAX);
    wait_for_a_yield(SHARED_YIELD_NS);
    assert_int_equal(ist_spin_rounds, OVERSUBSCRIBED_ROUNDS);
    wait_for_a_yield(ALONE_YIELD_NS); /* shows nothing */
    assert_int_equal(ist_spin_rounds, OVERSUBSCRIBED_ROUNDS);
    for (int i = 0; i < ALONE_YIELDS; i++) {
        assert_int_equal(ist_spin_rounds, OVERSUBSCRIBED_ROUNDS);
        wait_for_a_yield(ALONE_YIELD_NS - 1);
    }
    assert_int_equal(ist_spin_rounds, MIXED_ROUNDS);
}

/* Two PEs on one processor, beside others that are idle or busy. */
static void a_peer_on_this_processor_makes_spins_short(void **state)
{
    (void)state;
    begin(IST_SPIN_LOCAL, ALONE, UINT64_MAX);
    wait_for_a_yield(SHARED_YIELD_NS);
    assert_int_equal(ist_spin_rounds, OVERSUBSCRIBED_ROUNDS);
    for (int i = 0; i < ALONE_YIELDS; i++) wait_for_a_yield(ALONE_YIELD_NS - 1);
    assert_int_equal(ist_spin_rounds, ALONE_ROUNDS);
    assert_int_equal(planted.n_sleeps, 0);
    wait_for_a_yield(SHARED_YIELD_NS);
    wait_for_a_yield(TIME_SLICE_NS); /* to a thread that computes: the awaited peer runs elsewhere */
    assert_int_equal(ist_spin_rounds, ALONE_ROUNDS);
}

/* A time slice for each wait would be too much. */
static void stores_are_looked_for_while_others_compute(void **state)
{
    (void)state;
    begin(IST_SPIN_LOCAL, ALONE, UINT64_MAX);
    wait_for_ns(a_second_ns);
    assert_int_equal(planted.n_sleeps, 0); /* no other thread wants the processor */
    planted.n_polls = 0;
    planted.yield_ns = TIME_SLICE_NS;
    wait_for_ns(a_second_ns);
    assert_true(planted.n_sleeps > 0);
    assert_true(planted.longest_ask_ns <= TICK_NS);
    assert_true(planted.n_polls >= planted.n_sleeps); /* after each nap peers are served, and a hang is reported */
    uint64_t n_sleeps = planted.n_sleeps;
    for (int i = 0; i < 100; i++) wait_for_ns(TICK_NS / 10); /* short waits, most of which begin with a nap */
    assert_true(planted.n_sleeps - n_sleeps > 50);
}

static void with_few_processors_the_pes_that_compute_are_not_interrupted(void **state)
{
    (void)state;
    begin(IST_SPIN_LOCAL, CROWDED, UINT64_MAX);
    planted.yield_ns = TIME_SLICE_NS;
    wait_for_ns(a_second_ns);
    assert_int_equal(planted.n_sleeps, 0);
}

static void a_spin_that_the_user_sets_stays(void **state)
{
    (void)state;
    begin(IST_SPIN_SILENT, ALONE, UINT64_MAX);
    ist_spin_init(1000 * NS_PER_ROUND, UINT64_MAX, ALONE, N_CPUS, IST_SPIN_SILENT);
    wait_for_a_yield(SHARED_YIELD_NS);
    assert_int_equal(ist_spin_rounds, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_waits),
        cmocka_unit_test(what_no_arrival_wakes_looks_every_tick),
        cmocka_unit_test(an_adapter_is_waited_for_awake_at_first),
        cmocka_unit_test(a_served_request_keeps_a_wait_awake),
        cmocka_unit_test(naps_grow_with_the_wait),
        cmocka_unit_test(a_crowded_processor_is_given_away),
        cmocka_unit_test(what_arrivals_wake_sleeps_long),
        cmocka_unit_test(the_longest_nap_can_be_chosen),
        cmocka_unit_test(an_event_begins_anew),
        cmocka_unit_test(a_shared_processor_makes_spins_short),
        cmocka_unit_test(a_peer_on_this_processor_makes_spins_short),
        cmocka_unit_test(stores_are_looked_for_while_others_compute),
        cmocka_unit_test(with_few_processors_the_pes_that_compute_are_not_interrupted),
        cmocka_unit_test(a_spin_that_the_user_sets_stays),
    };
    return cmocka_run_group_tests_name("spin", tests, NULL, NULL);
}

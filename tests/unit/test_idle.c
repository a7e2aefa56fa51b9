/* tests/unit/test_idle.c: how long a wait assumes that other threads need the processor. */
#include <isthmus/idle.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint64_t start_ns = UINT64_C(1000000000), long_yield_ns = 300000, least_ns = 500000, most_ns = 20000000;

static int sleeps_at(struct isthmus_idle_habit *habit, uint64_t now_ns)
{
    struct isthmus_idle idle = {0};
    return isthmus_idle_next(&idle, habit, now_ns) == ISTHMUS_IDLE_SLEEP;
}

/* A long yield that ends at `now_ns`; for how long waits sleep after it. */
static uint64_t sleep_after_yield(struct isthmus_idle_habit *habit, uint64_t now_ns)
{
    uint64_t slept_ns = 0, step_ns = 1000;
    isthmus_idle_yielded(habit, now_ns - long_yield_ns, now_ns);
    while (sleeps_at(habit, now_ns + slept_ns)) slept_ns += step_ns;
    return slept_ns;
}

static void one_interruption_is_forgotten_soon(void **state)
{
    struct isthmus_idle_habit habit = {0};
    (void)state;
    assert_int_equal(sleep_after_yield(&habit, start_ns), least_ns);
    assert_int_equal(sleep_after_yield(&habit, start_ns + 100 * most_ns), least_ns);
}

static void a_crowd_is_believed_for_longer_each_time(void **state)
{
    struct isthmus_idle_habit habit = {0};
    uint64_t now_ns = start_ns, expected_ns = least_ns;
    (void)state;
    for (int i = 0; i < 10; i++) {
        uint64_t slept_ns = sleep_after_yield(&habit, now_ns);
        assert_int_equal(slept_ns, expected_ns);
        now_ns += slept_ns + long_yield_ns;
        expected_ns = 2 * expected_ns < most_ns ? 2 * expected_ns : most_ns;
    }
}

static void a_short_yield_says_nothing_of_a_crowd(void **state)
{
    struct isthmus_idle_habit habit = {0};
    (void)state;
    isthmus_idle_yielded(&habit, start_ns, start_ns + 100);
    assert_false(sleeps_at(&habit, start_ns + 100));
    assert_true(habit.looks_left > 0); /* no thread took the processor: no yield for a while */
}

static void a_wait_stays_awake_as_long_as_its_habit_has_it(void **state)
{
    struct isthmus_idle_habit usual = {0}, longer = {.awake_ns = least_ns};
    struct isthmus_idle idle = {0};
    (void)state;
    assert_int_not_equal(isthmus_idle_next(&idle, &usual, start_ns), ISTHMUS_IDLE_SLEEP);
    assert_int_equal(isthmus_idle_next(&idle, &usual, start_ns + least_ns - 1), ISTHMUS_IDLE_SLEEP);
    idle = (struct isthmus_idle){0};
    assert_int_not_equal(isthmus_idle_next(&idle, &longer, start_ns), ISTHMUS_IDLE_SLEEP);
    assert_int_not_equal(isthmus_idle_next(&idle, &longer, start_ns + least_ns - 1), ISTHMUS_IDLE_SLEEP);
    assert_int_equal(isthmus_idle_next(&idle, &longer, start_ns + least_ns), ISTHMUS_IDLE_SLEEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_interruption_is_forgotten_soon),
        cmocka_unit_test(a_crowd_is_believed_for_longer_each_time),
        cmocka_unit_test(a_short_yield_says_nothing_of_a_crowd),
        cmocka_unit_test(a_wait_stays_awake_as_long_as_its_habit_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

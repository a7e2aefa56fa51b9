/* tests/unit/test_clock.c: waits end on time although the time of day is set back meanwhile. */
#include "core/base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* In place of libc's: the time of day is set back by an hour after each reading, so that a wait for a time of day would
 * last an hour longer. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    if (result == 0 && clock == CLOCK_REALTIME) out->tv_sec += 3600;
    return result;
}

static void wait_ends_on_time(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    uint64_t begin_ns = ist_clock_ns();
    struct timespec until = ist_clock_until_ms(20);
    int result;
    (void)state;
    pthread_mutex_lock(&lock);
    do result = ist_clock_wait(&changed, &lock, &until);
    while (result == 0);
    pthread_mutex_unlock(&lock);
    assert_int_equal(result, ETIMEDOUT);
    assert_true(ist_clock_ns() - begin_ns >= 20000000);
}

static void deadlines_carry(void **state)
{
    (void)state;
    for (uint64_t ns = 0; ns < 4000000000u; ns += 333333333) {
        struct timespec until = ist_clock_until(ns);
        assert_in_range(until.tv_nsec, 0, 999999999);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wait_ends_on_time), cmocka_unit_test(deadlines_carry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

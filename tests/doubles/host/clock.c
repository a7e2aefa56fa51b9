/* tests/doubles/host/clock.c: a clock of the day that is set back after each reading: what a program reads is ahead of
 * the clock by which the kernel ends its waits, so that a wait for a time of day lasts longer by that much. The
 * monotonic clock is right. */
#include "tests/doubles/host/host.h"

#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead_s(void)
{
    const struct host_knob *knob = host_now()->is_shown ? host_knob_next("clock_ahead_s", NULL) : NULL;
    return knob != NULL ? atol(knob->value) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    HOST_NEXT(clock_gettime);
    int result = next(clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += ahead_s();
    return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    HOST_NEXT(gettimeofday);
    int result = next(out, zone);
    if (result == 0) out->tv_sec += ahead_s();
    return result;
}

time_t time(time_t *out)
{
    HOST_NEXT(time);
    time_t now = next(NULL) + ahead_s();
    if (out != NULL) *out = now;
    return now;
}

/* core/base/clock.h: the clock for waits. */
#ifndef IST_BASE_CLOCK_H
#define IST_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ist_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns a deadline for pthread_cond_timedwait(), in its default clock. */
static inline struct timespec ist_clock_until_ms(long ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

#endif

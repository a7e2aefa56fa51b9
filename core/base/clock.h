/* core/base/clock.h: the clock for waits. It is the monotonic one: the time of day may be set meanwhile. */
#ifndef IST_BASE_CLOCK_H
#define IST_BASE_CLOCK_H

#include "core/base/thread.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t ist_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns a deadline for ist_clock_wait(), so many nanoseconds from now. */
static inline struct timespec ist_clock_until(uint64_t ns)
{
    uint64_t at = ist_clock_ns() + ns;
    return (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
}

static inline struct timespec ist_clock_until_ms(long ms) { return ist_clock_until((uint64_t)ms * 1000000u); }

/* Waits for `changed`, at most until that time; NULL: for ever. Returns as pthread_cond_timedwait() does. */
static inline int ist_clock_wait(pthread_cond_t *changed, pthread_mutex_t *lock, const struct timespec *until)
{
    int cancel = ist_cancel_disable();
    int error = until == NULL ? pthread_cond_wait(changed, lock)
                              : pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, until);
    ist_cancel_restore(cancel);
    return error;
}

#endif

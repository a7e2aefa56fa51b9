/* tests/threads/yields.h: included first in every C file of the core and the plugins in a build with ISTHMUS_YIELDS:
 * before and after the library's points of synchronisation (locks, conditions, atomic accesses, which every wait polls)
 * a thread yields its processor at random, so that other threads run where they seldom do.
 * Seeded by ISTHMUS_TEST_SEED, and by the order in which the threads of a PE come here first. */
#ifndef TESTS_THREADS_YIELDS_H
#define TESTS_THREADS_YIELDS_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

/* One of each for a library and for each plugin. */
#define YIELDS_COMMON __attribute__((weak, visibility("hidden")))
extern _Thread_local uint64_t ist_yields_state;
extern uint64_t ist_yields_threads;
void ist_yields_point(void);

YIELDS_COMMON _Thread_local uint64_t ist_yields_state;
YIELDS_COMMON uint64_t ist_yields_threads;

YIELDS_COMMON void ist_yields_point(void)
{
    enum { ONE_IN = 32 };
    uint64_t state = ist_yields_state;
    if (state == 0) {
        const char *seed = getenv("ISTHMUS_TEST_SEED");
        uint64_t thread = __atomic_add_fetch(&ist_yields_threads, 1, __ATOMIC_RELAXED);
        state = ((seed != NULL ? strtoull(seed, NULL, 0) : 0) + thread) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    }
    state ^= state << 13; /* xorshift, which never becomes 0 */
    state ^= state >> 7;
    state ^= state << 17;
    ist_yields_state = state;
    if ((state >> 32) % ONE_IN == 0) sched_yield();
}

/* A macro is not expanded again inside itself: these end in what they are named after. */
#define pthread_mutex_lock(mutex) (ist_yields_point(), pthread_mutex_lock(mutex))
#define pthread_mutex_trylock(mutex) (ist_yields_point(), pthread_mutex_trylock(mutex))
#define pthread_mutex_unlock(mutex) yields_after(pthread_mutex_unlock(mutex))
#define pthread_cond_signal(cond) (ist_yields_point(), pthread_cond_signal(cond))
#define pthread_cond_broadcast(cond) (ist_yields_point(), pthread_cond_broadcast(cond))
#define pthread_cond_wait(cond, mutex) yields_after(pthread_cond_wait(cond, mutex))
#define pthread_cond_clockwait(cond, mutex, clock, until) \
    yields_after(pthread_cond_clockwait(cond, mutex, clock, until))
static inline int yields_after(int result)
{
    ist_yields_point();
    return result;
}

#define __atomic_load_n(...) (ist_yields_point(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (ist_yields_point(), __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...) (ist_yields_point(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (ist_yields_point(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (ist_yields_point(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_sub(...) (ist_yields_point(), __atomic_fetch_sub(__VA_ARGS__))
#define __atomic_fetch_and(...) (ist_yields_point(), __atomic_fetch_and(__VA_ARGS__))
#define __atomic_fetch_or(...) (ist_yields_point(), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_xor(...) (ist_yields_point(), __atomic_fetch_xor(__VA_ARGS__))
#define __atomic_add_fetch(...) (ist_yields_point(), __atomic_add_fetch(__VA_ARGS__))
#define __atomic_sub_fetch(...) (ist_yields_point(), __atomic_sub_fetch(__VA_ARGS__))

#endif

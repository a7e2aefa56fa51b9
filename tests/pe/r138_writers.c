/* R138: a wait ends on every kind of change of its variable: atomics, signals, and as in older programs puts of any
 * kind, a thread's atomic to its own PE, a plain store of a thread. */
#include "check.h"

#include <pthread.h>

enum { WAYS = 10 };

static uint64_t flag, unused_data;

static void *write_flag(void *arg)
{
    uint64_t value = (uint64_t)(uintptr_t)arg;
    static uint64_t source;
    switch (value % WAYS) {
    case 0: shmem_uint64_p(&flag, value, pe.right); break;
    case 1: shmem_uint64_put(&flag, &value, 1, pe.right); break;
    case 2: shmem_putmem(&flag, &value, sizeof value, pe.right); break;
    case 3: shmem_uint64_atomic_set(&flag, value, pe.right); break;
    case 4: shmem_signal_set(&flag, value, pe.right); break;
    case 5: shmem_uint64_put_signal(&unused_data, &value, 1, &flag, value, SHMEM_SIGNAL_SET, pe.right); break;
    case 6: shmem_uint64_iput(&flag, &value, 1, 1, 1, pe.right); break;
    case 7:
        source = value;
        shmem_put64_nbi(&flag, &source, 1, pe.right);
        shmem_quiet();
        break;
    case 8: shmem_uint64_atomic_set(&flag, value, pe.me); break; /* of this PE, by another thread */
    default: __atomic_store_n(&flag, value, __ATOMIC_RELEASE); break;
    }
    return NULL;
}

int main(void)
{
    pe_begin_threads();
    for (uint64_t value = 1; value <= (uint64_t)pe_rounds(2000); value++) {
        pthread_t thread;
        int by_thread = value % WAYS >= 8;
        if (by_thread)
            CHECK_EQ(pthread_create(&thread, NULL, write_flag, (void *)(uintptr_t)value), 0);
        else
            write_flag((void *)(uintptr_t)value);
        if (value % 2)
            shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, value);
        else
            while (!shmem_uint64_test(&flag, SHMEM_CMP_EQ, value)) sched_yield();
        if (by_thread) pthread_join(thread, NULL);
        shmem_barrier_all();
    }
    return pe_end();
}

/* A thread whose atomic an adapter executes is woken by its completion, also when another thread of the same context
 * sleeps for both: that one waits for a peer that stands still until the atomic is done. Here a sleep ends by an event
 * only; the plugin's own limit of it would hide that none comes. */
#include "tests/pe/check.h"
#include "tests/pe/stop_peer.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>

enum { NAP_MS = 50, STOPPED = 1, OTHER = 2 }; /* the plugin's limit; two of the PEs */

static uint64_t word, is_done;
static uint32_t half;
static long pids[3];
static bool watches, has_slept;

__attribute__((visibility("default"))) int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    bool is_nap = timeout_ms == NAP_MS && __atomic_load_n(&watches, __ATOMIC_ACQUIRE);
    if (is_nap) __atomic_store_n(&has_slept, true, __ATOMIC_RELEASE);
    const struct timespec limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, fds, n, is_nap || timeout_ms < 0 ? NULL : &limit, NULL, 0);
}

static void *update(void *none)
{
    while (!__atomic_load_n(&has_slept, __ATOMIC_ACQUIRE)) sched_yield();
    CHECK_EQ(shmem_uint64_atomic_fetch_add(&word, 1, OTHER), 1);
    __atomic_store_n(&watches, false, __ATOMIC_RELEASE);
    CHECK_EQ(kill((pid_t)pids[STOPPED], SIGCONT), 0);
    return none;
}

int main(void)
{
    int provided;
    pe_deadline(50);
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
    pe_know();
    shmem_long_p(&pids[pe.me], (long)getpid(), 0);
    shmem_barrier_all();
    if (pe.me == 0) {
        pthread_t thread;
        shmem_uint64_atomic_inc(&word, OTHER); /* the first ones connect */
        shmem_uint32_atomic_inc(&half, STOPPED);
        shmem_quiet();
        stop_peer(pids[STOPPED]);
        __atomic_store_n(&watches, true, __ATOMIC_RELEASE);
        CHECK_EQ(pthread_create(&thread, NULL, update, NULL), 0);
        CHECK_EQ(shmem_uint32_atomic_fetch_inc(&half, STOPPED), 1); /* by that PE's processor */
        CHECK_EQ(pthread_join(thread, NULL), 0);
        for (int i = 1; i < pe.n; i++) shmem_uint64_p(&is_done, 1, i);
    } else {
        shmem_uint64_wait_until(&is_done, SHMEM_CMP_EQ, 1);
    }
    return pe_end();
}

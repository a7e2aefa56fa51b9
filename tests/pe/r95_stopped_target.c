/* R95 (tests/hosts/roce.table): what the adapter does for a PE whose process is stopped, all threads of it: with
 * ISTHMUS_ATOMICS=nic atomics of 64 bits, otherwise puts with a signal that is set. Two PEs on one host that reach each
 * other by the adapter only. */
#include "check.h"
#include "stop_peer.h"

#include <stdbool.h>

enum { SHORT = 8, LONG = 100000 };

static uint64_t word;
static char data[LONG];
static long target_pid; /* on PE 0, of PE 1 */

static void update(void)
{
    CHECK_EQ(shmem_uint64_atomic_fetch_add(&word, 5, 1), 1);
    CHECK_EQ(shmem_uint64_atomic_compare_swap(&word, 6, 0x30, 1), 6);
    CHECK_EQ(shmem_uint64_atomic_fetch_or(&word, 1, 1), 0x30);
    CHECK_EQ(shmem_uint64_atomic_fetch_and(&word, 0x11, 1), 0x31);
    CHECK_EQ(shmem_uint64_atomic_fetch_xor(&word, 0x100, 1), 0x11);
    CHECK_EQ(shmem_uint64_atomic_swap(&word, 7, 1), 0x111);
    shmem_uint64_atomic_add(&word, 1, 1);
    shmem_quiet();
    CHECK_EQ(shmem_uint64_atomic_fetch(&word, 1), 8);
    shmem_uint64_atomic_set(&word, 9, 1);
    shmem_quiet();
}

/* Each quiet returns although no processor of the target takes part. */
static void put_and_signal(void)
{
    static char source[LONG];
    memset(source, 3, sizeof source);
    shmem_putmem_signal(data, source, SHORT, &word, 2, SHMEM_SIGNAL_SET, 1);
    shmem_quiet();
    CHECK_EQ(shmem_uint64_g(&word, 1), 2);
    shmem_putmem_signal(data, source, LONG, &word, 3, SHMEM_SIGNAL_SET, 1);
    shmem_quiet();
    CHECK_EQ(shmem_uint64_g(&word, 1), 3);
    shmem_putmem_signal_nbi(data, source, LONG / 2, &word, 9, SHMEM_SIGNAL_SET, 1);
    shmem_quiet();
}

int main(void)
{
    const char *atomics = getenv("ISTHMUS_ATOMICS");
    bool is_nic = atomics != NULL && strcmp(atomics, "nic") == 0;
    pe_begin();
    if (pe.n != 2) pe_skip("it takes two PEs");
    if (pe.me == 1) shmem_long_p(&target_pid, (long)getpid(), 0);
    if (pe.me == 0 && is_nic) shmem_uint64_atomic_inc(&word, 1); /* the first atomic connects */
    if (pe.me == 0 && !is_nic) shmem_putmem_signal(data, "first", SHORT - 2, &word, 1, SHMEM_SIGNAL_SET, 1);
    shmem_barrier_all();
    if (pe.me == 0) {
        stop_peer(target_pid);
        (is_nic ? update : put_and_signal)();
        CHECK_EQ(kill((pid_t)target_pid, SIGCONT), 0);
    }
    shmem_barrier_all();
    if (pe.me == 1) CHECK_EQ(word, 9);
    for (size_t i = 0; i < LONG && pe.me == 1 && !is_nic; i++) CHECK_EQ(data[i], 3);
    return pe_end();
}

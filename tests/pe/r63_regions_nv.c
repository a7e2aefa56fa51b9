/* R63: nvshmemx_region_start and _stop: puts in between have the order and completion of other puts, a wait in between
 * does not hang, and over TCP they share messages. With the argument "counts" it counts the calls of the system that
 * send; such a job has a network between its PEs. With "replies" only waits inside a region are tested. */
#include "nv.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { WORDS = 600, LONGEST = 300, ROUNDS = 20, FEW_TO_MESSAGE = 20 };

static long *words; /* symmetric: WORDS from each neighbour */
static long *flags; /* symmetric */
static long *locks; /* symmetric: three that follow one another have homes on different PEs */
static _Thread_local long before[LONGEST];

/* ---- what this thread sends ---- */

static _Thread_local long n_sends;

#pragma GCC visibility push(default) /* the plugin's libraries are to find these */
ssize_t send(int fd, const void *data, size_t n, int how)
{
    n_sends++;
    return syscall(SYS_sendto, fd, data, n, how, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int how)
{
    n_sends++;
    return syscall(SYS_sendmsg, fd, message, how);
}
#pragma GCC visibility pop

/* ---- regions ---- */

static nvshmemx_region_handle_t start(void)
{
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    nvshmemx_region_handle_t handle = 0;
    attrs.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
    CHECK_EQ(nvshmemx_region_start(&handle, &attrs), 0);
    return handle;
}

static void stop(nvshmemx_region_handle_t handle) { CHECK_EQ(nvshmemx_region_stop(handle), 0); }

/* Puts of every kind and of lengths below and above what shares messages; each source changes right after its put. */
static void put_words(long *dest, long first, int to)
{
    static _Thread_local long kept[WORDS];
    long n = 1;
    for (long i = 0; i < WORDS; i += n, n = n % 5 == 0 ? 1 : n + 1) {
        if (i + n > WORDS) n = WORDS - i;
        for (long k = 0; k < n; k++) kept[i + k] = first + i + k;
        if (n == 1) nvshmem_long_p(dest + i, kept[i], to);
        if (n == 2 || n == 3) {
            memcpy(before, kept + i, (size_t)n * sizeof *kept);
            nvshmem_long_put(dest + i, before, (size_t)n, to);
            memset(before, 0xff, (size_t)n * sizeof *kept);
        }
        if (n > 3) nvshmem_long_put_nbi(dest + i, kept + i, (size_t)n, to);
    }
}

static void check_words(const long *came, long first)
{
    for (long i = 0; i < WORDS; i++) CHECK_EQ(came[i], first + i);
}

static long name(int from, int round) { return from * 1000000L + round * 1000L; }

/* A barrier covers puts of a region that is still open. Two peers at a time: two messages gather. */
static void all_arrive(bool stops_first)
{
    for (int round = 1; round <= ROUNDS; round++) {
        nvshmemx_region_handle_t handle = start();
        put_words(words, name(pe.me, round), pe.right);
        put_words(words + WORDS, name(pe.me, round), pe.left);
        if (stops_first) stop(handle);
        nvshmem_barrier_all();
        if (!stops_first) stop(handle);
        check_words(words, name(pe.left, round));
        check_words(words + WORDS, name(pe.right, round));
        nvshmem_barrier_all();
    }
}

/* Data, a fence, a flag: the peer that sees the flag sees the data. */
static void fence_orders(void)
{
    for (long round = 1; round <= ROUNDS; round++) {
        nvshmemx_region_handle_t handle = start();
        put_words(words, name(pe.me, (int)round), pe.right);
        nvshmem_fence();
        nvshmem_long_p(flags, round, pe.right);
        stop(handle);
        shmem_long_wait_until(flags, SHMEM_CMP_EQ, round);
        check_words(words, name(pe.left, (int)round));
        nvshmem_barrier_all();
    }
}

/* What comes after a put in the region finds it complete, or behind it. */
static void others_come_behind(void)
{
    nvshmemx_region_handle_t handle = start();
    for (long round = 1; round <= ROUNDS; round++) {
        nvshmem_long_p(words + pe.me, round, pe.right);
        nvshmem_quiet();
        CHECK_EQ(nvshmem_long_g(words + pe.me, pe.right), round);
        nvshmem_long_p(words + pe.me, 10 * round, pe.right);
        nvshmem_fence();
        nvshmem_long_atomic_add(words + pe.me, 1, pe.right);
        nvshmem_fence();
        CHECK_EQ(nvshmem_long_atomic_fetch(words + pe.me, pe.right), 10 * round + 1);
    }
    stop(handle);
    nvshmem_barrier_all();
}

/* The reply to a put is waited for inside the region, without quiet: by a wait, by tests, by fetches of the signal. */
static void replies_come(void)
{
    uint64_t *signal = (uint64_t *)flags + 2;
    long *flag = flags + 1;
    nvshmemx_region_handle_t handle = start();
    for (long round = 1; round <= 3 * ROUNDS; round++) {
        nvshmem_long_p(flag, round, pe.right);
        if (round % 3 == 0) shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
        while (round % 3 == 1 && !shmem_long_test(flag, SHMEM_CMP_GE, round)) sched_yield();
        nvshmem_uint64_p(signal, (uint64_t)round, pe.right);
        while (nvshmem_signal_fetch(signal) < (uint64_t)round) sched_yield();
        shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    }
    stop(handle);
    nvshmem_barrier_all();
}

/* PE 0 waits for PE 1's answer to a put by calls that are no waits, and that do not go to PE 1. */
static void other_replies_come(void)
{
    long *answer = flags + 3;
    if (pe.n < 3) return;
    for (long round = 1; round <= ROUNDS; round++) {
        long *lock = &locks[round % 3];
        if (pe.me == 1) shmem_set_lock(lock);
        nvshmem_barrier_all();
        if (pe.me == 0) {
            nvshmemx_region_handle_t handle = start();
            nvshmem_long_p(words, -2 * round, 1);
            while (shmem_test_lock(lock) != 0) sched_yield();
            nvshmem_long_p(words, -2 * round - 1, 1);
            while (round % 2 == 0 && __atomic_load_n(answer, __ATOMIC_ACQUIRE) != round) (void)nvshmem_long_g(words, 2);
            while (round % 2 == 1 && nvshmem_long_atomic_fetch(answer, 2) != round) sched_yield();
            stop(handle);
            shmem_clear_lock(lock);
        } else if (pe.me == 1) {
            shmem_long_wait_until(words, SHMEM_CMP_LE, -2 * round);
            shmem_clear_lock(lock);
            shmem_long_wait_until(words, SHMEM_CMP_LE, -2 * round - 1);
            nvshmem_long_atomic_set(answer, round, round % 2 == 0 ? 0 : 2);
        }
        nvshmem_barrier_all();
    }
}

/* After a quiet in the region PE 1 has the put, as it learns by way of PE 2: nothing else goes from PE 0 to PE 1. A
 * long put in between does not share the message. */
static void quiet_completes(long round, long n_long)
{
    long *turn = flags + 3;
    if (pe.n < 3) return;
    if (pe.me == 0) {
        nvshmemx_region_handle_t handle = start();
        nvshmem_long_p(words, round, 1);
        if (n_long > 0) nvshmem_long_put(words + 1, before, (size_t)n_long, 1);
        nvshmem_quiet();
        nvshmem_long_atomic_set(turn, round, 2);
        while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != round) sched_yield(); /* a wait would send what is left */
        stop(handle);
    } else if (pe.me < 3) {
        shmem_long_wait_until(turn, SHMEM_CMP_EQ, round);
        if (pe.me == 1) CHECK_EQ(words[0], round);
        nvshmem_long_atomic_set(turn, round, pe.me - 1);
    }
    nvshmem_barrier_all();
}

static void *in_thread(void *half)
{
    long first = name(pe.me, 1) + (half != NULL ? 0 : WORDS);
    for (int round = 0; round < ROUNDS; round++) {
        nvshmemx_region_handle_t handle = start();
        put_words(words + (half != NULL ? 0 : WORDS), first, pe.right);
        stop(handle);
    }
    return NULL;
}

/* A region belongs to its thread. */
static void threads_are_apart(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, in_thread, NULL) != 0) check_fail(__FILE__, __LINE__, "no thread");
    (void)in_thread(words);
    pthread_join(other, NULL);
    nvshmem_barrier_all();
    check_words(words, name(pe.left, 1));
    check_words(words + WORDS, name(pe.left, 1) + WORDS);
    nvshmem_barrier_all();
}

static long sends_of_puts(void)
{
    n_sends = 0;
    for (long i = 0; i < WORDS; i++) nvshmem_long_p(words + i, i, pe.right);
    return n_sends;
}

static void messages_are_shared(void)
{
    (void)sends_of_puts(); /* connects */
    nvshmem_barrier_all();
    long alone = sends_of_puts();
    nvshmem_barrier_all();
    nvshmemx_region_handle_t handle = start();
    long held = sends_of_puts();
    stop(handle);
    long sent = n_sends;
    CHECK(held < sent); /* stop sends the rest */
    nvshmem_barrier_all();
    if (alone < WORDS || sent * FEW_TO_MESSAGE > WORDS)
        check_fail(__FILE__, __LINE__, "%d puts took %ld sends, and %ld in a region", WORDS, alone, sent);
}

static void all_cases(bool has_network)
{
    all_arrive(true);
    all_arrive(false);
    fence_orders();
    others_come_behind();
    replies_come();
    other_replies_come();
    for (long round = 1; round <= ROUNDS; round++) quiet_completes(round, round % 2 * 100);
    threads_are_apart();
    if (has_network) messages_are_shared();
}

int main(int argc, char **argv)
{
    int provided;
    const char *part = argc > 1 ? argv[1] : "";
    nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided);
    nv_begin();
    words = nv_symmetric(2 * WORDS * sizeof *words);
    flags = nv_symmetric(4 * sizeof *flags);
    locks = nv_symmetric(3 * sizeof *locks);
    if (strcmp(part, "replies") == 0) {
        replies_come();
        other_replies_come();
    } else {
        all_cases(strcmp(part, "counts") == 0);
    }
    (void)start(); /* finalize ends it */
    nvshmem_long_p(words, 1, pe.right);
    nvshmem_finalize();
    (void)nv_end();
    nvshmem_init();
    stop(start());
    return nv_end();
}

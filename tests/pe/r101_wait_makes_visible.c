/* R101: when a wait or test reports its condition, plain loads see what the writer had ordered before: by fence, by
 * quiet, by put with signal; whichever of the routines reports it. */
#include "check.h"

enum { MOST_WORDS = 2000 };

static uint64_t data[MOST_WORDS], flag, ack;

static void send(uint64_t round, size_t n)
{
    static uint64_t source[MOST_WORDS];
    for (size_t i = 0; i < n; i++) source[i] = round;
    if (round % 3 == 0) {
        shmem_uint64_put_signal(data, source, n, &flag, round, SHMEM_SIGNAL_SET, pe.right);
        return;
    }
    shmem_uint64_put(data, source, n, pe.right);
    if (round % 3 == 1)
        shmem_fence();
    else
        shmem_quiet();
    shmem_uint64_atomic_set(&flag, round, pe.right);
}

static void receive(uint64_t round)
{
    size_t index;
    switch (round % 8) {
    case 0: shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round); break;
    case 1: CHECK_EQ(shmem_signal_wait_until(&flag, SHMEM_CMP_GE, round), round); break;
    case 2: shmem_uint64_wait_until_all(&flag, 1, NULL, SHMEM_CMP_EQ, round); break;
    case 3: CHECK_EQ(shmem_uint64_wait_until_any(&flag, 1, NULL, SHMEM_CMP_EQ, round), 0); break;
    case 4: CHECK_EQ(shmem_uint64_wait_until_some(&flag, 1, &index, NULL, SHMEM_CMP_EQ, round), 1); break;
    case 5:
        while (!shmem_uint64_test(&flag, SHMEM_CMP_EQ, round)) sched_yield();
        break;
    case 6:
        while (shmem_uint64_test_any(&flag, 1, NULL, SHMEM_CMP_EQ, round) != 0) sched_yield();
        break;
    default:
        while (shmem_signal_fetch(&flag) != round) sched_yield();
    }
}

int main(void)
{
    pe_begin();
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(8000); round++) {
        size_t n = 1 + (size_t)(round * 37 % MOST_WORDS);
        send(round, n);
        receive(round);
        for (size_t i = 0; i < n; i++) CHECK_EQ(data[i], round);
        shmem_uint64_atomic_set(&ack, round, pe.left);
        shmem_uint64_wait_until(&ack, SHMEM_CMP_EQ, round);
    }
    return pe_end();
}

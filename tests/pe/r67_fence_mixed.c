/* R67: a fence holds where operations to one PE use different transports, and where only one of two PEs is reached so.
 * With the argument "one", PE 0 only sends to PE 1: for tests that count the cost. */
#include "check.h"

static uint64_t data, lines[16], flag, lines_too[16], count;

static void send(uint64_t round, int to)
{
    shmem_uint64_p(&data, round, to);
    shmem_fence();
    if (round % 2 == 0)
        shmem_uint64_atomic_set(&flag, round, to);
    else
        shmem_uint64_p(&flag, round, to);
}

/* Atomics before the fence, a put after it. */
static void send_back(uint64_t round, int to)
{
    shmem_uint64_atomic_add(&count, 1, to);
    shmem_fence();
    shmem_uint64_p(&flag, round, to);
}

static void receive(uint64_t round)
{
    shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round);
    CHECK_EQ(__atomic_load_n(&data, __ATOMIC_RELAXED), round);
}

static void to_one(uint64_t rounds)
{
    for (uint64_t round = 1; round <= rounds && pe.me == 0; round++) {
        shmem_uint64_p(&data, round, 1);
        shmem_fence();
        shmem_uint64_p(&flag, round, 1);
    }
    shmem_barrier_all();
    if (pe.me == 1) CHECK_EQ(data, rounds);
}

/* PE 0 sends to all others in turn, and each replies. */
static void to_all(uint64_t rounds)
{
    for (uint64_t round = 1; round <= rounds; round++) {
        for (int to = 1; to < pe.n && pe.me == 0; to++) {
            send(round, to);
            shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, round * (uint64_t)pe.n + (uint64_t)to);
            CHECK_EQ(__atomic_load_n(&count, __ATOMIC_RELAXED), (round - 1) * (uint64_t)(pe.n - 1) + (uint64_t)to);
        }
        if (pe.me == 0) continue;
        receive(round);
        send_back(round * (uint64_t)pe.n + (uint64_t)pe.me, 0);
    }
    (void)lines, (void)lines_too;
}

int main(int argc, char **argv)
{
    pe_begin();
    if (argc > 1 && strcmp(argv[1], "one") == 0)
        to_one(200);
    else
        to_all((uint64_t)pe_rounds(2000));
    return pe_end();
}

/* R98: what a PE has seen by a wait is visible to every PE that learns of it from there (WRC): PE 0 writes to PE 1 and
 * sets its flag, PE 1 sets the flag of PE 2, PE 2 gets the data from PE 1. */
#include "check.h"

enum { WORDS = 300 };

static uint64_t data[WORDS], first_flag, second_flag;

int main(void)
{
    static uint64_t source[WORDS], seen[WORDS];
    pe_begin();
    pe_seed();
    uint64_t random = pe.seed + (uint64_t)pe.me;
    int middle = 1 % pe.n, last = 2 % pe.n;
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(8000); round++) {
        size_t n = 1 + round % WORDS;
        if (pe.me == 0) {
            for (size_t i = 0; i < n; i++) source[i] = round;
            jitter(&random);
            shmem_uint64_put(data, source, n, middle);
            shmem_fence();
            shmem_uint64_atomic_set(&first_flag, round, middle);
        }
        if (pe.me == middle) {
            shmem_uint64_wait_until(&first_flag, SHMEM_CMP_EQ, round);
            shmem_uint64_atomic_set(&second_flag, round, last);
        }
        if (pe.me == last) {
            shmem_uint64_wait_until(&second_flag, SHMEM_CMP_EQ, round);
            shmem_uint64_get(seen, data, n, middle);
            for (size_t i = 0; i < n; i++) CHECK_EQ(seen[i], round);
        }
        shmem_barrier_all();
    }
    return pe_end();
}

/* R62: when a get, g or blocking fetch returns, its value is there: each step needs the value of the one before. */
#include "check.h"

enum { NODES = 257 };

static uint64_t next[NODES]; /* a permutation: a chain through all nodes, spread over the PEs */

int main(void)
{
    pe_begin();
    for (uint64_t i = 0; i < NODES; i++) next[i] = (i + 100) % NODES;
    shmem_barrier_all();
    for (int round = pe_rounds(400); round > 0; round--) {
        uint64_t at = 0, seen;
        for (int step = 0; step < NODES; step++) {
            uint64_t expected = (at + 100) % NODES;
            int from = (int)((at + (uint64_t)round) % (uint64_t)pe.n);
            switch (step % 5) {
            case 0: seen = shmem_uint64_g(&next[at], from); break;
            case 1: shmem_uint64_get(&seen, &next[at], 1, from); break;
            case 2: seen = shmem_uint64_atomic_fetch(&next[at], from); break;
            case 3: shmem_getmem(&seen, &next[at], sizeof seen, from); break;
            default: shmem_uint64_iget(&seen, &next[at], 1, 1, 1, from);
            }
            CHECK_EQ(seen, expected);
            at = seen;
        }
        CHECK_EQ(at, 0);
    }
    return pe_end();
}

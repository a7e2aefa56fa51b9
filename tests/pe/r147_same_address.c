/* R147: source and destination may be the same symmetric address on different PEs; on the calling PE that is undefined,
 * and must not crash. */
#include "check.h"

enum { WORDS = 5000 };

static uint64_t words[WORDS];

int main(void)
{
    pe_begin();
    for (int turn = 0; turn < 2 * pe.n; turn++) {
        int sender = turn % pe.n, receiver = (sender + 1) % pe.n;
        if (pe.me == sender) {
            for (int i = 0; i < WORDS; i++) words[i] = (uint64_t)(turn * WORDS + i);
            if (turn % 2)
                shmem_uint64_put(words, words, WORDS, receiver);
            else
                shmem_uint64_put_nbi(words, words, WORDS, receiver);
        }
        shmem_barrier_all();
        if (pe.me == receiver)
            for (int i = 0; i < WORDS; i++) CHECK_EQ(words[i], turn * WORDS + i);
        shmem_barrier_all();
        if (pe.me == sender) memset(words, 0, sizeof words);
        shmem_barrier_all();
        if (pe.me == sender) shmem_uint64_get(words, words, WORDS, receiver);
        if (pe.me == sender && pe.n > 1)
            for (int i = 0; i < WORDS; i++) CHECK_EQ(words[i], turn * WORDS + i);
        shmem_barrier_all();
    }
    shmem_uint64_put(words, words, WORDS, pe.me);
    shmem_uint64_get(words, words + 1, WORDS - 1, pe.me);
    shmem_putmem(words, words, 100, pe.me);
    return pe_end();
}

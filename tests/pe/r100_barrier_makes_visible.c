/* R100: after barrier_all a PE's own loads see every update that any PE made to its memory before. */
#include "check.h"

enum { MAX_PES = 64, WORDS = 16 };

static uint64_t statics[MAX_PES][WORDS], sum;

int main(void)
{
    pe_begin();
    CHECK(pe.n <= MAX_PES);
    uint64_t(*block)[WORDS] = shmem_calloc((size_t)pe.n, sizeof *block), source[WORDS];
    CHECK(block != NULL);
    uint64_t rounds = (uint64_t)pe_rounds(4000);
    for (uint64_t round = 1; round <= rounds; round++) {
        for (int i = 0; i < WORDS; i++) source[i] = round * 1000 + (uint64_t)pe.me;
        for (int to = 0; to < pe.n; to++) {
            shmem_uint64_put(block[pe.me], source, WORDS, to);
            for (int i = 0; i < WORDS; i++) shmem_uint64_p(&statics[pe.me][i], source[i], to);
            shmem_uint64_atomic_add(&sum, 1, to);
        }
        shmem_barrier_all();
        for (int from = 0; from < pe.n; from++)
            for (int i = 0; i < WORDS; i++) {
                CHECK_EQ(block[from][i], round * 1000 + (uint64_t)from);
                CHECK_EQ(statics[from][i], round * 1000 + (uint64_t)from);
            }
        CHECK_EQ(sum, round * (uint64_t)pe.n);
        shmem_barrier_all();
    }
    return pe_end();
}

/* R46: no block is reused before all PEs have entered free: what a PE has put there before its own free never damages
 * the next owner's data. calloc is the sharp case: it writes to the block before its barrier. */
#include "check.h"

enum { WORDS = 4000 };

int main(void)
{
    static uint64_t words[WORDS];
    pe_begin();
    for (uint64_t round = 1; round <= (uint64_t)pe_rounds(400); round++) {
        uint64_t *old = shmem_malloc(sizeof words);
        CHECK(old != NULL);
        for (int i = 0; i < WORDS; i++) words[i] = UINT64_MAX - round;
        if ((round / 2 + (uint64_t)pe.me) % 2 == 0) dawdle_us(300); /* the late ones put while the others are in free */
        shmem_uint64_put_nbi(old, words, WORDS, pe.right);
        shmem_free(old);

        uint64_t *block = round % 2 ? shmem_malloc(sizeof words) : shmem_calloc(WORDS, sizeof *words);
        CHECK(block == old); /* the allocator reuses it at once, else this program tests nothing */
        for (int i = 0; i < WORDS && round % 2 == 0; i++) CHECK_EQ(block[i], 0);
        for (int i = 0; i < WORDS; i++) block[i] = round;
        shmem_barrier_all();
        for (int i = 0; i < WORDS; i++) CHECK_EQ(block[i], round);
        shmem_free(block);
    }
    return pe_end();
}

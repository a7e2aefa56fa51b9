/* R49: a large block from calloc is the memory that peers reach: what they put there is seen by this PE's loads, and
 * what it stores is what they get. An adapter has registered those pages before; a library that gives them back while
 * it clears the block leaves the adapter with the old ones. That needs hosts of their own and an adapter; elsewhere the
 * test is one of values. */
#include "check.h"

enum { N_WORDS = 1 << 18 }; /* 2 MiB: in the part of the heap that is there at the start */

int main(void)
{
    pe_begin();
    for (int round = 0; round < 2; round++) { /* then in pages that have been written */
        long *block = shmem_calloc(N_WORDS, sizeof *block);
        CHECK(block != NULL);
        for (size_t i = 0; i < N_WORDS; i += N_WORDS / 4) {
            shmem_long_p(&block[i + 1], (long)i + pe.me, pe.right);
            block[i + 2] = (long)i - pe.me;
        }
        shmem_barrier_all();
        for (size_t i = 0; i < N_WORDS; i += N_WORDS / 4) {
            CHECK_EQ(block[i + 1], (long)i + pe.left);
            CHECK_EQ(shmem_long_g(&block[i + 2], pe.left), (long)i - pe.left);
            CHECK_EQ(block[i], 0);
        }
        shmem_free(block);
    }
    return pe_end();
}

/* R49: calloc zeroes every byte on every PE before any PE returns: peers read at once, after any earlier contents. */
#include "check.h"

enum { MOST_BYTES = 3 << 20 };

int main(void)
{
    static unsigned char seen[MOST_BYTES];
    pe_begin();
    for (size_t bytes = 1; bytes <= MOST_BYTES; bytes = bytes * 4 + 1) {
        for (int round = pe_rounds(40); round > 0; round--) {
            unsigned char *block = shmem_malloc(bytes);
            CHECK(block != NULL);
            memset(block, 0xab, bytes);
            shmem_free(block);
            if (pe.me % 2 == 0) dawdle_us(100);
            CHECK(shmem_calloc(bytes, 1) == block); /* the same block, else the test proves nothing */
            shmem_getmem(seen, block, bytes, pe.right);
            CHECK_FILLED(seen, 0, bytes);
            CHECK_FILLED(block, 0, bytes);
            shmem_free(block);
            if (bytes > 100000) break;
        }
    }
    return pe_end();
}

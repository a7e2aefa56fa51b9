/* R48: align gives multiples of any power of two on every PE, up to 1 GiB; NULL on every PE for other alignments. */
#include "check.h"

int main(void)
{
    pe_begin();
    for (size_t align = 1; align <= (size_t)1 << 30; align *= 2) {
        unsigned char *block = shmem_align(align, 100);
        CHECK(block != NULL);
        CHECK_EQ((uintptr_t)block % align, 0);
        shmem_putmem(block + 50, &pe.me, sizeof pe.me, pe.right);
        shmem_barrier_all();
        int seen;
        memcpy(&seen, block + 50, sizeof seen);
        CHECK_EQ(seen, pe.left);
        shmem_free(block);
    }
    static const size_t wrong[] = {0, 3, 5, 6, 24, 100, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (shmem_align(wrong[i], 64) != NULL) check_fail(__FILE__, __LINE__, "align(%zu, 64) gives a block", wrong[i]);
    }
    CHECK(shmem_align(64, 1) != NULL);
    return pe_end();
}

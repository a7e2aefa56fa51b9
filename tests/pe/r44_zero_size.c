/* R44: size 0 and free(NULL) return at once, without a barrier: one PE alone calls them. */
#include "check.h"

int main(void)
{
    pe_begin();
    for (int i = 0; pe.me == 0 && i < 1000; i++) {
        CHECK(shmem_malloc(0) == NULL);
        CHECK(shmem_calloc(0, 8) == NULL);
        CHECK(shmem_calloc(8, 0) == NULL);
        CHECK(shmem_align(64, 0) == NULL);
        CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_SIGNAL_REMOTE) == NULL);
        CHECK(shmem_realloc(NULL, 0) == NULL);
        shmem_free(NULL);
    }
    int *block = shmem_calloc(1, sizeof *block); /* later blocks still correspond */
    CHECK(block != NULL);
    shmem_int_p(block, pe.me + 1, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*block, pe.left + 1);
    return pe_end();
}

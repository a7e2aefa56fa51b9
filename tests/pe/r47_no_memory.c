/* R47: a request that does not fit is NULL on every PE, nothing is lost and nothing printed by default. expect.sh
 * checks the output. */
#include "check.h"

static void check_usable(void)
{
    int *block = shmem_malloc(1 << 20);
    CHECK(block != NULL);
    shmem_int_p(block, pe.me + 1, pe.right);
    shmem_barrier_all();
    CHECK_EQ(*block, pe.left + 1);
    shmem_free(block);
}

int main(void)
{
    pe_begin();
    CHECK(shmem_malloc((size_t)1 << 60) == NULL);
    check_usable();
    CHECK(shmem_malloc(SIZE_MAX) == NULL);
    CHECK(shmem_malloc(SIZE_MAX / 2 + 1) == NULL);
    CHECK(shmem_calloc(SIZE_MAX / 4, 8) == NULL); /* the product overflows */
    CHECK(shmem_calloc((size_t)1 << 32, (size_t)1 << 32) == NULL);
    CHECK(shmem_align((size_t)1 << 20, SIZE_MAX - 5) == NULL);
    CHECK(shmem_malloc_with_hints(SIZE_MAX, 0) == NULL);
    check_usable();

    /* Until it is full, and again: nothing was lost. */
    enum { PIECE = 1 << 20, MOST = 200 };
    void *pieces[MOST];
    int n_first = 0;
    for (int turn = 0; turn < 2; turn++) {
        int n = 0;
        while (n < MOST && (pieces[n] = shmem_malloc(PIECE)) != NULL) n++;
        if (turn == 0) n_first = n;
        CHECK_EQ(n, n_first);
        CHECK(n > 0 && n < MOST); /* ISTHMUS_HEAP_SIZE is less */
        while (n > 0) shmem_free(pieces[--n]);
    }
    return pe_end();
}

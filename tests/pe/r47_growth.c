/* R47, R53: a heap that grows by extents (ISTHMUS_LOOPBACK_SPARSE=0): blocks in every extent and across their borders
 * work for puts, gets, atomics and ptr. With argument "short", one PE cannot expose more than the first extents: the
 * request that would need another is NULL on every PE, and everything before it still works. */
#include "check.h"

#include <stdbool.h>

enum { BLOCK_BYTES = 40 << 20, MOST = 6 };

static char *fill(int byte)
{
    static char *buffer;
    if (buffer == NULL) buffer = malloc(BLOCK_BYTES);
    CHECK(buffer != NULL);
    memset(buffer, byte, BLOCK_BYTES);
    return buffer;
}

static void use(char *block, int turn)
{
    char *buffer = fill(pe.me + turn + 1);
    int *last = (int *)(void *)(block + BLOCK_BYTES - sizeof(int));
    shmem_putmem(block, buffer, BLOCK_BYTES - sizeof(int), pe.right);
    *last = 0;
    shmem_barrier_all();
    shmem_int_atomic_add(last, pe.me + 1, pe.right);
    shmem_barrier_all();
    CHECK_FILLED(block, pe.left + turn + 1, BLOCK_BYTES - sizeof(int));
    CHECK_EQ(*last, pe.left + 1);
    shmem_getmem(buffer, block, BLOCK_BYTES, pe.right); /* crosses the borders of extents */
    CHECK_FILLED(buffer, pe.me + turn + 1, BLOCK_BYTES - sizeof(int));
    const char *alias = shmem_ptr(block + BLOCK_BYTES / 2, pe.right);
    CHECK(alias == NULL || *alias == (char)(pe.me + turn + 1));
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    bool is_short = argc > 1 && strcmp(argv[1], "short") == 0;
    const char *rank = getenv("PMIX_RANK");
    if (is_short && rank != NULL && strcmp(rank, "1") == 0) setenv("ISTHMUS_LOOPBACK_EXPOSE_LIMIT", "200000000", 1);
    char *blocks[MOST];
    pe_begin();
    int n = 0;
    for (; n < MOST && (blocks[n] = shmem_malloc(BLOCK_BYTES)) != NULL; n++) use(blocks[n], n);
    if (is_short && pe.n > 1)
        CHECK(n > 0 && n < MOST);
    else
        CHECK_EQ(n, MOST);
    use(blocks[0], 3); /* the first again: growth has left earlier extents as they were */
    use(blocks[n - 1], 4);
    while (n > 0) shmem_free(blocks[--n]);
    return pe_end();
}

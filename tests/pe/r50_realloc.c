/* R50: realloc keeps the content up to the smaller size, acts as malloc for NULL and as free for size 0, and leaves the
 * block alone when it fails. Earlier puts of peers into the block are kept. */
#include "check.h"

enum { BYTES = 100000 };

static void check_content(const unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != (unsigned char)(i * 7 + (size_t)pe.left))
            check_fail(__FILE__, __LINE__, "byte %zu of %zu is 0x%02x", i, bytes, block[i]);
}

static unsigned char *resize(unsigned char *block, size_t bytes, size_t kept)
{
    block = shmem_realloc(block, bytes);
    CHECK(block != NULL);
    check_content(block, kept);
    return block;
}

int main(void)
{
    static unsigned char source[BYTES];
    pe_begin();
    for (size_t i = 0; i < BYTES; i++) source[i] = (unsigned char)(i * 7 + (size_t)pe.me);
    unsigned char *block = shmem_realloc(NULL, BYTES);
    CHECK(block != NULL);
    shmem_putmem_nbi(block, source, BYTES, pe.right); /* nothing completes it but realloc */
    block = resize(block, 3 * BYTES, BYTES);
    block = resize(block, 40 * BYTES, BYTES);
    void *wall = shmem_malloc(1000);
    block = resize(block, 100 * BYTES, BYTES); /* has to move, if the wall is behind it */
    CHECK(shmem_realloc(block, SIZE_MAX) == NULL);
    check_content(block, BYTES);
    CHECK(shmem_realloc(block, (size_t)1 << 60) == NULL);
    check_content(block, BYTES);
    block = resize(block, 500, 500);
    block = resize(block, 3, 3);
    shmem_int_p((int *)wall, pe.me, pe.right); /* blocks still correspond */
    shmem_barrier_all();
    CHECK_EQ(*(int *)wall, pe.left);
    CHECK(shmem_realloc(block, 0) == NULL);

    unsigned char *aligned = shmem_align(4096, 100);
    memset(aligned, 9, 100);
    aligned = shmem_realloc(aligned, 5000);
    CHECK_FILLED(aligned, 9, 100);
    return pe_end();
}

/* R26, R35: puts and gets between a heap on a device, static data and private memory, of all sizes, also across the
 * pieces that the heap has grown by; elements, strides, signals. */
#include "device.h"

enum { MOST = 5 << 20 }; /* more than two pieces of 2 MiB */

static char globals[MOST], private_memory[MOST], wanted[MOST];
static const size_t sizes[] = {1, 2, 4, 7, 8, 16, 255, 256, 257, 4096, 100001, MOST - 3};

/* The left neighbour's pattern, in its `source`, to my `dest` by put; then by get, and both without waiting. */
static void between(char *dest, char *source, bool is_dest_in_heap, bool is_source_in_heap, size_t n, size_t at)
{
    void (*const put[])(void *, const void *, size_t, int) = {shmem_putmem, shmem_putmem_nbi};
    void (*const get[])(void *, const void *, size_t, int) = {shmem_getmem, shmem_getmem_nbi};
    char *pattern = malloc(n);
    CHECK(pattern != NULL);
    for (int way = 0; way < 4; way++) {
        make_pattern(pattern, n, 10 * pe.me + way);
        if (is_source_in_heap)
            to_heap(source + at, pattern, n);
        else
            memcpy(source + at, pattern, n);
        shmem_barrier_all();
        if (way < 2)
            put[way](dest + at, source + at, n, pe.right);
        else
            get[way - 2](dest + at, source + at, n, pe.left);
        shmem_barrier_all();
        make_pattern(wanted, n, 10 * pe.left + way);
        if (is_dest_in_heap)
            expect_in_heap(dest + at, wanted, n);
        else
            CHECK_BYTES(dest + at, wanted, n);
        shmem_barrier_all();
    }
    free(pattern);
}

static void ranges(char *heap, char *other)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t at = 0; at < 3; at += 2) {
            size_t n = sizes[i] > 3 ? sizes[i] - at : sizes[i];
            between(heap, other, true, true, n, at);
            between(heap, globals, true, false, n, at);
            between(globals, heap, false, true, n, at);
        }
}

/* From and to memory that is not symmetric. */
static void private_operands(char *heap)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_pattern(private_memory, sizes[i], pe.me);
        shmem_putmem(heap, private_memory, sizes[i], pe.right);
        shmem_barrier_all();
        memset(private_memory, 0, sizes[i]);
        shmem_getmem(private_memory, heap, sizes[i], pe.right);
        make_pattern(wanted, sizes[i], pe.me);
        CHECK_BYTES(private_memory, wanted, sizes[i]);
        shmem_barrier_all();
    }
}

static void elements(char *heap)
{
    long *words = (long *)(void *)heap;
    for (int i = 0; i < 8; i++) shmem_long_p(&words[i], 100 * pe.me + i, pe.right);
    shmem_short_p((short *)(void *)&words[9], (short)pe.me, pe.right);
    shmem_char_p((char *)&words[10] + 3, (char)pe.me, pe.right);
    shmem_barrier_all();
    for (int i = 0; i < 8; i++) CHECK_EQ(shmem_long_g(&words[i], pe.me), 100 * pe.left + i);
    CHECK_EQ(shmem_short_g((short *)(void *)&words[9], pe.me), pe.left);
    CHECK_EQ(shmem_char_g((char *)&words[10] + 3, pe.right), pe.me);
    shmem_barrier_all();
}

static void strides(char *heap)
{
    enum { N = 50 };
    long source[2 * N], seen[3 * N];
    long *words = (long *)(void *)heap;
    fill_heap(words, 0xff, sizeof seen);
    shmem_barrier_all();
    for (int i = 0; i < 2 * N; i++) source[i] = 1000 * pe.me + i;
    shmem_long_iput(words, source, 3, 2, N, pe.right);
    shmem_barrier_all();
    from_heap(seen, words, sizeof seen);
    for (int i = 0; i < 3 * N; i++) CHECK_EQ(seen[i], i % 3 == 0 ? 1000 * pe.left + i / 3 * 2 : -1);
    shmem_long_iget(words + 3 * N, words, 1, 3, N, pe.left); /* both sides on a device */
    for (int i = 0; i < N; i++)
        CHECK_EQ(shmem_long_g(&words[3 * N + i], pe.me), 1000 * ((pe.left + pe.n - 1) % pe.n) + 2 * i);
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    char *heap = shmem_malloc(MOST), *other = shmem_malloc(MOST);
    CHECK(heap != NULL && other != NULL);
    ranges(heap, other);
    private_operands(heap);
    elements(heap);
    strides(heap);
    shmem_free(other);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}

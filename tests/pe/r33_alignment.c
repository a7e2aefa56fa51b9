/* R33: putmem and getmem take any alignment on both sides and any length, put128 the alignment of its size, typed calls
 * that of the type. */
#include "check.h"

enum { OFFSETS = 16, LENGTHS = 68, ROOM = 128 };

static unsigned char arena[ROOM], back[ROOM], expected[ROOM];

/* A target that only this PE writes to, on its right neighbour. */
static void copy(size_t to, size_t from, size_t length, unsigned char *target)
{
    unsigned char source[ROOM];
    for (size_t i = 0; i < ROOM; i++) source[i] = (unsigned char)(i * 11 + length);
    memset(expected, 0xee, ROOM);
    shmem_putmem(target, expected, ROOM, pe.right);
    shmem_fence();
    shmem_putmem(target + to, source + from, length, pe.right);
    memcpy(expected + to, source + from, length);
    shmem_quiet();
    shmem_getmem(back, target, ROOM, pe.right);
    CHECK_BYTES(back, expected, ROOM);

    memset(back, 0xdd, ROOM);
    memset(expected, 0xdd, ROOM);
    shmem_getmem(back + from, target + to, length, pe.right);
    memcpy(expected + from, source + from, length);
    CHECK_BYTES(back, expected, ROOM);
}

static void run_sizes(unsigned char *target)
{
    static const struct {
        uint64_t words[2];
    } source[3] = {{{1, 2}}, {{3, 4}}, {{5, 6}}};
    shmem_put128(target + 16, source, 3, pe.right); /* 16 and not 32 */
    shmem_put64(target + 72, source, 2, pe.right);
    shmem_put32(target + 92, source, 1, pe.right);
    shmem_put16(target + 98, source, 1, pe.right);
    shmem_put8(target + 101, source, 1, pe.right);
    shmem_double_p((double *)(void *)(target + 104), 2.5, pe.right);
    shmem_longdouble_p((long double *)(void *)(target + 112), -3.5L, pe.right);
    shmem_barrier_all();
    CHECK_BYTES(target + 16, source, sizeof source);
    CHECK_BYTES(target + 72, source, 16);
    CHECK_EQ(target[92], 1);
    CHECK_EQ(target[98], 1);
    CHECK_EQ(target[101], 1);
    CHECK(*(double *)(void *)(target + 104) == 2.5);
    CHECK(*(long double *)(void *)(target + 112) == -3.5L);
    shmem_barrier_all();
}

int main(void)
{
    pe_begin();
    unsigned char *block = shmem_align(4096, ROOM);
    CHECK(block != NULL);
    size_t step = pe.n <= 4 ? 1 : 5;
    for (size_t to = 0; to < OFFSETS; to += step)
        for (size_t from = 0; from < OFFSETS; from += step)
            for (size_t length = 0; length < LENGTHS; length += step) copy(to, from, length, to % 2 ? block : arena);
    shmem_barrier_all();
    run_sizes(block);
    return pe_end();
}

/* R34: bytes outside the destination are never touched: their owner changes them all the time while puts of every small
 * length arrive between them, and never finds another value. */
#include "check.h"

enum { MOST_BYTES = 64 };

static uint64_t done;

/* The owner's bytes are those just before and behind the destination. */
static int hammer(volatile unsigned char *before, volatile unsigned char *behind)
{
    int rounds = 0;
    for (unsigned char value = 0; shmem_signal_fetch(&done) == 0; value++, rounds++) {
        *before = value;
        *behind = (unsigned char)~value;
        for (int i = 0; i < 30; i++)
            if (*before != value || *behind != (unsigned char)~value)
                check_fail(__FILE__, __LINE__, "neighbours are 0x%02x and 0x%02x, expected 0x%02x and 0x%02x", *before,
                           *behind, value, (unsigned char)~value);
    }
    return rounds;
}

static void put_all(unsigned char *dest, size_t length, int to, int rounds)
{
    unsigned char source[MOST_BYTES];
    for (int i = 0; i < rounds; i++) {
        memset(source, i, sizeof source);
        shmem_putmem(dest, source, length, to);
    }
    shmem_quiet();
    shmem_signal_set(&done, 1, to);
    shmem_quiet();
}

int main(void)
{
    pe_begin();
    unsigned char *block = shmem_calloc(2, MOST_BYTES);
    CHECK(block != NULL);
    int owner = pe.n - 1, rounds = pe_rounds(4000);
    for (size_t length = 1; length <= MOST_BYTES; length = length < 18 ? length + 1 : length + 7) {
        size_t at = 1 + length % 8;
        done = 0;
        shmem_barrier_all();
        if (pe.me == 0) put_all(block + at, length, owner, rounds);
        if (pe.me == owner) (void)hammer(block + at - 1, block + at + length);
        shmem_barrier_all();
    }
    return pe_end();
}

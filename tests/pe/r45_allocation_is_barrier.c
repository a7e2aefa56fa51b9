/* R45: malloc, align, calloc and realloc are a barrier_all on exit, free is one on entry: puts that nothing else
 * completes are in plain sight after them, and a block may be used at every PE as soon as this one has it. */
#include "check.h"

enum { WORDS = 3000 };

static uint64_t data[WORDS];

static void *allocate(int way, size_t bytes)
{
    static void *kept;
    switch (way) {
    case 0: return shmem_malloc(bytes);
    case 1: return shmem_align(64, bytes);
    case 2: return shmem_calloc(bytes, 1);
    case 3: return shmem_malloc_with_hints(bytes, 0);
    default: kept = shmem_malloc(8); return shmem_realloc(kept, bytes);
    }
}

static void put_to_right(uint64_t value)
{
    static uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++) words[i] = value;
    if (value % 3 == (uint64_t)pe.me % 3) dawdle_us(200); /* some arrive late */
    shmem_uint64_put_nbi(data, words, WORDS, pe.right);
}

static void check_data(uint64_t value)
{
    for (int i = 0; i < WORDS; i++) CHECK_EQ(data[i], value);
}

int main(void)
{
    pe_begin();
    uint64_t value = 0;
    for (int round = pe_rounds(200); round > 0; round--) {
        for (int way = 0; way < 5; way++) {
            put_to_right(++value);
            uint64_t *block = allocate(way, 8000 + (size_t)round);
            CHECK(block != NULL);
            check_data(value);
            /* Written at once; calloc's zeroes and accesses of the slower PE must not follow it. */
            shmem_uint64_p(&block[900], value, pe.right);
            shmem_barrier_all();
            CHECK_EQ(block[900], value);
            put_to_right(++value);
            shmem_free(block);
            check_data(value);
            shmem_barrier_all(); /* all have read */
        }
    }
    return pe_end();
}

/* R43: blocks are aligned, distinct, correspond on all PEs, and keep what owner and peers write: random sequences of
 * all allocation calls, the same on every PE, against a list of what must be there. */
#include "check.h"

enum { BLOCKS = 40, STEPS = 1600, MOST_BYTES = 60000 };

static struct block {
    unsigned char *at;
    size_t bytes, align;
    unsigned char fill; /* every byte of it, put by the left neighbour */
} blocks[BLOCKS];

static void check_distinct(const struct block *b)
{
    CHECK_EQ((uintptr_t)b->at % b->align, 0);
    for (int i = 0; i < BLOCKS; i++) {
        const struct block *other = &blocks[i];
        if (other == b || other->at == NULL) continue;
        CHECK(b->at + b->bytes <= other->at || other->at + other->bytes <= b->at);
    }
}

/* All bytes from the left neighbour; each PE uses another value, so that a block that does not correspond shows. */
static void fill(struct block *b, unsigned char value)
{
    unsigned char bytes[MOST_BYTES];
    memset(bytes, value + pe.me, b->bytes);
    shmem_putmem(b->at, bytes, b->bytes, pe.right);
    b->fill = (unsigned char)(value + pe.left);
    shmem_barrier_all();
    CHECK_FILLED(b->at, b->fill, b->bytes);
}

static void allocate(struct block *b, uint64_t *random)
{
    size_t bytes = 1 + random_below(random, random_below(random, 4) == 0 ? MOST_BYTES : 300);
    size_t align = (size_t)8 << random_below(random, 10);
    *b = (struct block){.bytes = bytes, .align = 16};
    switch (random_below(random, 4)) {
    case 0: b->at = shmem_malloc(bytes); break;
    case 1: b->at = shmem_align(b->align = align, bytes); break;
    case 2: b->at = shmem_malloc_with_hints(bytes, SHMEM_MALLOC_ATOMICS_REMOTE); break;
    default:
        b->at = shmem_calloc(bytes, 1);
        CHECK_FILLED(b->at, 0, bytes);
        shmem_barrier_all(); /* before a peer fills it */
    }
    CHECK(b->at != NULL);
    check_distinct(b);
    fill(b, (unsigned char)random_next(random));
}

static void change(struct block *b, uint64_t *random)
{
    CHECK_FILLED(b->at, b->fill, b->bytes);
    if (random_below(random, 3) == 0) {
        size_t bytes = 1 + random_below(random, MOST_BYTES), kept = bytes < b->bytes ? bytes : b->bytes;
        b->at = shmem_realloc(b->at, bytes);
        CHECK(b->at != NULL);
        CHECK_FILLED(b->at, b->fill, kept);
        b->bytes = bytes;
        b->align = 8;
        check_distinct(b);
        shmem_barrier_all();
        fill(b, (unsigned char)random_next(random));
    } else {
        shmem_free(b->at);
        b->at = NULL;
    }
}

int main(void)
{
    pe_begin();
    pe_seed();
    uint64_t random = pe.seed;
    for (int step = pe_rounds(STEPS); step > 0; step--) {
        struct block *b = &blocks[random_below(&random, BLOCKS)];
        if (b->at == NULL)
            allocate(b, &random);
        else
            change(b, &random);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != NULL) CHECK_FILLED(blocks[i].at, blocks[i].fill, blocks[i].bytes);
        shmem_free(blocks[i].at);
    }
    return pe_end();
}

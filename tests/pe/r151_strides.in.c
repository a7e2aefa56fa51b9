/* R151: strided puts and gets against a model, gaps untouched: strides 1 to 9, blocks, all types, with and without
 * context. expand.py repeats the parts between the marks. */
#include "check.h"

enum { ROOM = 200, MOST_BYTES = ROOM * 16 };

static shmem_ctx_t ctx;
static unsigned char area[MOST_BYTES] __attribute__((aligned(16)));

struct shape {
    ptrdiff_t dst, sst;
    size_t bsize, nblocks;
};

/* What must be in dest, in bytes, when elements have `size`. */
static void model(unsigned char *dest, const unsigned char *source, const struct shape *s, size_t size)
{
    for (size_t b = 0; b < s->nblocks; b++)
        for (size_t k = 0; k < s->bsize; k++)
            memcpy(dest + (b * (size_t)s->dst + k) * size, source + (b * (size_t)s->sst + k) * size, size);
}

/* 1: it fits */
static int random_shape(struct shape *s, uint64_t *random, int blocks)
{
    s->bsize = blocks ? 1 + random_below(random, 5) : 1;
    s->dst = (ptrdiff_t)(s->bsize + random_below(random, 9));
    s->sst = (ptrdiff_t)(s->bsize + random_below(random, 9));
    s->nblocks = random_below(random, 25);
    return (size_t)s->dst * s->nblocks + s->bsize <= ROOM && (size_t)s->sst * s->nblocks + s->bsize <= ROOM;
}

static void fill_source(unsigned char *source, uint64_t *random)
{
    for (int i = 0; i < MOST_BYTES; i++) source[i] = (unsigned char)random_next(random);
}

/* The area of the right neighbour, which only this PE writes to. */
static void set_area(void)
{
    unsigned char background[MOST_BYTES];
    memset(background, 0xcc, sizeof background);
    shmem_putmem(area, background, sizeof background, pe.right);
    shmem_quiet();
}

static void check_area(const unsigned char *source, const struct shape *s, size_t size)
{
    unsigned char expected[MOST_BYTES], seen[MOST_BYTES];
    memset(expected, 0xcc, sizeof expected);
    model(expected, source, s, size);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    shmem_getmem(seen, area, sizeof seen, pe.right);
    CHECK_BYTES(seen, expected, sizeof seen);
}

static void check_got(const unsigned char *dest, const unsigned char *there, const struct shape *s, size_t size)
{
    unsigned char expected[MOST_BYTES];
    memset(expected, 0xdd, sizeof expected);
    model(expected, there, s, size);
    CHECK_BYTES(dest, expected, sizeof expected);
}

/*@for rma@*/
static void run_NAME(uint64_t *random)
{
    static TYPE source[ROOM], dest[ROOM];
    unsigned char *bytes = (unsigned char *)source, there[MOST_BYTES];
    struct shape s;
    TYPE *target = (TYPE *)(void *)area;
    for (int way = 0; way < 8; way++) {
        while (!random_shape(&s, random, way >= 4)) {}
        fill_source(there, random);
        memcpy(source, there, sizeof source);
        if (way % 4 < 2) set_area();
        if (way == 0) shmem_NAME_iput(target, source, s.dst, s.sst, s.nblocks, pe.right);
        if (way == 1) shmem_ctx_NAME_iput(ctx, target, source, s.dst, s.sst, s.nblocks, pe.right);
        if (way == 4) shmem_NAME_ibput(target, source, s.dst, s.sst, s.bsize, s.nblocks, pe.right);
        if (way == 5) shmem_ctx_NAME_ibput(ctx, target, source, s.dst, s.sst, s.bsize, s.nblocks, pe.right);
        if (way % 4 < 2) check_area(bytes, &s, sizeof(TYPE));

        if (way % 4 >= 2) shmem_putmem(area, there, sizeof there, pe.right), shmem_quiet();
        memset(dest, 0xdd, sizeof dest);
        if (way == 2) shmem_NAME_iget(dest, target, s.dst, s.sst, s.nblocks, pe.right);
        if (way == 3) shmem_ctx_NAME_iget(ctx, dest, target, s.dst, s.sst, s.nblocks, pe.right);
        if (way == 6) shmem_NAME_ibget(dest, target, s.dst, s.sst, s.bsize, s.nblocks, pe.right);
        if (way == 7) shmem_ctx_NAME_ibget(ctx, dest, target, s.dst, s.sst, s.bsize, s.nblocks, pe.right);
        unsigned char padded[MOST_BYTES];
        memset(padded, 0xdd, sizeof padded);
        memcpy(padded, dest, sizeof dest);
        if (way % 4 >= 2) check_got(padded, there, &s, sizeof(TYPE));
    }
}

/*@end@*/
static void put_size(int log2_size, const void *source, const struct shape *s, int blocks)
{
    switch (log2_size + 5 * blocks) {
    case 0: shmem_iput8(area, source, s->dst, s->sst, s->nblocks, pe.right); break;
    case 1: shmem_ctx_iput16(ctx, area, source, s->dst, s->sst, s->nblocks, pe.right); break;
    case 2: shmem_iput32(area, source, s->dst, s->sst, s->nblocks, pe.right); break;
    case 3: shmem_ctx_iput64(ctx, area, source, s->dst, s->sst, s->nblocks, pe.right); break;
    case 4: shmem_iput128(area, source, s->dst, s->sst, s->nblocks, pe.right); break;
    case 5: shmem_ctx_ibput8(ctx, area, source, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    case 6: shmem_ibput16(area, source, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    case 7: shmem_ctx_ibput32(ctx, area, source, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    case 8: shmem_ibput64(area, source, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    default: shmem_ctx_ibput128(ctx, area, source, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    }
}

static void get_size(int log2_size, void *dest, const struct shape *s, int blocks)
{
    switch (log2_size + 5 * blocks) {
    case 0: shmem_ctx_iget8(ctx, dest, area, s->dst, s->sst, s->nblocks, pe.right); break;
    case 1: shmem_iget16(dest, area, s->dst, s->sst, s->nblocks, pe.right); break;
    case 2: shmem_ctx_iget32(ctx, dest, area, s->dst, s->sst, s->nblocks, pe.right); break;
    case 3: shmem_iget64(dest, area, s->dst, s->sst, s->nblocks, pe.right); break;
    case 4: shmem_ctx_iget128(ctx, dest, area, s->dst, s->sst, s->nblocks, pe.right); break;
    case 5: shmem_ibget8(dest, area, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    case 6: shmem_ctx_ibget16(ctx, dest, area, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    case 7: shmem_ibget32(dest, area, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    case 8: shmem_ctx_ibget64(ctx, dest, area, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    default: shmem_ibget128(dest, area, s->dst, s->sst, s->bsize, s->nblocks, pe.right); break;
    }
}

static void run_sizes(uint64_t *random)
{
    static unsigned char source[MOST_BYTES] __attribute__((aligned(16))), dest[MOST_BYTES] __attribute__((aligned(16)));
    struct shape s;
    for (int way = 0; way < 10; way++) {
        size_t size = (size_t)1 << way % 5;
        while (!random_shape(&s, random, way / 5)) {}
        fill_source(source, random);
        set_area();
        put_size(way % 5, source, &s, way / 5);
        check_area(source, &s, size);
        shmem_putmem(area, source, sizeof source, pe.right);
        shmem_quiet();
        memset(dest, 0xdd, sizeof dest);
        get_size(way % 5, dest, &s, way / 5);
        check_got(dest, source, &s, size);
    }
}

int main(void)
{
    pe_begin();
    pe_seed();
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    uint64_t random = pe.seed + (uint64_t)pe.me;
    for (int round = pe_rounds(100); round > 0; round--) {
        /*@for rma@*/
        run_NAME(&random);
        /*@end@*/
        run_sizes(&random);
    }
    shmem_ctx_destroy(ctx);
    return pe_end();
}

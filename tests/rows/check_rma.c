/* Put and get in all forms, to the right neighbour and to the PE itself, and with nothing to copy. */
#include "check_rows.h"
#include "values.h"

#include <string.h>

/* Two copies for each row: at FIRST, between neighbours; at SECOND, of the PE with itself. */
enum { FIRST = GUARD_BYTES, SECOND = ROOM_BYTES / 2 + GUARD_BYTES, N_FIRST = 5, N_SECOND = 3, MOST = 12 };
enum { DST = 3, SST = 2, BLOCK = 2, BLOCK_DST = 5, BLOCK_SST = 4 };

static void prepare(struct item *item)
{
    elements_fill(item->row->type, item->source + FIRST, MOST, seed_of(item, world.me));
    elements_fill(item->row->type, item->source + SECOND, MOST, seed_of(item, world.me) + 1);
}

/* The elements that PE `pe` has at FIRST or SECOND. */
static const unsigned char *source_of(const struct item *item, int pe, size_t at)
{
    static __thread unsigned char elements[MOST * 16];
    elements_fill(item->row->type, elements, MOST, seed_of(item, pe) + (at == SECOND));
    return elements;
}

static void copy(struct item *item, struct row_call *c, size_t at, size_t n)
{
    c->dest = item->dest + at;
    c->source = item->source + at;
    c->nelems = c->nblocks = n;
    call(item, c);
}

static void copy_both(struct item *item, struct row_call c)
{
    copy(item, &c, FIRST, N_FIRST);
    c.pe = world.me;
    copy(item, &c, SECOND, N_SECOND);
    c.pe = world.right;
    c.dest = NULL, c.source = NULL, c.nelems = c.nblocks = 0;
    call(item, &c);
}

static void act_contiguous(struct item *item) { copy_both(item, call_to(item, world.right)); }

static void act_strided(struct item *item)
{
    struct row_call c = call_to(item, world.right);
    c.dst = DST, c.sst = SST;
    copy_both(item, c);
}

static void act_blocks(struct item *item)
{
    struct row_call c = call_to(item, world.right);
    c.dst = BLOCK_DST, c.sst = BLOCK_SST, c.bsize = BLOCK;
    copy(item, &c, FIRST, 3);
    c.pe = world.me;
    copy(item, &c, SECOND, 2);
    c.dest = NULL, c.source = NULL, c.nblocks = 0;
    call(item, &c);
}

static void act_p(struct item *item)
{
    struct row_call c = call_to(item, world.right);
    c.value = item->source + FIRST;
    copy(item, &c, FIRST, 1);
    c.pe = world.me;
    c.value = item->source + SECOND;
    copy(item, &c, SECOND, 1);
}

static void act_g(struct item *item)
{
    size_t size = item->row->type.size;
    struct row_call c = call_to(item, world.right);
    copy(item, &c, FIRST, 1);
    memcpy(item->dest + FIRST, c.result, size);
    c.pe = world.me;
    copy(item, &c, SECOND, 1);
    memcpy(item->dest + SECOND, c.result, size);
}

/* The PE whose data is in this PE's dest at FIRST: with get, its right neighbour's. */
static int writer(const struct item *item)
{
    bool is_get = strstr(item->row->check, "get") != NULL || strcmp(item->row->check, "g") == 0;
    return is_get ? world.right : world.left;
}

static void expect(struct item *item, size_t at, int pe, size_t n_blocks, size_t block, size_t dst, size_t sst)
{
    size_t size = item->row->type.size;
    const unsigned char *elements = source_of(item, pe, at);
    for (size_t i = 0; i < n_blocks; i++) image_elements(item, at + i * dst * size, block, elements + i * sst * size);
}

static void verify(struct item *item, size_t n_first, size_t n_second, size_t block, size_t dst, size_t sst)
{
    image_clear(item);
    expect(item, FIRST, writer(item), n_first, block, dst, sst);
    expect(item, SECOND, world.me, n_second, block, dst, sst);
    image_compare(item);
}

static void verify_contiguous(struct item *item) { verify(item, N_FIRST, N_SECOND, 1, 1, 1); }
static void verify_strided(struct item *item) { verify(item, N_FIRST, N_SECOND, 1, DST, SST); }
static void verify_blocks(struct item *item) { verify(item, 3, 2, BLOCK, BLOCK_DST, BLOCK_SST); }
static void verify_one(struct item *item) { verify(item, 1, 1, 1, 1, 1); }

const struct check rma_checks[] = {
    {"put", prepare, act_contiguous, verify_contiguous, NULL},
    {"put_nbi", prepare, act_contiguous, verify_contiguous, NULL},
    {"get", prepare, act_contiguous, verify_contiguous, NULL},
    {"get_nbi", prepare, act_contiguous, verify_contiguous, NULL},
    {"iput", prepare, act_strided, verify_strided, NULL},
    {"iget", prepare, act_strided, verify_strided, NULL},
    {"ibput", prepare, act_blocks, verify_blocks, NULL},
    {"ibget", prepare, act_blocks, verify_blocks, NULL},
    {"p", prepare, act_p, verify_one, NULL},
    {"g", prepare, act_g, verify_one, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

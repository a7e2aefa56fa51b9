/* Puts with a signal, and signals alone, to the right neighbour; fetching and waiting for one's own. */
#include "check_rows.h"
#include "values.h"

#include <string.h>

enum { DATA = GUARD_BYTES, SIGNAL = 512, N_DATA = 5 };
#define SIGNAL_BEGIN UINT64_C(0x5ee0000000000001)

static uint64_t *signal_at(const struct item *item, size_t index)
{
    return (uint64_t *)(void *)(item->dest + SIGNAL) + index;
}

/* The first and the second signal that PE `pe` sends. */
static uint64_t sent(const struct item *item, int pe, uint64_t turn)
{
    return random_of(seed_of(item, pe), 100 + turn);
}

static void prepare(struct item *item)
{
    elements_fill(item->row->type, item->source + DATA, N_DATA, seed_of(item, world.me));
    *signal_at(item, 0) = SIGNAL_BEGIN;
}

static struct row_call signal_call(const struct item *item, uint64_t turn)
{
    struct row_call c = call_to(item, world.right);
    c.sig_addr = signal_at(item, 0);
    c.signal = sent(item, world.me, turn);
    c.sig_op = turn == 0 ? face.signal_set : face.signal_add;
    return c;
}

/* Data with a signal that is set; then no data, and one that is added. */
static void act_put_signal(struct item *item)
{
    struct row_call c = signal_call(item, 0);
    c.dest = item->dest + DATA, c.source = item->source + DATA, c.nelems = N_DATA;
    call(item, &c);
    face.complete();
    c = signal_call(item, 1);
    c.dest = NULL, c.source = NULL;
    call(item, &c);
}

static void act_signal_op(struct item *item)
{
    for (uint64_t turn = 0; turn < 2; turn++) {
        struct row_call c = signal_call(item, turn);
        call(item, &c);
        face.complete();
    }
}

static void act_one_signal(struct item *item)
{
    struct row_call c = signal_call(item, 0);
    call(item, &c);
}

static void act_signal_fetch(struct item *item)
{
    struct row_call c = signal_call(item, 0);
    call(item, &c);
    CHECK_THAT((uint64_t)c.returned == SIGNAL_BEGIN, "fetched 0x%llx", (unsigned long long)c.returned);
}

static void verify(struct item *item, size_t n_data, uint64_t signal)
{
    unsigned char elements[N_DATA * 16];
    elements_fill(item->row->type, elements, N_DATA, seed_of(item, world.left));
    image_clear(item);
    image_elements(item, DATA, n_data, elements);
    memcpy(item->image + SIGNAL, &signal, sizeof signal);
    image_compare(item);
}

static void verify_put_signal(struct item *item)
{
    verify(item, N_DATA, sent(item, world.left, 0) + sent(item, world.left, 1));
}

static void verify_signal_op(struct item *item)
{
    verify(item, 0, sent(item, world.left, 0) + sent(item, world.left, 1));
}

static void verify_signal_set(struct item *item) { verify(item, 0, sent(item, world.left, 0)); }
static void verify_signal_add(struct item *item) { verify(item, 0, SIGNAL_BEGIN + sent(item, world.left, 0)); }
static void verify_signal_fetch(struct item *item) { verify(item, 0, SIGNAL_BEGIN); }

/* One word for each comparison; the value to compare with holds for what the left neighbour sends, not for what was
 * there. */
static const struct {
    enum face_cmp cmp;
    uint64_t before, after, value;
} waits[FACE_CMPS] = {
    {CMP_EQ, 3, UINT64_MAX - 2, UINT64_MAX - 2}, {CMP_NE, 3, UINT64_MAX - 2, 3}, {CMP_GT, 3, UINT64_MAX - 2, 3},
    {CMP_GE, 3, UINT64_MAX - 2, UINT64_MAX - 2}, {CMP_LT, UINT64_MAX - 2, 3, 4}, {CMP_LE, UINT64_MAX - 2, 3, 3},
};

/* A stream compares values that are less than 2^63 apart. */
static uint64_t nearer(const struct item *item, uint64_t value)
{
    return (item->row->flags & ROW_STREAM) != 0 && value > INT64_MAX ? value & INT64_MAX : value;
}

static void prepare_wait(struct item *item)
{
    for (size_t i = 0; i < FACE_CMPS; i++) *signal_at(item, i) = nearer(item, waits[i].before);
}

static void act_wait(struct item *item)
{
    for (size_t i = 0; i < FACE_CMPS; i++) {
        struct row_call c = call_to(item, world.right);
        uint64_t *at = signal_at(item, i), after = nearer(item, waits[i].after), value = nearer(item, waits[i].value);
        face.store(at, &after, sizeof *at, world.right);
        c.sig_addr = at, c.cmp = face.cmp[waits[i].cmp], c.cmp_value = &value;
        call(item, &c);
        if ((item->row->flags & ROW_RETURNS) == 0) face.complete(); /* on a stream */
        uint64_t seen = (item->row->flags & ROW_RETURNS) != 0 ? (uint64_t)c.returned : *(volatile uint64_t *)at;
        CHECK_THAT(seen == after, "comparison %zu: the wait ended with 0x%llx", i, (unsigned long long)seen);
    }
}

static void verify_wait(struct item *item)
{
    image_clear(item);
    for (size_t i = 0; i < FACE_CMPS; i++) {
        uint64_t after = nearer(item, waits[i].after);
        memcpy(item->image + SIGNAL + i * 8, &after, 8);
    }
    image_compare(item);
}

const struct check signal_checks[] = {
    {"put_signal", prepare, act_put_signal, verify_put_signal, NULL},
    {"put_signal_nbi", prepare, act_put_signal, verify_put_signal, NULL},
    {"signal_op", prepare, act_signal_op, verify_signal_op, NULL},
    {"signal_set", prepare, act_one_signal, verify_signal_set, NULL},
    {"signal_add", prepare, act_one_signal, verify_signal_add, NULL},
    {"signal_fetch", prepare, act_signal_fetch, verify_signal_fetch, NULL},
    {"signal_wait_until", prepare_wait, act_wait, verify_wait, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* tools/isthmus-check-transport/case_collectives.c: the extension collectives.1: what a collective moves and computes,
 * on every byte of the memory around it; that members wait for one another, and for nothing else. */
#include "cases.h"
#include "collectives.h"

#include <sched.h>
#include <string.h>

/* ---- what members have, and what becomes of it ---- */

static size_t parts_of(const struct ct_coll_call *call, bool of_dest, int n)
{
    bool many = call->what == ISTHMUS_COLLECTIVE_ALLTOALL;
    many = many || call->what == (of_dest ? ISTHMUS_COLLECTIVE_FCOLLECT : ISTHMUS_COLLECTIVE_REDUCESCATTER);
    return many ? (size_t)n : 1;
}

static void fill_source(const struct ct_coll_call *call, int member, int n, uint8_t *out)
{
    size_t bytes = call->length_bytes * parts_of(call, false, n);
    if (call->size_bytes == 0)
        ct_pattern_fill(out, bytes, 100 + (uint64_t)member);
    else
        for (size_t k = 0; k < bytes / call->size_bytes; k++)
            ct_number_put(call, ct_number_of(call, member, k), out + k * call->size_bytes);
}

static void expect_reduction(const struct ct_coll_call *call, int me, int n, uint8_t *out)
{
    size_t nelems = call->length_bytes / call->size_bytes;
    size_t first = call->what == ISTHMUS_COLLECTIVE_REDUCESCATTER ? nelems * (size_t)me : 0;
    for (size_t k = 0; k < nelems; k++) {
        struct ct_number sum = ct_number_of(call, 0, first + k);
        for (int i = 1; i < n; i++) sum = ct_number_combine(call, sum, ct_number_of(call, i, first + k));
        ct_number_put(call, sum, out + k * call->size_bytes);
    }
}

static void expect_moved(const struct ct_coll_call *call, int me, int n, uint8_t *out)
{
    static uint8_t source[CT_COLL_ROOM];
    size_t length = call->length_bytes, skipped = call->what == ISTHMUS_COLLECTIVE_ALLTOALL ? length * (size_t)me : 0;
    bool is_broadcast = call->what == ISTHMUS_COLLECTIVE_BROADCAST;
    for (int i = 0; i < n; i++) {
        fill_source(call, is_broadcast ? call->root : i, n, source);
        memcpy(out + (is_broadcast ? 0 : length * (size_t)i), source + skipped, length);
    }
}

/* ---- one collective, byte by byte ---- */

enum { GUARD = 64 };

/* The memory of this process as it has to be: guard, source, guard, dest, guard. */
struct image {
    size_t source, dest, all; /* offsets */
    uint8_t bytes[CT_COLL_BYTES];
};

static void make_image(const struct ct_coll_call *call, int me, int n, struct image *image)
{
    size_t source_bytes = call->length_bytes * parts_of(call, false, n);
    size_t dest_bytes = call->length_bytes * parts_of(call, true, n);
    image->source = GUARD + call->lean_bytes;
    image->dest = call->is_in_place ? image->source : image->source + source_bytes + GUARD;
    if (!call->is_in_place) image->dest += -image->dest % 16 + call->lean_bytes;
    image->all = (call->is_in_place ? image->source + source_bytes : image->dest + dest_bytes) + GUARD;
    memset(image->bytes, 0xd5, image->all);
    fill_source(call, me, n, image->bytes + image->source);
}

static void run(struct ct_colls *c, const struct ct_coll_call *call)
{
    static struct image image;
    int me = c->p->pe, n = c->p->n;
    make_image(call, me, n, &image);
    ct_extent_write(&c->data, 0, image.bytes, image.all);
    struct isthmus_collective what = ct_coll_describe(c, 0, call, image.dest, image.source);
    ct_coll_run(c, &what);
    (call->size_bytes > 0 ? expect_reduction : expect_moved)(call, me, n, image.bytes + image.dest);
    const uint8_t *seen = ct_extent_view(&c->data, 0, image.all);
    for (size_t i = 0; i < image.all; i++)
        CT_RULE(ct_coll_slot(c), NULL, seen[i] == image.bytes[i],
                "collective %u of %zu bytes, root %d, operation %u on numbers %u of %u bytes%s: byte %lld of dest is "
                "%#x, expected %#x",
                call->what, call->length_bytes, call->root, call->op, call->number, call->size_bytes,
                call->is_in_place ? ", in place" : "", (long long)i - (long long)image.dest, seen[i], image.bytes[i]);
}

/* ---- cases ---- */

static void move(struct ct_colls *c)
{
    static const size_t lengths[] = {1, 3, 64, 1000, 4099, CT_COLL_MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct ct_coll_call call = {.length_bytes = lengths[i], .lean_bytes = i % 3};
        call.what = ISTHMUS_COLLECTIVE_BROADCAST;
        for (call.root = 0; call.root < c->p->n; call.root++)
            for (int in_place = 0; in_place < 2; in_place++) {
                call.is_in_place = in_place == 1;
                run(c, &call);
            }
        call.root = 0, call.is_in_place = false;
        call.what = ISTHMUS_COLLECTIVE_FCOLLECT;
        run(c, &call);
        call.what = ISTHMUS_COLLECTIVE_ALLTOALL;
        run(c, &call);
    }
}

static void reduce(struct ct_colls *c, struct ct_coll_call call, size_t nelems)
{
    call.length_bytes = nelems * call.size_bytes;
    call.what = ISTHMUS_COLLECTIVE_REDUCE;
    run(c, &call);
    call.is_in_place = true;
    run(c, &call);
    call.is_in_place = false;
    call.what = ISTHMUS_COLLECTIVE_REDUCESCATTER;
    run(c, &call);
}

static void combine(struct ct_colls *c)
{
    struct ct_coll_call call = {0};
    for (call.number = 0; call.number <= ISTHMUS_NUMBER_COMPLEX; call.number++)
        for (call.size_bytes = 1; call.size_bytes <= 16; call.size_bytes *= 2)
            for (call.op = 0; call.op <= ISTHMUS_COMBINE_PROD; call.op++)
                if (ct_number_exists(&call)) reduce(c, call, 5);
    call = (struct ct_coll_call){.number = ISTHMUS_NUMBER_SIGNED, .size_bytes = 8, .op = ISTHMUS_COMBINE_SUM};
    reduce(c, call, CT_COLL_MOST / 8);
}

void ct_case_collective_values(struct ct_process *p)
{
    static struct ct_colls c;
    ct_colls_open(&c, p);
    for (int way = 0; way < 2; way++) {
        c.by_start = way == 1;
        if (!ct_coll_has_way(&c)) continue;
        move(&c);
        combine(&c);
    }
    ct_colls_close(&c);
}

/* Sums whose bits depend on the order: small, a step for all; large, a share for each. */
static uint64_t sum_digest(struct ct_colls *c, size_t length_bytes)
{
    static float numbers[CT_COLL_MOST / sizeof(float)];
    const struct ct_coll_call call = {.what = ISTHMUS_COLLECTIVE_REDUCE,
                                      .op = ISTHMUS_COMBINE_SUM,
                                      .number = ISTHMUS_NUMBER_FLOAT,
                                      .size_bytes = sizeof *numbers,
                                      .length_bytes = length_bytes};
    for (size_t k = 0; k < length_bytes / sizeof *numbers; k++)
        numbers[k] = (float)(k % 97 + 1) * (c->p->pe % 2 != 0 ? 1e-7f : 3.1f) * (float)(c->p->pe + 1) / 7;
    ct_extent_write(&c->data, 0, numbers, length_bytes);
    struct isthmus_collective what = ct_coll_describe(c, 0, &call, CT_COLL_MOST, 0);
    ct_coll_run(c, &what);
    return ct_coll_digest(ct_extent_view(&c->data, CT_COLL_MOST, length_bytes), length_bytes);
}

static void compare_sums(struct ct_colls *c, size_t length_bytes)
{
    enum { ROUNDS = 4 };
    static struct ct_blob all[CT_MAX_PROCESSES];
    uint64_t first = 0, sum;
    for (int round = 0; round < ROUNDS; round++) {
        sum = sum_digest(c, length_bytes);
        if (round == 0) first = sum;
        CT_RULE(ct_coll_slot(c), NULL, sum == first, "the same sum of %zu bytes of floats has other bits the next time",
                length_bytes);
        ct_exchange(c->p, &sum, sizeof sum, all);
        for (int pe = 0; pe < c->p->n; pe++)
            CT_RULE(ct_coll_slot(c), NULL, memcmp(all[pe].bytes, &sum, sizeof sum) == 0,
                    "a sum of %zu bytes of floats has other bits in process %d", length_bytes, pe);
    }
}

void ct_case_collective_bits(struct ct_process *p)
{
    static struct ct_colls c;
    ct_colls_open(&c, p);
    for (int way = 0; way < 2; way++) {
        c.by_start = way == 1;
        if (!ct_coll_has_way(&c)) continue;
        compare_sums(&c, 20);
        compare_sums(&c, CT_COLL_MOST);
    }
    ct_colls_close(&c);
}

/* ---- what waits for what ---- */

static const struct ct_coll_call one_word = {
    .what = ISTHMUS_COLLECTIVE_BROADCAST, .length_bytes = sizeof(uint64_t), .size_bytes = 0};

static bool is_late(const struct ct_process *p) { return p->pe == p->n - 1; }

/* One member begins late: nothing is done before. */
static void wait_for_the_last(struct ct_colls *c, int team)
{
    enum { TESTS = 300 };
    struct ct_process *p = c->p;
    struct isthmus_collective what = ct_coll_describe(c, team, &one_word, 64, 0);
    uint64_t ticket = 0;
    if (!is_late(p)) CT_OK(c->group->start(p->tr, &what, &ticket));
    for (int i = 0; !is_late(p) && i < TESTS; i++, sched_yield()) {
        isthmus_status status = c->group->test(p->tr, ticket);
        CT_RULE("test", NULL, status == ISTHMUS_ERR_AGAIN, "%s, while a member has not begun, expected AGAIN",
                ct_status_name(status));
    }
    ct_meet(p);
    if (is_late(p)) CT_OK(c->group->start(p->tr, &what, &ticket));
    ct_coll_await(c, ticket);
}

/* While one of a team waits for its last member, one of another team is done. */
static void pass_by(struct ct_colls *c)
{
    struct ct_process *p = c->p;
    struct isthmus_collective held = ct_coll_describe(c, 0, &one_word, 64, 0);
    struct isthmus_collective free = ct_coll_describe(c, 1, &one_word, 192, 128);
    uint64_t held_ticket = 0, ticket = 0;
    if (!is_late(p)) CT_OK(c->group->start(p->tr, &held, &held_ticket));
    CT_OK(c->group->start(p->tr, &free, &ticket));
    ct_coll_await(c, ticket);
    ct_meet(p);
    if (is_late(p)) CT_OK(c->group->start(p->tr, &held, &held_ticket));
    ct_coll_await(c, held_ticket);
}

/* The second one passes on what the first one has brought. */
static void follow(struct ct_colls *c, uint64_t round)
{
    struct ct_process *p = c->p;
    int last = p->n - 1;
    struct ct_coll_call onwards = one_word;
    onwards.root = last;
    struct isthmus_collective first = ct_coll_describe(c, 0, &one_word, 64, 0);
    struct isthmus_collective second = ct_coll_describe(c, 0, &onwards, 128, 64);
    uint64_t number = 1000 * round + (uint64_t)p->pe;
    ct_extent_write(&c->data, 0, &number, sizeof number);
    CT_OK(c->group->enqueue(p->tr, NULL, &first));
    CT_OK(c->group->enqueue(p->tr, NULL, &second));
    CT_OK(c->stream->complete(p->tr));
    number = ct_extent_load(&c->data, 128);
    CT_RULE("enqueue", "collectives in a stream follow one another", number == 1000 * round,
            "the second of two in a stream has %llu, expected %llu", (unsigned long long)number,
            (unsigned long long)(1000 * round));
}

void ct_case_collective_waits(struct ct_process *p)
{
    enum { ROUNDS = 10 };
    static struct ct_colls c;
    ct_colls_open(&c, p);
    c.by_start = true;
    for (int round = 0; ct_coll_has_way(&c) && round < ROUNDS; round++) wait_for_the_last(&c, round % 2);
    if (ct_coll_has_way(&c)) pass_by(&c);
    c.by_start = false;
    for (uint64_t round = 1; ct_coll_has_way(&c) && round <= ROUNDS; round++) follow(&c, round);
    ct_colls_close(&c);
}

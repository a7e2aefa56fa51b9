/* tools/isthmus-check-transport/collectives.c: see collectives.h. */
#include "collectives.h"

#include <sched.h>
#include <string.h>

/* ---- numbers ---- */

bool ct_number_exists(const struct ct_coll_call *call)
{
    bool is_arithmetic = call->op >= ISTHMUS_COMBINE_MAX;
    switch (call->number) {
    case ISTHMUS_NUMBER_UNSIGNED:
    case ISTHMUS_NUMBER_SIGNED: return call->size_bytes <= 8;
    case ISTHMUS_NUMBER_FLOAT: return is_arithmetic && (call->size_bytes == 4 || call->size_bytes == 8);
    case ISTHMUS_NUMBER_HALF:
    case ISTHMUS_NUMBER_BFLOAT: return is_arithmetic && call->size_bytes == 2;
    default: return call->op == ISTHMUS_COMBINE_PROD && call->size_bytes >= 8;
    }
}

/* Products of eight floats stay within the 8 bits of a bfloat. None of them is 0, which would get a sign. */
struct ct_number ct_number_of(const struct ct_coll_call *call, int member, size_t k)
{
    int64_t any = (int64_t)(k % 1000) * 5 + member * 7;
    switch (call->number) {
    case ISTHMUS_NUMBER_UNSIGNED: return (struct ct_number){any * 11 % 251, 0};
    case ISTHMUS_NUMBER_SIGNED: return (struct ct_number){any * 11 % 121 - 60, 0};
    case ISTHMUS_NUMBER_COMPLEX: return (struct ct_number){any % 2 * 2 - 1, any / 3 % 2 * 2 - 1};
    default: return (struct ct_number){(any % 3 == 0 ? 2 : 1) * (any % 2 * 2 - 1), 0};
    }
}

struct ct_number ct_number_combine(const struct ct_coll_call *call, struct ct_number a, struct ct_number b)
{
    int64_t x = a.real, y = b.real;
    switch (call->op) {
    case ISTHMUS_COMBINE_AND: return (struct ct_number){x & y, 0};
    case ISTHMUS_COMBINE_OR: return (struct ct_number){x | y, 0};
    case ISTHMUS_COMBINE_XOR: return (struct ct_number){x ^ y, 0};
    case ISTHMUS_COMBINE_MAX: return x > y ? a : b;
    case ISTHMUS_COMBINE_MIN: return x < y ? a : b;
    case ISTHMUS_COMBINE_SUM: return (struct ct_number){x + y, 0};
    default: break;
    }
    if (call->number != ISTHMUS_NUMBER_COMPLEX) return (struct ct_number){(int64_t)((uint64_t)x * (uint64_t)y), 0};
    return (struct ct_number){x * y - a.imaginary * b.imaginary, x * b.imaginary + a.imaginary * y};
}

static void put_integer(uint64_t value, uint32_t size_bytes, uint8_t *out)
{
    const uint8_t byte = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    const uint32_t four = (uint32_t)value;
    const void *from = size_bytes == 1   ? (const void *)&byte
                       : size_bytes == 2 ? (const void *)&two
                       : size_bytes == 4 ? (const void *)&four
                                         : (const void *)&value;
    memcpy(out, from, size_bytes);
}

static void put_float(int64_t value, uint32_t size_bytes, uint8_t *out)
{
    float narrow = (float)value;
    double wide = (double)value;
    memcpy(out, size_bytes == 4 ? (const void *)&narrow : (const void *)&wide, size_bytes);
}

/* The upper half of a float; of half-precision numbers the exponent is biased by 15, and the fraction has 10 bits. */
static uint64_t narrow_bits(uint32_t number, int64_t value)
{
    float as_float = (float)value;
    uint32_t bits;
    memcpy(&bits, &as_float, sizeof bits);
    if (number == ISTHMUS_NUMBER_BFLOAT || value == 0) return bits >> 16;
    uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15, fraction = bits >> 13 & 0x3ff;
    return bits >> 31 << 15 | exponent << 10 | fraction;
}

void ct_number_put(const struct ct_coll_call *call, struct ct_number number, uint8_t *out)
{
    uint32_t size = call->size_bytes;
    switch (call->number) {
    case ISTHMUS_NUMBER_UNSIGNED:
    case ISTHMUS_NUMBER_SIGNED: put_integer((uint64_t)number.real, size, out); break;
    case ISTHMUS_NUMBER_FLOAT: put_float(number.real, size, out); break;
    case ISTHMUS_NUMBER_COMPLEX:
        put_float(number.real, size / 2, out);
        put_float(number.imaginary, size / 2, out + size / 2);
        break;
    default: put_integer(narrow_bits(call->number, number.real), size, out); break;
    }
}

uint64_t ct_coll_digest(const uint8_t *bytes, size_t n_bytes)
{
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < n_bytes; i++) sum = (sum ^ bytes[i]) * 0x100000001b3;
    return sum;
}

/* ---- memory ---- */

enum { TEAMS = 2, GUARD_WORDS = 64 };

static void prepare(struct ct_colls *c)
{
    struct ct_process *p = c->p;
    c->group = p->t->extension(p->tr, "collectives.1");
    if (c->group == NULL) ct_skip("%s has no collectives as kernels", p->t->name);
    c->stream = p->t->extension(p->tr, "stream.1");
    c->kernels = p->t->extension(p->tr, "device.1");
    CT_RULE("extension", "a transport with collectives.1 has memory.1, stream.1 and device.1, too",
            c->stream != NULL && c->kernels != NULL && p->t->extension(p->tr, "memory.1") != NULL,
            "collectives.1 is there, but not all of the others");
    CT_RULE("start", "start and test are there together, or neither is",
            (ISTHMUS_HAS(c->group, start) == ISTHMUS_HAS(c->group, test)), "one of start and test is absent");
    ct_enter("group->prepare()");
    ct_forget_failure();
    isthmus_status status = c->group->prepare(p->tr);
    if (status == ISTHMUS_ERR_UNSUPPORTED && ct_failure_text()[0] != '\0') ct_skip("%s", ct_failure_text());
    CT_OK_OF("prepare", status);
    CT_OK(c->kernels->host_alloc(p->tr, sizeof(uint64_t), &c->stop, &c->stop_view));
    c->flag_words = c->group->flag_words(p->tr, (uint32_t)p->n);
}

static void make_flags(struct ct_colls *c)
{
    struct ct_process *p = c->p;
    size_t words = TEAMS * (size_t)c->flag_words + GUARD_WORDS;
    ct_extent_make(p, &c->flags, words * sizeof(uint64_t), 0);
    ct_extent_expose(p, &c->flags);
    ct_extent_attach(p, &c->flags);
}

/* What this process adds to an address of its own for the same place of another one. */
static int64_t delta_of(const struct ct_colls *c, const struct ct_extent *extent, int pe)
{
    const struct isthmus_memory *memory = c->p->t->extension(c->p->tr, "memory.1");
    void *view = extent->alias[pe];
    if (pe == c->p->pe) return 0;
    if (!ct_extent_is_host(extent)) CT_OK(memory->device_view(extent->rmem[pe], &view));
    if (view == NULL) ct_skip("kernels of %s do not reach all processes here", c->p->t->name);
    return (int64_t)((uintptr_t)view - (uintptr_t)extent->base);
}

void ct_colls_open(struct ct_colls *c, struct ct_process *p)
{
    memset(c, 0, sizeof *c);
    c->p = p;
    ct_begin(p, &c->data, CT_COLL_BYTES, &c->channel);
    prepare(c);
    make_flags(c);
    for (int pe = 0; pe < p->n; pe++) {
        struct isthmus_collective_member *member = &c->members[pe].member;
        member->data_delta = delta_of(c, &c->data, pe);
        member->flags_delta = delta_of(c, &c->flags, pe);
        /* A plugin that does not skip what is newer finds the second member, with this process's data. */
        if (pe == 1) c->members[0].newer = (struct isthmus_collective_member){0, member->flags_delta};
    }
    ct_meet(p); /* all flags are 0, and attached */
}

static void check_guard(struct ct_colls *c)
{
    uint64_t first = TEAMS * c->flag_words;
    for (uint64_t i = 0; i < GUARD_WORDS; i++)
        CT_RULE("flag_words", "the kernel uses no more flags than flag_words returned",
                ct_extent_load(&c->flags, (first + i) * sizeof(uint64_t)) == 0,
                "word %llu behind the flags of the teams was written", (unsigned long long)i);
}

void ct_colls_close(struct ct_colls *c)
{
    struct ct_process *p = c->p;
    ct_meet(p);
    check_guard(c);
    ct_meet(p);
    ct_extent_detach(p, &c->flags);
    ct_meet(p);
    ct_extent_close(p, &c->flags);
    c->kernels->host_free(p->tr, c->stop);
    ct_end(p, &c->data, &c->channel);
}

/* ---- calls ---- */

bool ct_coll_has_way(const struct ct_colls *c)
{
    return c->by_start ? ISTHMUS_HAS(c->group, start) : ISTHMUS_HAS(c->stream, complete);
}

const char *ct_coll_slot(const struct ct_colls *c) { return c->by_start ? "start" : "enqueue"; }

struct isthmus_collective ct_coll_describe(const struct ct_colls *c, int team, const struct ct_coll_call *call,
                                           size_t dest, size_t source)
{
    return (struct isthmus_collective){
        .struct_size = sizeof(struct isthmus_collective),
        .what = call->what,
        .n = c->p->n,
        .me = c->p->pe,
        .root = call->root,
        .op = call->op,
        .number = call->number,
        .size_bytes = call->size_bytes,
        .length_bytes = call->length_bytes,
        .dest = c->data.base + dest,
        .source = c->data.base + source,
        .flags = (uint64_t *)(void *)c->flags.base + (uint64_t)team * c->flag_words,
        .members = &c->members[0].member,
        .stop = c->stop_view,
        .most = (uint32_t)c->p->n,
        .member_bytes = sizeof c->members[0],
    };
}

void ct_coll_await(const struct ct_colls *c, uint64_t ticket)
{
    isthmus_status status;
    ct_enter("group->test()");
    while ((status = c->group->test(c->p->tr, ticket)) == ISTHMUS_ERR_AGAIN) sched_yield();
    CT_OK_OF("test", status);
}

void ct_coll_run(const struct ct_colls *c, const struct isthmus_collective *what)
{
    uint64_t ticket = 0;
    if (c->by_start) {
        CT_OK(c->group->start(c->p->tr, what, &ticket));
        ct_coll_await(c, ticket);
    } else {
        CT_OK(c->group->enqueue(c->p->tr, NULL, what));
        CT_OK(c->stream->complete(c->p->tr));
    }
}

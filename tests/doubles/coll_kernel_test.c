/* tests/doubles/coll_kernel_test.c: the kernel of collectives (plugins/common/kernels) on the CPU device, without a
 * job: members are threads, each with memory of its own. Every operation on every type, in place and not, at aligned
 * and other addresses, by one block and by several, against core/coll/combine.c, bit by bit. Flags are never reset. */
#include "core/coll/coll.h"
#include "plugins/common/kernels/coll_kernel.h"

#include <isthmus/device_cpu_launch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_EQ(seen, expected)                                                \
    do {                                                                        \
        long long seen_ = (long long)(seen), expected_ = (long long)(expected); \
        if (seen_ != expected_) fail(__LINE__, #seen, seen_, expected_);        \
    } while (0)
#define CHECK(condition) CHECK_EQ((condition) != 0, 1)

enum { MEMBERS = 4, BUFFER_BYTES = 5 << 18, THREADS = 3 };

static struct member {
    char *dest, *source;          /* one piece of memory, as a heap is */
    uint64_t *flags[MEMBERS + 1]; /* of a team for each number of members */
    char *seen;                   /* dest at the end of its kernel */
    struct coll_args args;
    uint32_t blocks;
    pthread_t thread;
    int status;
} members[MEMBERS];

static char *expected, *before[MEMBERS];
static uint64_t stop;
static const char *now; /* the case */

static void fail(int line, const char *what, long long seen, long long expected_value)
{
    fprintf(stderr, "%s:%d: %s: %s is %lld, expected %lld\n", __FILE__, line, now, what, seen, expected_value);
    exit(1);
}

/* ---- a launch on each member at the same time ---- */

static void kernel(void *args) { coll_run(args); }

/* In parts of `length`. */
static size_t dest_parts(const struct coll_args *args)
{
    bool has_all = args->what == ISTHMUS_COLLECTIVE_FCOLLECT || args->what == ISTHMUS_COLLECTIVE_ALLTOALL;
    return has_all ? (size_t)args->n : 1;
}

static size_t source_parts(const struct coll_args *args)
{
    bool has_all = args->what == ISTHMUS_COLLECTIVE_REDUCESCATTER || args->what == ISTHMUS_COLLECTIVE_ALLTOALL;
    return has_all ? (size_t)args->n : 1;
}

/* When its kernel has ended a member has its results, and may change its source, whatever the others do. */
static void *run_member(void *argument)
{
    struct member *m = argument;
    const struct coll_args *args = &m->args;
    m->status = isthmus_cpu_launch(m->blocks, THREADS, kernel, &m->args);
    memcpy(m->seen, args->dest, args->length * dest_parts(args) + 1);
    if (args->dest == args->source || args->length == 0) return NULL;
    if (memcmp(args->source, before[args->me], args->length * source_parts(args)) != 0) m->status = 1;
    memset((char *)(uintptr_t)args->source, 0xee, args->length * source_parts(args));
    return NULL;
}

/* `like`: what is the same on all members; offsets in the buffers. */
static void run(const struct coll_args *like, uint32_t blocks, size_t dest_offset, size_t source_offset, bool in_place)
{
    for (int i = 0; i < like->n; i++) {
        struct member *m = &members[i];
        m->args = *like;
        m->blocks = blocks;
        m->args.me = i;
        m->args.most = MEMBERS;
        m->args.flags = m->flags[like->n];
        m->args.stop = &stop;
        m->args.source = m->source + source_offset;
        m->args.dest = in_place ? m->source + source_offset : m->dest + dest_offset;
        for (int k = 0; k < like->n; k++) {
            m->args.data_delta[k] = members[k].source - m->source;
            m->args.flags_delta[k] = (char *)members[k].flags[like->n] - (char *)m->flags[like->n];
        }
    }
    for (int i = 0; i < like->n; i++) CHECK_EQ(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
    for (int i = 0; i < like->n; i++) {
        CHECK_EQ(pthread_join(members[i].thread, NULL), 0);
        CHECK_EQ(members[i].status, 0);
    }
}

static void expect_at(int member, const char *at, const char *values, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != values[i]) {
            fprintf(stderr, "%s: member %d of %d, byte %zu of %zu is %02x, expected %02x\n", now, member,
                    members[0].args.n, i, bytes, (unsigned char)at[i], (unsigned char)values[i]);
            exit(1);
        }
}

/* ---- data ---- */

static uint32_t seed = 1;
static uint32_t next_random(void) { return seed = seed * 1664525u + 1013904223u, seed >> 8; }

/* Numbers near 1 of both signs, whose products neither overflow nor lose all digits; integers of any bits. */
static void fill(char *at, size_t bytes, enum ist_combine_type type)
{
    for (size_t i = 0; i < bytes; i++) at[i] = (char)next_random();
    if (type == IST_F16 || type == IST_BF16)
        for (size_t i = 0; i + 2 <= bytes; i += 2)
            at[i + 1] = (char)((type == IST_F16 ? 0x3c : 0x3f) | (next_random() & 1 ? 0x80 : 0));
    if (type == IST_F32 || type == IST_C32)
        for (size_t i = 0; i + 4 <= bytes; i += 4) {
            float value = (float)next_random() / (1 << 23) - 1.0f;
            memcpy(at + i, &value, sizeof value);
        }
    if (type == IST_F64 || type == IST_C64)
        for (size_t i = 0; i + 8 <= bytes; i += 8) {
            double value = (double)next_random() / (1 << 23) - 1.0 / 3;
            memcpy(at + i, &value, sizeof value);
        }
}

static void multiply_complex(char *out, const char *other, size_t n, bool is_wide)
{
    for (size_t i = 0; i < n; i++) {
        if (is_wide) {
            double a[2], b[2];
            memcpy(a, out + 16 * i, 16), memcpy(b, other + 16 * i, 16);
            const double product[2] = {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
            memcpy(out + 16 * i, product, 16);
        } else {
            float a[2], b[2];
            memcpy(a, out + 8 * i, 8), memcpy(b, other + 8 * i, 8);
            const float product[2] = {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
            memcpy(out + 8 * i, product, 8);
        }
    }
}

/* ---- reductions ---- */

struct reduction {
    enum ist_combine_op op;
    enum ist_combine_type type;
    uint32_t number, size; /* as the kernel has them */
};

static void combine(const struct reduction *r, char *out, const char *other, size_t n)
{
    bool is_product = r->op == IST_PROD && (r->type == IST_C32 || r->type == IST_C64);
    if (is_product)
        multiply_complex(out, other, n, r->type == IST_C64);
    else
        ist_combine_of(r->op, r->type)(out, out, other, n);
}

static const uint8_t ops[] = {
    [IST_SUM] = ISTHMUS_COMBINE_SUM, [IST_PROD] = ISTHMUS_COMBINE_PROD, [IST_MIN] = ISTHMUS_COMBINE_MIN,
    [IST_MAX] = ISTHMUS_COMBINE_MAX, [IST_AND] = ISTHMUS_COMBINE_AND,   [IST_OR] = ISTHMUS_COMBINE_OR,
    [IST_XOR] = ISTHMUS_COMBINE_XOR};

struct shape {
    int n;
    uint32_t blocks;
    size_t nelems, offset; /* offset: of dest and source, in elements */
    bool in_place, is_scatter;
};

static void reduce(const struct reduction *r, const struct shape *s)
{
    size_t size = ist_combine_size(r->type), bytes = s->nelems * size, parts = s->is_scatter ? (size_t)s->n : 1;
    size_t align = size > 8 ? 8 : size, offset = s->offset * align;
    struct coll_args like = {.what = s->is_scatter ? ISTHMUS_COLLECTIVE_REDUCESCATTER : ISTHMUS_COLLECTIVE_REDUCE,
                             .n = s->n,
                             .op = ops[r->op],
                             .number = r->number,
                             .size = r->size,
                             .length = bytes};
    for (int i = 0; i < s->n; i++) {
        fill(members[i].source + offset, bytes * parts, r->type);
        memcpy(before[i], members[i].source + offset, bytes * parts);
        memset(members[i].dest, 0x5a, offset + bytes + 64);
    }
    memcpy(expected, before[0], bytes * parts);
    for (int i = 1; i < s->n; i++) combine(r, expected, before[i], s->nelems * parts);
    run(&like, s->blocks, offset, offset, s->in_place);
    for (int i = 0; i < s->n; i++) {
        expect_at(i, members[i].seen, expected + (s->is_scatter ? (size_t)i * bytes : 0), bytes);
        if (!s->in_place) CHECK_EQ(members[i].seen[bytes], 0x5a); /* and no more */
    }
}

static void reduce_in_all_shapes(const struct reduction *r)
{
    size_t size = ist_combine_size(r->type), large = COLL_ONE_SHOT_BYTES / size + 3;
    const struct shape shapes[] = {
        {2, 1, 1, 0, false, false},    {3, 1, 37, 1, false, false},   {4, 2, 37, 0, true, false},
        {3, 2, large, 0, true, false}, {4, 2, large, 1, true, false}, {2, 3, large, 0, false, false},
        {1, 1, 5, 0, false, false},    {3, 2, 37, 0, false, true},    {4, 1, 64, 0, true, true},
        {2, 2, 33, 1, true, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) reduce(r, &shapes[i]);
}

static void reductions(void)
{
    static const uint32_t numbers[IST_COMBINE_TYPES] = {
        [IST_S8] = ISTHMUS_NUMBER_SIGNED,  [IST_S16] = ISTHMUS_NUMBER_SIGNED, [IST_S32] = ISTHMUS_NUMBER_SIGNED,
        [IST_S64] = ISTHMUS_NUMBER_SIGNED, [IST_F16] = ISTHMUS_NUMBER_HALF,   [IST_BF16] = ISTHMUS_NUMBER_BFLOAT,
        [IST_F32] = ISTHMUS_NUMBER_FLOAT,  [IST_F64] = ISTHMUS_NUMBER_FLOAT,  [IST_C32] = ISTHMUS_NUMBER_COMPLEX,
        [IST_C64] = ISTHMUS_NUMBER_COMPLEX};
    char name[64];
    for (int type = 0; type < IST_COMBINE_TYPES; type++)
        for (int op = 0; op < IST_COMBINE_OPS; op++) {
            struct reduction r = {(enum ist_combine_op)op, (enum ist_combine_type)type, numbers[type],
                                  (uint32_t)ist_combine_size((enum ist_combine_type)type)};
            if (type == IST_F80 || ist_combine_of(r.op, r.type) == NULL) continue;
            if (r.number == ISTHMUS_NUMBER_COMPLEX && r.op == IST_SUM)
                r.number = ISTHMUS_NUMBER_FLOAT, r.size /= 2; /* as core/stream/collective.c has it */
            snprintf(name, sizeof name, "operation %d of type %d", op, type);
            now = name;
            reduce_in_all_shapes(&r);
        }
}

/* ---- moving ---- */

/* Returns where member `to` gets its part `part` from, NULL: nowhere. */
static const char *origin(const struct coll_args *like, int to, int part)
{
    switch (like->what) {
    case ISTHMUS_COLLECTIVE_BROADCAST: return part == 0 ? before[like->root] : NULL;
    case ISTHMUS_COLLECTIVE_FCOLLECT: return before[part];
    default: return before[part] + like->length * (size_t)to;
    }
}

static void move(uint32_t what, int n, size_t bytes, size_t offset, uint32_t blocks, bool in_place)
{
    struct coll_args like = {.what = what, .n = n, .root = n - 1, .length = bytes};
    size_t parts = what == ISTHMUS_COLLECTIVE_ALLTOALL ? (size_t)n : 1;
    for (int i = 0; i < n; i++) {
        fill(members[i].source + offset, bytes * parts, IST_U8);
        memcpy(before[i], members[i].source + offset, bytes * parts);
    }
    run(&like, blocks, offset + 1, offset, in_place);
    for (int i = 0; i < n; i++)
        for (int part = 0; part < n && origin(&like, i, part) != NULL; part++)
            expect_at(i, members[i].seen + bytes * (size_t)part, origin(&like, i, part), bytes);
}

static void movements(void)
{
    static const char *const names[] = {"", "broadcast", "fcollect", "alltoall"};
    for (uint32_t what = ISTHMUS_COLLECTIVE_BROADCAST; what <= ISTHMUS_COLLECTIVE_ALLTOALL; what++) {
        now = names[what];
        for (int n = 1; n <= MEMBERS; n++) {
            move(what, n, 1, 0, 1, false);
            move(what, n, 1000, 3, 2, false);
            move(what, n, 40000, 15, 3, false);
        }
    }
    now = "broadcast in place";
    move(ISTHMUS_COLLECTIVE_BROADCAST, 3, 5000, 0, 2, true);
}

static void large_broadcast(void)
{
    enum { BYTES = COLL_IN_STEPS_BYTES + 77 };
    now = "broadcast in two steps";
    move(ISTHMUS_COLLECTIVE_BROADCAST, 3, BYTES, 5, 2, false);
    move(ISTHMUS_COLLECTIVE_BROADCAST, MEMBERS, BYTES, 0, 3, true);
}

/* A member that the others wait for does not come: the word ends the kernel. */
static void stops(void)
{
    struct member *m = &members[0];
    now = "stop";
    m->args = (struct coll_args){.dest = m->dest, .n = 2, .most = MEMBERS, .flags = m->flags[2], .stop = &stop};
    m->args.flags_delta[1] = (char *)members[1].flags[2] - (char *)m->flags[2];
    m->blocks = 1;
    CHECK_EQ(pthread_create(&m->thread, NULL, run_member, m), 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(m->thread, NULL), 0);
    CHECK_EQ(m->status, -1);
}

int main(void)
{
    expected = malloc(BUFFER_BYTES);
    for (int i = 0; i < MEMBERS; i++) {
        members[i].source = malloc(2 * BUFFER_BYTES);
        members[i].dest = members[i].source + BUFFER_BYTES;
        for (int n = 1; n <= MEMBERS; n++) {
            members[i].flags[n] = calloc(coll_flag_words(MEMBERS), sizeof(uint64_t));
            CHECK(members[i].flags[n] != NULL);
        }
        before[i] = malloc(BUFFER_BYTES);
        members[i].seen = malloc(BUFFER_BYTES);
        CHECK(members[i].seen != NULL && members[i].source != NULL && before[i] != NULL);
    }
    reductions();
    movements();
    large_broadcast();
    stops();
    return 0;
}

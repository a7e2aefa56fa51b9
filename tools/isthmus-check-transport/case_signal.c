/* tools/isthmus-check-transport/case_signal.c: puts with a signal: the data is there when its signal is seen, the
 * update is atomic, and fences order both. A call that the transport declines is made in two parts, as a core does. */
#include "cases.h"

#include <sched.h>
#include <string.h>

enum {
    WORD = 8,
    MOST_BYTES = (3 << 20) + 5,
    GUARDS = 64, /* bytes before the data and behind */
    GUARD = 0xa5,
    SOURCE_ROUNDS = 200,
    ORDER_ROUNDS = 500,
    SUM_ROUNDS = 400,
    SUM_BYTES = 24
};

static const size_t lengths[] = {1,    2,    3,    4,    7,    8,     9,     16,     63,      64,        65,
                                 255,  256,  511,  512,  513,  999,   1000,  1001,   1023,    1024,      1025,
                                 4095, 4096, 4097, 8191, 8193, 65535, 65537, 262144, 1 << 20, MOST_BYTES};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

/* ---- the usual steps ---- */

/* Two extents: data in one, words in both. */
struct world {
    struct ct_extent data, words;
    struct ct_channel channel;
};

static void begin(struct ct_process *p, struct world *w, size_t data_bytes)
{
    ct_begin(p, &w->data, data_bytes, &w->channel);
    if (w->channel.ops.put_signal == NULL) ct_skip("%s has no put_signal", p->t->name);
    ct_extent_make(p, &w->words, 4096, 0);
    ct_extent_expose(p, &w->words);
    ct_extent_attach(p, &w->words);
}

static void end(struct ct_process *p, struct world *w)
{
    ct_quiet(p, &w->channel);
    ct_meet(p);
    ct_extent_detach(p, &w->words);
    ct_meet(p);
    ct_extent_close(p, &w->words);
    ct_end(p, &w->data, &w->channel);
}

static uint64_t wait_beyond(struct ct_extent *extent, uint64_t offset_bytes, uint64_t old)
{
    uint64_t seen;
    while ((seen = ct_extent_load(extent, offset_bytes)) == old) sched_yield();
    return seen;
}

static void put_word(const struct ct_target *at, uint64_t offset_bytes, uint64_t value)
{
    ct_put(at, offset_bytes, &value, sizeof value);
}

/* Process 1 replies after its check: a word to which no signal goes. */
enum { ANSWER = 64 };

static void answer(struct world *w, const struct ct_target *to_words, uint64_t round)
{
    put_word(to_words, ANSWER, round);
    ct_quiet(to_words->p, &w->channel);
}

static void wait_for_answer(struct world *w, uint64_t round)
{
    (void)wait_beyond(&w->words, ANSWER, round - 1);
    CT_OK(w->channel.ops.local_complete(w->channel.chan, NULL));
}

/* ---- every length, both operations, both forms, the signal beside the data and elsewhere ---- */

enum { ROUNDS_EACH = 8, DATA_ROOM = WORD + 2 * GUARDS + 8 };

/* One of them; which one follows from its number, on both sides. */
struct round {
    uint64_t number, offset_bytes, value, expected; /* the words before and after are derived from these */
    size_t length_bytes;
    uint32_t op, flags;
    bool is_elsewhere;
};

static void choose(struct round *r, uint64_t number, uint64_t words[2])
{
    r->number = number;
    r->length_bytes = lengths[(number - 1) / ROUNDS_EACH];
    r->offset_bytes = WORD + GUARDS + number % 8;
    r->is_elsewhere = number % 8 < 4;
    r->flags = number % 4 < 2 ? ISTHMUS_PUT_SIGNAL_NBI : 0;
    r->op = number % 2 == 0 ? ISTHMUS_AMO_SET : ISTHMUS_AMO_ADD;
    r->value = r->op == ISTHMUS_AMO_SET ? number << 32 | number : UINT64_C(0x100000003);
    r->expected = r->op == ISTHMUS_AMO_SET ? r->value : words[r->is_elsewhere] + r->value;
    words[r->is_elsewhere] = r->expected;
}

static void guard(struct world *w, const struct round *r)
{
    static uint8_t bytes[MOST_BYTES + 2 * GUARDS];
    memset(bytes, GUARD, r->length_bytes + (size_t)2 * GUARDS);
    ct_extent_write(&w->data, r->offset_bytes - GUARDS, bytes, r->length_bytes + (size_t)2 * GUARDS);
}

/* Until one of the two words has changed. */
static void wait_for_signal(struct world *w, const struct round *r, const uint64_t before[2])
{
    uint64_t seen[2];
    do {
        sched_yield();
        seen[0] = ct_extent_load(&w->data, 0);
        seen[1] = ct_extent_load(&w->words, 0);
    } while (seen[0] == before[0] && seen[1] == before[1]);
    CT_CHECK(seen[!r->is_elsewhere] == before[!r->is_elsewhere],
             "round %llu: the word at the same offset of the other extent became %#llx", (unsigned long long)r->number,
             (unsigned long long)seen[!r->is_elsewhere]);
    CT_CHECK(seen[r->is_elsewhere] == r->expected, "round %llu: the signal became %#llx, expected %#llx",
             (unsigned long long)r->number, (unsigned long long)seen[r->is_elsewhere], (unsigned long long)r->expected);
}

static void check_came(struct world *w, const struct round *r)
{
    size_t n = r->length_bytes;
    const uint8_t *came = ct_extent_view(&w->data, r->offset_bytes - GUARDS, n + (size_t)2 * GUARDS);
    size_t wrong = ct_pattern_check(came + GUARDS, n, r->number);
    CT_CHECK(wrong == n, "round %llu: the signal is here, byte %zu of the %zu bytes of its data is not",
             (unsigned long long)r->number, wrong, n);
    for (size_t i = 0; i < GUARDS; i++)
        CT_CHECK(came[i] == GUARD && came[GUARDS + n + i] == GUARD, "round %llu: a byte beside %zu bytes was written",
                 (unsigned long long)r->number, n);
}

void ct_case_put_signal(struct ct_process *p)
{
    static struct world w;
    static uint8_t source[MOST_BYTES];
    uint64_t words[2] = {0, 0};
    struct round r;
    begin(p, &w, MOST_BYTES + DATA_ROOM);
    const struct ct_target to[2] = {{p, &w.channel, &w.data, 1 - p->pe}, {p, &w.channel, &w.words, 1 - p->pe}};
    for (uint64_t number = 1; number <= (uint64_t)ROUNDS_EACH * N_LENGTHS; number++) {
        uint64_t before[2] = {words[0], words[1]};
        choose(&r, number, words);
        if (p->pe == 1) guard(&w, &r);
        if (p->pe == 0) CT_OK(w.channel.ops.local_complete(w.channel.chan, NULL));
        ct_meet(p);
        if (p->pe == 1) {
            wait_for_signal(&w, &r, before);
            check_came(&w, &r);
            continue;
        }
        ct_pattern_fill(source, r.length_bytes, number);
        ct_put_signal(&(struct ct_put_signal){.to = &to[0],
                                              .signal_to = &to[r.is_elsewhere],
                                              .offset_bytes = r.offset_bytes,
                                              .source = source,
                                              .length_bytes = r.length_bytes,
                                              .op = r.op,
                                              .flags = r.flags,
                                              .value = r.value});
    }
    end(p, &w);
}

/* ---- reuse of the source ---- */

/* It is reusable when a blocking call returns, and after local_complete for the others. */
void ct_case_put_signal_source(struct ct_process *p)
{
    enum { MOST = 100000 };
    static const size_t sizes[] = {8, 600, 1024, 5000, MOST};
    static struct world w;
    static uint8_t source[MOST];
    begin(p, &w, WORD + MOST);
    const struct ct_target to_data = {p, &w.channel, &w.data, 1 - p->pe},
                           to_words = {p, &w.channel, &w.words, 1 - p->pe};
    for (uint64_t round = 1; round <= SOURCE_ROUNDS; round++) {
        size_t n = sizes[round % (sizeof sizes / sizeof *sizes)];
        if (p->pe == 1) {
            (void)wait_beyond(&w.words, 0, round - 1);
            size_t wrong = ct_pattern_check(ct_extent_view(&w.data, WORD, n), n, round);
            CT_CHECK(wrong == n,
                     "round %llu: byte %zu of %zu was overwritten in the source after the call had given it back",
                     (unsigned long long)round, wrong, n);
            answer(&w, &to_words, round);
            continue;
        }
        uint32_t flags = round % 2 == 0 ? ISTHMUS_PUT_SIGNAL_NBI : 0;
        ct_pattern_fill(source, n, round);
        ct_put_signal(&(struct ct_put_signal){&to_data, &to_words, WORD, 0, source, n, ISTHMUS_AMO_SET, flags, round});
        if (flags != 0) CT_OK(w.channel.ops.local_complete(w.channel.chan, NULL));
        memset(source, 0xee, n);
        wait_for_answer(&w, round);
    }
    end(p, &w);
}

/* ---- fences before and behind ---- */

enum { BEFORE = WORD, BEHIND = BEFORE + 4096, LATE = BEHIND + 4096, ORDER_BYTES = LATE + WORD };

static void send_in_order(struct ct_process *p, struct world *w, uint64_t round)
{
    static uint8_t before[4096], with[4096];
    const struct ct_target to_data = {p, &w->channel, &w->data, 1}, to_words = {p, &w->channel, &w->words, 1};
    size_t n = round % 3 == 0 ? sizeof with : round % 3 == 1 ? 8 : 500;
    ct_pattern_fill(before, sizeof before, round);
    ct_pattern_fill(with, n, round + 1);
    ct_put_nbi(&to_data, BEFORE, before, round % 2 == 0 ? sizeof before : 8);
    CT_OK(w->channel.ops.fence(w->channel.chan, p->path[1]));
    ct_put_signal(
        &(struct ct_put_signal){&to_data, &to_words, BEHIND, 0, with, n, ISTHMUS_AMO_ADD, ISTHMUS_PUT_SIGNAL_NBI, 1});
    CT_OK(w->channel.ops.fence(w->channel.chan, NULL));
    put_word(&to_data, LATE, round);
    wait_for_answer(w, round);
}

static void see_order(struct ct_process *p, struct world *w, uint64_t round)
{
    const struct ct_target to_words = {p, &w->channel, &w->words, 0};
    size_t n_before = round % 2 == 0 ? 4096 : 8;
    if (round % 4 < 2) { /* the signal first, then what was put before it */
        (void)wait_beyond(&w->words, 0, round - 1);
        size_t wrong = ct_pattern_check(ct_extent_view(&w->data, BEFORE, n_before), n_before, round);
        CT_CHECK(wrong == n_before, "round %llu: the signal is here, byte %zu of what was put before the fence is not",
                 (unsigned long long)round, wrong);
    }
    (void)wait_beyond(&w->data, LATE, round - 1);
    CT_CHECK(ct_extent_load(&w->words, 0) == round,
             "round %llu: a word that was put behind a fence is here, the signal before it is %llu",
             (unsigned long long)round, (unsigned long long)ct_extent_load(&w->words, 0));
    answer(w, &to_words, round);
}

void ct_case_put_signal_order(struct ct_process *p)
{
    static struct world w;
    begin(p, &w, ORDER_BYTES);
    for (uint64_t round = 1; round <= ORDER_ROUNDS; round++) (p->pe == 0 ? send_in_order : see_order)(p, &w, round);
    end(p, &w);
}

/* ---- signals of several processes on one word, and other atomics there ---- */

void ct_case_put_signal_sums(struct ct_process *p)
{
    static struct world w;
    static uint8_t source[SUM_BYTES];
    begin(p, &w, (size_t)p->n * SUM_BYTES);
    const struct ct_target to_data = {p, &w.channel, &w.data, 0}, to_words = {p, &w.channel, &w.words, 0};
    const struct ct_amo add = {.op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .operand = 1};
    for (uint32_t i = 0; i < SUM_ROUNDS; i++) {
        uint32_t flags = i % 2 == 0 ? ISTHMUS_PUT_SIGNAL_NBI : 0;
        ct_put_signal(&(struct ct_put_signal){&to_data, &to_words, (uint64_t)p->pe * SUM_BYTES, 0, source, SUM_BYTES,
                                              ISTHMUS_AMO_ADD, flags, 1});
        (void)ct_amo(&to_words, 0, &add, NULL);
    }
    ct_quiet(p, &w.channel);
    ct_meet(p);
    uint64_t expected = (uint64_t)p->n * 2 * SUM_ROUNDS, sum = ct_extent_load(&w.words, 0);
    CT_CHECK(p->pe != 0 || sum == expected, "the sum of all signals and additions is %llu, expected %llu",
             (unsigned long long)sum, (unsigned long long)expected);
    end(p, &w);
}

/* tools/isthmus-check-transport/case_extents.c: both ends of an extent, extents that are longer than 32 bits count, and
 * extents that overlap. */
#include "cases.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 0x5a, WORD = 8, EDGE_BYTES = 256, SHORT_BYTES = 5000 };
static const uint64_t GIB = UINT64_C(1) << 30;

/* ---- every slot, at one place of an extent ---- */

static uint64_t value_of(const struct ct_target *at, uint64_t offset_bytes, uint32_t number)
{
    return (uint64_t)(at->p->pe + 1) << 56 ^ offset_bytes << 8 ^ number;
}

static uint64_t get_word(const struct ct_target *at, uint64_t offset_bytes)
{
    uint64_t word = 0;
    ct_get(at, offset_bytes, &word, sizeof word);
    return word;
}

static void expect_word(const struct ct_target *at, uint64_t offset_bytes, uint64_t expected, const char *slot,
                        const char *what)
{
    uint64_t got = get_word(at, offset_bytes);
    CT_RULE(slot, NULL, got == expected, "%s of %#llx to the word at %#llx of %#llx bytes: a get finds %#llx", what,
            (unsigned long long)expected, (unsigned long long)offset_bytes,
            (unsigned long long)at->extent->length_bytes, (unsigned long long)got);
}

/* Words, by every slot. */
static void write_each_way(const struct ct_target *at, uint64_t offset_bytes, uint64_t beside_bytes)
{
    const struct ct_word word = {*at, offset_bytes, beside_bytes};
    for (int way = 0; way < CT_WAYS; way++) {
        uint64_t value = value_of(at, offset_bytes, 1 + (uint32_t)way);
        if (!ct_write_word(&word, way, value)) continue;
        CT_OK(at->channel->ops.local_complete(at->channel->chan, NULL));
        CT_OK(at->channel->ops.remote_commit(at->channel->chan, at->p->path[at->pe]));
        expect_word(at, offset_bytes, value, ct_way_slot(way), ct_way_name(way));
    }
}

/* The narrow atomics: the last word of each width. */
static void add_each_width(const struct ct_target *at, uint64_t offset_bytes, uint64_t beside_bytes)
{
    for (uint32_t bits = ISTHMUS_BITS8; bits <= ISTHMUS_BITS64; bits++) {
        const struct ct_amo add = {
            .op = ISTHMUS_AMO_ADD, .bits = bits, .flags = ISTHMUS_AMO_FETCHING, .operand = 1 + bits};
        uint64_t bytes = UINT64_C(1) << bits, zero = 0, old = 1, from = offset_bytes;
        if (offset_bytes > beside_bytes) from = offset_bytes + WORD - bytes;
        ct_put(at, offset_bytes, &zero, sizeof zero);
        ct_quiet(at->p, at->channel);
        if (!ct_amo(at, from, &add, &old)) continue;
        CT_CHECK(memcmp(&old, &zero, bytes) == 0, "an addition of %llu bits at %#llx fetched %#llx, expected 0",
                 (unsigned long long)(8 * bytes), (unsigned long long)from, (unsigned long long)old);
        expect_word(at, offset_bytes, (uint64_t)(1 + bits) << 8 * (from - offset_bytes), "amo_entry", "an addition");
    }
}

/* Bytes up to the end, or from the start on, which no other word there shows. */
static void put_and_get(const struct ct_target *at, uint64_t offset_bytes, uint64_t beside_bytes)
{
    static const size_t lengths[] = {1, 3, 8, 17, 64, EDGE_BYTES};
    uint8_t bytes[EDGE_BYTES], back[EDGE_BYTES];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = lengths[i];
        uint64_t from = offset_bytes > beside_bytes ? offset_bytes + WORD - n : offset_bytes;
        ct_pattern_fill(bytes, n, value_of(at, from, (uint32_t)n));
        (i % 2 == 0 ? ct_put : ct_put_nbi)(at, from, bytes, n);
        ct_quiet(at->p, at->channel);
        memset(back, 0, n);
        (i % 2 == 0 ? ct_get_nbi : ct_get)(at, from, back, n);
        ct_quiet(at->p, at->channel);
        CT_RULE("put", NULL, memcmp(bytes, back, n) == 0, "%zu bytes at %#llx of %#llx came back changed", n,
                (unsigned long long)from, (unsigned long long)at->extent->length_bytes);
    }
}

static void use_place(const struct ct_target *at, uint64_t offset_bytes, uint64_t beside_bytes)
{
    put_and_get(at, offset_bytes, beside_bytes);
    write_each_way(at, offset_bytes, beside_bytes);
    if (at->p->reach[at->pe].atomics_domain != ISTHMUS_DOMAIN_NONE) add_each_width(at, offset_bytes, beside_bytes);
}

/* Process 1 finds in its memory what process 0 has got from there. */
static void compare_ends(struct ct_process *p, struct ct_extent *extent, const struct ct_target *at)
{
    struct ct_blob all[CT_MAX_PROCESSES];
    uint64_t last = extent->length_bytes - WORD, words[2] = {0};
    ct_quiet(p, at->channel);
    if (p->pe == 0) words[0] = get_word(at, 0), words[1] = get_word(at, last);
    ct_exchange(p, words, sizeof words, all);
    memcpy(words, all[0].bytes, sizeof words);
    for (int i = 0; i < 2 && p->pe == 1; i++) {
        uint64_t mine = ct_extent_load(extent, i == 0 ? 0 : last);
        CT_RULE("get", NULL, mine == words[i], "process 0 gets %#llx from the %s word, its owner finds %#llx there",
                (unsigned long long)words[i], i == 0 ? "first" : "last", (unsigned long long)mine);
    }
    ct_meet(p);
}

void ct_case_extent_ends(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, SHORT_BYTES, &channel);
    const struct ct_target at = {p, &channel, &extent, 1};
    const uint64_t last = SHORT_BYTES - WORD;
    if (p->pe == 0) {
        use_place(&at, 0, last);
        use_place(&at, last, 0);
    }
    compare_ends(p, &extent, &at);
    ct_end(p, &extent, &channel);
}

/* ---- offsets that need more than 32 bits ---- */

static bool expose_if_there_is_room(struct ct_process *p, struct ct_extent *extent)
{
    extent->key_bytes = sizeof extent->key;
    ct_enter("t->expose()");
    isthmus_status status = p->t->expose(p->tr, &extent->mem, extent->key, &extent->key_bytes, &extent->lmem);
    if (status == ISTHMUS_ERR_NO_MEMORY || status == ISTHMUS_ERR_PERMISSION) return false;
    CT_OK_OF("expose", status);
    return true;
}

/* Sparse: only the pages that are touched take memory. */
void ct_case_extent_of_5_gib(struct ct_process *p)
{
    const uint64_t length_bytes = 5 * GIB, middle = 4 * GIB;
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_open(p);
    ct_exchange_cards(p);
    if ((p->traits.kinds_expose >> ISTHMUS_MEM_HOST & 1) == 0) ct_skip("%s exposes no host memory", p->t->name);
    if (!ct_extent_try_host(p, &extent, length_bytes, 0)) ct_skip("no room for 5 GiB here: %s", strerror(errno));
    if (!expose_if_there_is_room(p, &extent)) ct_skip("no extent of 5 GiB here: %s", ct_failure_text());
    ct_extent_attach(p, &extent);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    const struct ct_target at = {p, &channel, &extent, 1};
    if (p->pe == 0) {
        const uint64_t places[] = {0, middle - WORD, middle, middle + 4096, length_bytes - WORD};
        const size_t n = sizeof places / sizeof *places;
        for (size_t i = 0; i < n; i++) use_place(&at, places[i], places[(i + 1) % n]);
        for (size_t i = 0; i < n; i++) ct_write_word(&(struct ct_word){at, places[i], 0}, CT_BY_PUT, 1000 + i);
        ct_quiet(p, &channel);
        for (size_t i = 0; i < n; i++) expect_word(&at, places[i], 1000 + i, "put", "a put");
    }
    compare_ends(p, &extent, &at);
    ct_end(p, &extent, &channel);
}

/* ---- ranges of one memory ---- */

enum { N_RANGES = 4, PAGE = 4096, WHOLE_BYTES = 4 * PAGE };

/* The whole, the same again, its middle, and a part that overlaps the middle. */
static const struct {
    size_t from, length_bytes;
} ranges[N_RANGES] = {{0, WHOLE_BYTES}, {0, WHOLE_BYTES}, {PAGE, 2 * PAGE}, {2 * PAGE, 2 * PAGE}};

static struct ct_extent range_of(const struct ct_extent *whole, int i)
{
    struct ct_extent part = *whole;
    part.base += ranges[i].from;
    part.length_bytes = ranges[i].length_bytes;
    part.mem.addr = part.base;
    part.mem.length_bytes = part.length_bytes;
    part.mem.fd_offset_bytes += ranges[i].from;
    part.copy = NULL;
    return part;
}

/* Puts a word through each range that is still there, to a place that several of them hold, and finds it in the
 * memory. */
static void use_range(struct ct_process *p, const struct ct_channel *channel, struct ct_extent *part, int i)
{
    const struct ct_target at = {p, channel, part, (p->pe + 1) % p->n};
    const uint64_t shared = 2 * PAGE + 64 - ranges[i].from, last = part->length_bytes - WORD;
    const uint64_t value = 100 + (uint64_t)i;
    ct_put(&at, shared, &value, sizeof value);
    ct_put(&at, last, &value, sizeof value);
    ct_quiet(p, channel);
    ct_meet(p);
    for (int k = 0; k < 2; k++) {
        uint64_t got = ct_extent_load(part, k == 0 ? shared : last);
        CT_CHECK(got == value, "%llu was put through extent %d, which begins %zu bytes from the start: %llu is there",
                 (unsigned long long)value, i, ranges[i].from, (unsigned long long)got);
    }
    ct_meet(p);
}

void ct_case_extents_overlap(struct ct_process *p)
{
    static struct ct_extent whole, parts[N_RANGES];
    struct ct_channel channel;
    ct_open(p);
    ct_exchange_cards(p);
    ct_extent_make(p, &whole, WHOLE_BYTES, 0);
    if (!ct_extent_is_host(&whole)) ct_skip("memory of a device is exposed as it was allocated");
    for (int i = 0; i < N_RANGES; i++) {
        parts[i] = range_of(&whole, i);
        ct_extent_expose(p, &parts[i]);
    }
    for (int i = 0; i < N_RANGES; i++) ct_extent_attach(p, &parts[i]);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &channel);
    for (int gone = 0; gone < N_RANGES; gone++) { /* the first ends first: the others do not depend on it */
        for (int i = gone; i < N_RANGES; i++) use_range(p, &channel, &parts[i], i);
        ct_extent_detach(p, &parts[gone]);
        ct_meet(p);
        ct_enter("t->unregister_local()");
        p->t->unregister_local(parts[gone].lmem);
        ct_meet(p);
    }
    ct_channel_close(p, &channel);
    ct_extent_free(&whole);
    ct_close(p);
}

/* tools/isthmus-check-transport/case_atomics.c: the results of atomic operations, and their exclusion on one word. */
#include "cases.h"

#include <isthmus/amo_cpu.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 0x5a, EXTENT_BYTES = 4096 };

static uint64_t mask_of(uint32_t bits) { return bits == ISTHMUS_BITS64 ? UINT64_MAX : (1ull << (8u << bits)) - 1; }
static size_t bytes_of(uint32_t bits) { return (size_t)1 << bits; }

static uint64_t read_word(const void *at, uint32_t bits)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes_of(bits)); /* little-endian, as all machines here */
    return value;
}

static void begin(struct ct_process *p, struct ct_extent *extent, struct ct_channel *channel)
{
    ct_begin(p, extent, EXTENT_BYTES, channel);
    if (p->reach[0].atomics_domain == ISTHMUS_DOMAIN_NONE) ct_skip("%s executes no atomics", p->t->name);
}

static void check_unknown(const struct ct_channel *channel, uint32_t op, uint32_t bits, uint32_t flags)
{
    CT_CHECK(!ct_has_amo(channel, op, bits, flags),
             "it returned a function for operation %u, bits %u, of which one is unknown; valid: NULL", op, bits);
}

/* A job settles on one agent by what transports offer to the own PE, and does not start without one. */
static void check_agent(struct ct_process *p, bool is_host)
{
    static const char rule[] = "one agent executes atomics on host memory, for all PEs alike: CPU or NIC";
    for (int pe = 0; pe < p->n && is_host; pe++) {
        uint32_t domain = p->reach[pe].atomics_domain;
        CT_RULE("reach", rule, domain == ISTHMUS_DOMAIN_CPU || domain == ISTHMUS_DOMAIN_NIC,
                "atomics_domain towards process %d is %u: a job that has no other transport does not start", pe,
                domain);
        CT_RULE("reach", rule, domain == p->reach[p->pe].atomics_domain,
                "atomics_domain is %u towards process %d and %u towards the own process", domain, pe,
                p->reach[p->pe].atomics_domain);
    }
}

void ct_case_amo_entry(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, EXTENT_BYTES, &channel);
    bool any = false;
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++)
        for (uint32_t bits = 0; bits < ISTHMUS_BITS_COUNT; bits++)
            for (uint32_t flags = 0; flags < 4; flags++) {
                isthmus_amo_fn fn = channel.ops.amo_entry(channel.chan, op, bits, flags);
                any |= fn != NULL;
                CT_CHECK(fn == channel.ops.amo_entry(channel.chan, op, bits, flags),
                         "two calls for operation %u, bits %u, flags %u returned different functions", op, bits, flags);
            }
    check_agent(p, ct_extent_is_host(&extent));
    bool promised = p->reach[p->pe].atomics_domain != ISTHMUS_DOMAIN_NONE;
    CT_CHECK(any == promised, "atomics_domain of reach is %u, but amo_entry returned %s",
             p->reach[p->pe].atomics_domain, any ? "functions" : "NULL for every operation");
    for (uint32_t flags = 0; flags < 4; flags++) {
        check_unknown(&channel, ISTHMUS_AMO_COUNT, ISTHMUS_BITS64, flags);
        check_unknown(&channel, UINT32_MAX, ISTHMUS_BITS64, flags);
        check_unknown(&channel, ISTHMUS_AMO_ADD, ISTHMUS_BITS_COUNT, flags);
        check_unknown(&channel, ISTHMUS_AMO_ADD, UINT32_MAX, flags);
    }
    ct_end(p, &extent, &channel);
}

/* ---- values ---- */

static uint64_t expected(const struct ct_amo *amo, uint64_t old)
{
    switch (amo->op) {
    case ISTHMUS_AMO_SET:
    case ISTHMUS_AMO_SWAP: return amo->operand;
    case ISTHMUS_AMO_COMPARE_SWAP: return old == (amo->compare & mask_of(amo->bits)) ? amo->operand : old;
    case ISTHMUS_AMO_ADD: return old + amo->operand;
    case ISTHMUS_AMO_AND: return old & amo->operand;
    case ISTHMUS_AMO_OR: return old | amo->operand;
    case ISTHMUS_AMO_XOR: return old ^ amo->operand;
    default: return old;
    }
}

/* Three words: the middle one is operated on. Flags: FETCHING, whose fetched value is as wide as the type. */
static void try_value(const struct ct_target *at, const struct ct_amo *amo, uint64_t old)
{
    size_t size = bytes_of(amo->bits);
    uint64_t words[3], fetched[3];
    memset(words, GUARD, sizeof words);
    memset(fetched, GUARD, sizeof fetched);
    memcpy((uint8_t *)words + 8, &old, size);
    ct_put(at, 64, words, sizeof words);
    ct_quiet(at->p, at->channel);
    bool fetches = (amo->flags & ISTHMUS_AMO_FETCHING) != 0;
    if (!ct_amo(at, 72, amo, fetches ? &fetched[1] : NULL)) return;
    ct_quiet(at->p, at->channel);
    ct_get(at, 64, words, sizeof words);

    uint64_t want = expected(amo, old) & mask_of(amo->bits);
    uint64_t got = read_word(&words[1], amo->bits);
    CT_CHECK(got == want, "operation %u on %zu bits, %#llx with %#llx (compare %#llx): %#llx, expected %#llx", amo->op,
             8 * size, (unsigned long long)old, (unsigned long long)amo->operand, (unsigned long long)amo->compare,
             (unsigned long long)got, (unsigned long long)want);
    memcpy(&words[1], &old, size);
    if (fetches)
        CT_CHECK(read_word(&fetched[1], amo->bits) == old, "operation %u on %zu bits fetched %#llx, expected %#llx",
                 amo->op, 8 * size, (unsigned long long)read_word(&fetched[1], amo->bits), (unsigned long long)old);
    const uint8_t *w = (const uint8_t *)words, *f = (const uint8_t *)fetched;
    for (size_t i = 0; i < sizeof words; i++) {
        if (i >= 8 && i < 8 + size) continue;
        CT_CHECK(w[i] == GUARD, "operation %u on %zu bits: byte %td from the word was written", amo->op, 8 * size,
                 (ptrdiff_t)i - 8);
        CT_CHECK(f[i] == GUARD, "operation %u on %zu bits: byte %td from the fetched value was written", amo->op,
                 8 * size, (ptrdiff_t)i - 8);
    }
}

static void try_operation(const struct ct_target *at, uint32_t op, uint32_t bits, uint32_t flags)
{
    uint64_t top = 1ull << ((8u << bits) - 1), all = mask_of(bits);
    const uint64_t values[] = {0, 1, all, top, top - 1, 0x0123456789abcdef & all, 0xf0f0f0f0f0f0f0f0 & all};
    enum { N = sizeof values / sizeof *values };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            struct ct_amo amo = {.op = op, .bits = bits, .flags = flags, .operand = values[j]};
            amo.compare = j % 2 == 0 ? values[i] : values[j];
            try_value(at, &amo, values[i]);
        }
}

void ct_case_amo_values(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++)
        for (uint32_t bits = 0; bits < ISTHMUS_BITS_COUNT; bits++)
            for (uint32_t flags = 0; flags < 4; flags++) try_operation(&at, op, bits, flags);
    ct_end(p, &extent, &channel);
}

/* ---- exclusion: all processes on words of process 0, itself included ---- */

struct contest {
    struct ct_target at;
    uint32_t bits;
    uint64_t offset_bytes;
    int rounds; /* of each process */
};

static uint64_t fetching(const struct contest *c, uint32_t op, uint64_t operand, uint64_t compare)
{
    struct ct_amo amo = {
        .op = op, .bits = c->bits, .flags = ISTHMUS_AMO_FETCHING, .operand = operand, .compare = compare};
    uint64_t old = 0;
    CT_CHECK(ct_amo(&c->at, c->offset_bytes, &amo, &old),
             "it returned NULL for operation %u on %zu bits, and a function before", op, 8 * bytes_of(c->bits));
    return old;
}

/* The word starts at 0 for every process, and is read when every process has finished. */
static void start_contest(const struct contest *c)
{
    uint64_t zero = 0;
    if (c->at.p->pe == 0) ct_put(&c->at, c->offset_bytes, &zero, bytes_of(c->bits));
    ct_quiet(c->at.p, c->at.channel);
    ct_meet(c->at.p);
}

static uint64_t end_contest(const struct contest *c)
{
    uint64_t word = 0;
    ct_quiet(c->at.p, c->at.channel);
    ct_meet(c->at.p);
    ct_get(&c->at, c->offset_bytes, &word, bytes_of(c->bits));
    ct_meet(c->at.p);
    return word;
}

static uint64_t sum_over_processes(struct ct_process *p, uint64_t mine)
{
    static struct ct_blob all[CT_MAX_PROCESSES];
    uint64_t sum = 0, part;
    ct_exchange(p, &mine, sizeof mine, all);
    for (int pe = 0; pe < p->n; pe++) {
        memcpy(&part, all[pe].bytes, sizeof part);
        sum += part;
    }
    return sum;
}

/* As many rounds as find a lost update in a fast transport, and as a slow one does in two seconds: a process that is
 * silent for longer counts as hung. The same number in every process, by the slowest of them. */
static int rounds_of(const struct contest *c)
{
    enum { MOST = 20000, FEWEST = 200, TRIAL = 50, SECONDS = 2 };
    static struct ct_blob all[CT_MAX_PROCESSES];
    struct timespec start, end;
    double trial_s, slowest_s = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < TRIAL; i++) (void)fetching(c, ISTHMUS_AMO_ADD, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    trial_s = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    ct_exchange(c->at.p, &trial_s, sizeof trial_s, all);
    for (int pe = 0; pe < c->at.p->n; pe++) {
        memcpy(&trial_s, all[pe].bytes, sizeof trial_s);
        slowest_s = trial_s > slowest_s ? trial_s : slowest_s;
    }
    if (slowest_s * MOST <= (double)SECONDS * TRIAL) return MOST;
    double fitting = (double)SECONDS * TRIAL / slowest_s;
    return fitting < FEWEST ? FEWEST : (int)fitting;
}

/* If every value from 0 on is fetched once, sums of the values and of their squares are known. */
static void fetch_add_is_exact(const struct contest *c)
{
    uint64_t n = (uint64_t)c->rounds * (uint64_t)c->at.p->n, sum = 0, squares = 0, want = 0, want_squares = 0;
    start_contest(c);
    for (int i = 0; i < c->rounds; i++) {
        uint64_t old = fetching(c, ISTHMUS_AMO_ADD, 1, 0);
        sum += old;
        squares += old * old;
    }
    uint64_t word = end_contest(c);
    CT_CHECK(word == (n & mask_of(c->bits)), "%zu bits: %llu additions of 1 gave %llu, expected %llu",
             8 * bytes_of(c->bits), (unsigned long long)n, (unsigned long long)word,
             (unsigned long long)(n & mask_of(c->bits)));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = i & mask_of(c->bits);
        want += value;
        want_squares += value * value;
    }
    CT_CHECK(sum_over_processes(c->at.p, sum) == want && sum_over_processes(c->at.p, squares) == want_squares,
             "%zu bits: a value was fetched twice by additions of 1", 8 * bytes_of(c->bits));
}

/* Additions without fetching, against swaps to 0: the sum of the swapped values and of the rest equals all
 * additions. */
static void swap_against_add(const struct contest *c)
{
    struct ct_amo add = {.op = ISTHMUS_AMO_ADD, .bits = c->bits, .operand = 1};
    uint64_t out = 0, added = 0;
    if (!ct_has_amo(c->at.channel, add.op, c->bits, 0)) add.flags = ISTHMUS_AMO_FETCHING;
    start_contest(c);
    for (int i = 0; i < c->rounds; i++) {
        uint64_t ignored;
        if (c->at.p->pe % 2 == 0) {
            (void)ct_amo(&c->at, c->offset_bytes, &add, add.flags != 0 ? &ignored : NULL);
            added++;
        } else if (i % 8 == 0) {
            out += fetching(c, ISTHMUS_AMO_SWAP, 0, 0);
        }
    }
    uint64_t word = end_contest(c), mask = mask_of(c->bits);
    uint64_t all = sum_over_processes(c->at.p, added), gone = sum_over_processes(c->at.p, out);
    CT_CHECK(((gone + word) & mask) == (all & mask), "%zu bits: %llu were added, %llu swapped out, %llu are left",
             8 * bytes_of(c->bits), (unsigned long long)all, (unsigned long long)gone, (unsigned long long)word);
}

static void compare_swap_counts(const struct contest *c)
{
    uint64_t mask = mask_of(c->bits), won = 0;
    start_contest(c);
    uint64_t seen = 0;
    for (int i = 0; i < c->rounds; i++) {
        uint64_t old = fetching(c, ISTHMUS_AMO_COMPARE_SWAP, (seen + 1) & mask, seen);
        won += old == seen;
        seen = old == seen ? (seen + 1) & mask : old;
    }
    uint64_t word = end_contest(c), all = sum_over_processes(c->at.p, won);
    CT_CHECK(word == (all & mask), "%zu bits: %llu compare_swaps worked, the word is %llu", 8 * bytes_of(c->bits),
             (unsigned long long)all, (unsigned long long)word);
}

/* Each process owns one bit and must find it as it left it, while the others change theirs. */
static void bits_are_kept(const struct contest *c)
{
    uint64_t own = 1ull << c->at.p->pe;
    start_contest(c);
    for (int i = 0; i < c->rounds / 3; i++) {
        uint64_t old = fetching(c, ISTHMUS_AMO_OR, own, 0);
        CT_CHECK((old & own) == 0, "%zu bits: a bit that this process had cleared is set in %#llx",
                 8 * bytes_of(c->bits), (unsigned long long)old);
        old = fetching(c, ISTHMUS_AMO_XOR, own, 0);
        CT_CHECK((old & own) != 0, "%zu bits: a bit that this process had set is clear in %#llx", 8 * bytes_of(c->bits),
                 (unsigned long long)old);
        (void)fetching(c, ISTHMUS_AMO_XOR, own, 0);
        old = fetching(c, ISTHMUS_AMO_AND, ~own & mask_of(c->bits), 0);
        CT_CHECK((old & own) != 0, "%zu bits: a bit that this process had set is clear in %#llx", 8 * bytes_of(c->bits),
                 (unsigned long long)old);
    }
    uint64_t word = end_contest(c);
    CT_CHECK(word == 0, "%zu bits: all bits were cleared, %#llx is left", 8 * bytes_of(c->bits),
             (unsigned long long)word);
}

/* Process 0 sets even numbers, the others make the word odd: a lost set shows as an older number. */
static void no_set_is_lost(const struct contest *c)
{
    uint64_t mask = mask_of(c->bits);
    start_contest(c);
    for (int i = 1; i <= c->rounds / 2; i++) {
        if (c->at.p->pe != 0) {
            uint64_t old = fetching(c, ISTHMUS_AMO_FETCH, 0, 0);
            (void)fetching(c, ISTHMUS_AMO_COMPARE_SWAP, old | 1, old);
            continue;
        }
        struct ct_amo set = {.op = ISTHMUS_AMO_SET, .bits = c->bits, .operand = 2 * (uint64_t)i & mask};
        if (!ct_amo(&c->at, c->offset_bytes, &set, NULL)) (void)fetching(c, ISTHMUS_AMO_SWAP, set.operand, 0);
        ct_quiet(c->at.p, c->at.channel);
        uint64_t now = fetching(c, ISTHMUS_AMO_FETCH, 0, 0);
        CT_CHECK((now | 1) == (set.operand | 1), "%zu bits: %#llx was set, %#llx is there", 8 * bytes_of(c->bits),
                 (unsigned long long)set.operand, (unsigned long long)now);
    }
    (void)end_contest(c);
}

static bool has_all(const struct ct_channel *channel, uint32_t bits)
{
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++)
        if (!ct_has_amo(channel, op, bits, ISTHMUS_AMO_FETCHING)) return false;
    return true;
}

void ct_case_amo_exact(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, &channel);
    for (uint32_t bits = 0; bits < ISTHMUS_BITS_COUNT; bits++) {
        struct contest c = {{p, &channel, &extent, 0}, bits, 128, 0};
        if (!has_all(&channel, bits)) continue;
        c.rounds = rounds_of(&c);
        fetch_add_is_exact(&c);
        swap_against_add(&c);
        compare_swap_counts(&c);
        bits_are_kept(&c);
        no_set_is_lost(&c);
    }
    ct_end(p, &extent, &channel);
}

/* The owner stores to the last word of 8 bytes by plain stores; the others add to those before it. */
static void store_plainly(char *word, uint32_t bits, uint64_t value)
{
    switch (bits) {
    case ISTHMUS_BITS8: __atomic_store_n((uint8_t *)word, (uint8_t)value, __ATOMIC_RELAXED); break;
    case ISTHMUS_BITS16: __atomic_store_n((uint16_t *)(void *)word, (uint16_t)value, __ATOMIC_RELAXED); break;
    default: __atomic_store_n((uint32_t *)(void *)word, (uint32_t)value, __ATOMIC_RELAXED); break;
    }
}

static void neighbours_are_kept(struct contest *c)
{
    struct ct_process *p = c->at.p;
    char *words = c->at.extent->base + c->offset_bytes;
    int n_words = (int)(8 / bytes_of(c->bits)), mine = (p->pe - 1) % (n_words - 1);
    if (p->pe == 0) memset(words, 0, 8);
    ct_meet(p);
    struct contest own = *c;
    own.offset_bytes += (uint64_t)mine * bytes_of(c->bits);
    for (int i = 1; i <= c->rounds; i++) {
        if (p->pe == 0)
            store_plainly(words + 8 - bytes_of(c->bits), c->bits, (uint64_t)i);
        else
            (void)fetching(&own, ISTHMUS_AMO_ADD, 1, 0);
    }
    ct_quiet(p, c->at.channel);
    ct_meet(p);
    for (int word = 0; p->pe == 0 && word < n_words; word++) {
        uint64_t want = word == n_words - 1 ? (uint64_t)c->rounds : 0; /* what the owner stored last */
        for (int pe = 1; pe < p->n; pe++)
            if ((pe - 1) % (n_words - 1) == word) want += (uint64_t)c->rounds;
        want &= mask_of(c->bits);
        uint64_t got = read_word(words + (size_t)word * bytes_of(c->bits), c->bits);
        CT_CHECK(got == want, "word %d of %zu bits is %llu, expected %llu", word, 8 * bytes_of(c->bits),
                 (unsigned long long)got, (unsigned long long)want);
    }
    ct_meet(p);
}

void ct_case_amo_neighbours(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, &channel);
    if (!ct_extent_is_host(&extent)) ct_skip("no CPU stores to memory of a device");
    for (uint32_t bits = ISTHMUS_BITS8; bits <= ISTHMUS_BITS32; bits++) {
        struct contest c = {{p, &channel, &extent, 0}, bits, 256, 0};
        if (!ct_has_amo(&channel, ISTHMUS_AMO_ADD, bits, ISTHMUS_AMO_FETCHING)) continue;
        c.rounds = rounds_of(&c);
        neighbours_are_kept(&c);
    }
    ct_end(p, &extent, &channel);
}

/* Additions by instructions continue until those by the transport are complete, which a second word shows. So they
 * overlap. */
enum { DONE_OFFSET_BYTES = 8 };

static uint64_t add_by_transport(const struct contest *c)
{
    struct contest done = *c;
    done.offset_bytes += DONE_OFFSET_BYTES;
    for (int i = 0; i < c->rounds; i++) (void)fetching(c, ISTHMUS_AMO_ADD, 1, 0);
    (void)fetching(&done, ISTHMUS_AMO_ADD, 1, 0);
    return (uint64_t)c->rounds;
}

static uint64_t add_by_instructions(char *memory, const struct contest *c)
{
    char *word = memory + c->offset_bytes, *done = word + DONE_OFFSET_BYTES;
    uint64_t added = 0, others = (uint64_t)c->at.p->n - 1;
    for (; isthmus_amo_cpu(ISTHMUS_AMO_FETCH, done, 0, 0, 8) < others; added++)
        (void)isthmus_amo_cpu(ISTHMUS_AMO_ADD, word, 1, 0, 8);
    return added;
}

static void check_sum(const struct contest *c, uint64_t mine)
{
    uint64_t word = end_contest(c), want = sum_over_processes(c->at.p, mine);
    CT_CHECK(word == want, "%llu additions, some by instructions of a processor, gave %llu", (unsigned long long)want,
             (unsigned long long)word);
}

void ct_case_amo_with_owner(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, &channel);
    if (p->reach[0].atomics_domain != ISTHMUS_DOMAIN_CPU) ct_skip("%s does not execute atomics on the CPU", p->t->name);
    struct contest c = {{p, &channel, &extent, 0}, ISTHMUS_BITS64, 128, 0};
    if (!has_all(&channel, c.bits)) ct_skip("%s has no atomics of 64 bits", p->t->name);
    c.rounds = rounds_of(&c);
    start_contest(&c);
    uint64_t mine = p->pe == 0 ? add_by_instructions(extent.base, &c) : add_by_transport(&c);
    check_sum(&c, mine);
    ct_end(p, &extent, &channel);
}

/* The owner's memory, mapped as a transport of another kind on the same host would map it. */
static char *map_of_owner(struct ct_process *p, const struct ct_extent *extent)
{
    static struct ct_blob paths[CT_MAX_PROCESSES];
    char path[64];
    int length = snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), extent->mem.fd);
    ct_exchange(p, path, (size_t)length + 1, paths);
    int fd = open((const char *)paths[0].bytes, O_RDWR | O_CLOEXEC);
    CT_NEED(fd >= 0, "cannot open %s: %s", (const char *)paths[0].bytes, strerror(errno));
    void *at = mmap(NULL, EXTENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CT_NEED(at != MAP_FAILED, "mmap: %s", strerror(errno));
    close(fd);
    return at;
}

void ct_case_amo_mixed(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, &channel);
    if (p->reach[0].atomics_domain != ISTHMUS_DOMAIN_CPU) ct_skip("%s does not execute atomics on the CPU", p->t->name);
    struct contest c = {{p, &channel, &extent, 0}, ISTHMUS_BITS64, 128, 0};
    if (!has_all(&channel, c.bits)) ct_skip("%s has no atomics of 64 bits", p->t->name);
    if (!ct_on_one_host(p, 0, 1)) ct_skip("processes 0 and 1 are on two hosts");
    c.rounds = rounds_of(&c);
    char *mapped = map_of_owner(p, &extent);
    start_contest(&c);
    uint64_t mine = p->pe == 1 ? add_by_instructions(mapped, &c) : add_by_transport(&c);
    check_sum(&c, mine);
    munmap(mapped, EXTENT_BYTES);
    ct_end(p, &extent, &channel);
}

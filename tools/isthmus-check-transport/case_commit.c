/* tools/isthmus-check-transport/case_commit.c: commits without a wait, the progress of one channel, and channels of one
 * caller that polls. */
#include "cases.h"

#include <sched.h>
#include <string.h>

enum { ROUNDS = 100, LONG_BYTES = 20000, AT_LEAST_CALLS = 1000 };

/* ---- one commit ---- */

static void begin(struct ct_process *p, struct ct_extent *extent, size_t length_bytes, struct ct_channel *channel)
{
    ct_begin(p, extent, length_bytes, channel);
    if (channel->ops.commit_start == NULL) ct_skip("%s has no commit_start", p->t->name);
}

static void poll_channel(const struct ct_channel *channel)
{
    if (channel->ops.poll == NULL) return;
    ct_enter("ops.poll()");
    CT_OK_OF("poll", channel->ops.poll(channel->chan) < 0 ? ISTHMUS_ERR_IO : ISTHMUS_OK);
}

/* Returns false while another commit of the channel has to complete first. */
static bool try_start(const struct ct_channel *channel, isthmus_path *path, uint64_t *ticket)
{
    ct_enter("ops.commit_start()");
    isthmus_status status = channel->ops.commit_start(channel->chan, path, ticket);
    if (status == ISTHMUS_ERR_AGAIN) return false;
    CT_OK_OF("commit_start", status);
    CT_RULE("commit_start", "a ticket is not 0", *ticket != 0, "it returned OK and the ticket 0");
    return true;
}

static uint64_t start(const struct ct_channel *channel, isthmus_path *path)
{
    uint64_t ticket = 0;
    while (!try_start(channel, path, &ticket)) poll_channel(channel);
    return ticket;
}

static bool is_complete(const struct ct_channel *channel, uint64_t ticket)
{
    ct_enter("ops.commit_test()");
    isthmus_status status = channel->ops.commit_test(channel->chan, ticket);
    if (status == ISTHMUS_ERR_AGAIN) return false;
    CT_OK_OF("commit_test", status);
    return true;
}

/* Repeated tests alone lead to the end. */
static void wait_for(const struct ct_channel *channel, uint64_t ticket)
{
    while (!is_complete(channel, ticket)) sched_yield();
}

static void commit(const struct ct_channel *channel, isthmus_path *path) { wait_for(channel, start(channel, path)); }

/* ---- what it covers ---- */

/* Process 0 puts and adds at process 1; the owner looks, and process 2 gets where the transport promises that. */
static void send_round(const struct ct_target *at, uint64_t round)
{
    static uint8_t bytes[LONG_BYTES];
    static const size_t sizes[] = {8, 500, 4096, LONG_BYTES};
    const struct ct_amo add = {.op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .operand = 1};
    size_t n = sizes[round % (sizeof sizes / sizeof *sizes)];
    ct_pattern_fill(bytes, n, round);
    ct_put_nbi(at, 64, bytes, n);
    ct_put(at, 0, &round, sizeof round);
    if (!ct_amo(at, 8, &add, NULL)) ct_put(at, 8, &round, sizeof round);
    commit(at->channel, round % 2 == 0 ? NULL : at->p->path[at->pe]);
}

static void check_round(struct ct_extent *extent, uint64_t round)
{
    static const size_t sizes[] = {8, 500, 4096, LONG_BYTES};
    size_t n = sizes[round % (sizeof sizes / sizeof *sizes)];
    size_t wrong = ct_pattern_check(ct_extent_view(extent, 64, n), n, round);
    CT_CHECK(wrong == n, "round %llu: byte %zu of %zu is not there after the commit", (unsigned long long)round, wrong,
             n);
    for (uint64_t at = 0; at <= 8; at += 8)
        CT_CHECK(ct_extent_load(extent, at) == round,
                 "round %llu: the word at %llu is %llu after the commit, expected %llu", (unsigned long long)round,
                 (unsigned long long)at, (unsigned long long)ct_extent_load(extent, at), (unsigned long long)round);
}

void ct_case_commit(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, 64 + LONG_BYTES, &channel);
    struct ct_target at = {p, &channel, &extent, 1};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t got = round;
        if (p->pe == 0) send_round(&at, round);
        ct_meet(p);
        if (p->pe == 1) check_round(&extent, round);
        if (p->pe == 2 && p->reach[1].visibility == ISTHMUS_VISIBLE_EVERYONE) ct_get(&at, 0, &got, sizeof got);
        CT_CHECK(got == round, "round %llu: process %d finds %llu after the commit", (unsigned long long)round, p->pe,
                 (unsigned long long)got);
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

/* The half that local_complete does: sources may be changed, and what was fetched is there. */
void ct_case_commit_source(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t source[LONG_BYTES], back[LONG_BYTES];
    const struct ct_amo add = {
        .op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .flags = ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI, .operand = 1};
    struct ct_channel channel;
    begin(p, &extent, 8 + 2 * LONG_BYTES, &channel);
    struct ct_target at = {p, &channel, &extent, 1};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        size_t n = round % 2 == 0 ? LONG_BYTES : 700;
        uint64_t old = round;
        if (p->pe == 0) {
            ct_pattern_fill(source, n, round);
            ct_put_nbi(&at, 8, source, n);
            if (!ct_amo(&at, 0, &add, &old)) old = round - 1;
            commit(&channel, NULL);
            memset(source, 0xee, n);
            CT_CHECK(old == round - 1, "round %llu: the fetched value is %llu after the commit, expected %llu",
                     (unsigned long long)round, (unsigned long long)old, (unsigned long long)round - 1);
            ct_get_nbi(&at, 8, back, n);
            commit(&channel, p->path[1]);
            size_t wrong = ct_pattern_check(back, n, round);
            CT_CHECK(wrong == n, "round %llu: byte %zu of a get is not there after the commit",
                     (unsigned long long)round, wrong);
            ct_quiet(p, &channel);
        }
        ct_meet(p);
        if (p->pe == 1) {
            size_t wrong = ct_pattern_check(ct_extent_view(&extent, 8, n), n, round);
            CT_CHECK(wrong == n,
                     "round %llu: byte %zu of %zu is not that of the source, which was overwritten after the commit",
                     (unsigned long long)round, wrong, n);
        }
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

/* ---- tickets ---- */

/* Two channels, and two commits of one channel. Process 1 has the word of each of them where its ticket is complete. */
static void expect_word(struct ct_process *p, struct ct_extent *extent, uint64_t at, uint64_t value)
{
    ct_meet(p);
    CT_CHECK(p->pe != 1 || ct_extent_load(extent, at) == value,
             "a ticket is complete, the word at %llu that it covers is %llu instead of %llu", (unsigned long long)at,
             (unsigned long long)ct_extent_load(extent, at), (unsigned long long)value);
    ct_meet(p);
}

static void two_tickets(const struct ct_target *at, uint64_t *words, uint64_t *newest)
{
    uint64_t first, second = 0;
    ct_put_nbi(at, 16, &words[2], sizeof *words);
    first = start(at->channel, NULL);
    ct_put_nbi(at, 24, &words[3], sizeof *words);
    while (!try_start(at->channel, NULL, &second)) (void)is_complete(at->channel, first);
    CT_RULE("commit_start", "tickets of a channel never fall", second >= first && first >= *newest,
            "after ticket %llu come %llu and %llu", (unsigned long long)*newest, (unsigned long long)first,
            (unsigned long long)second);
    wait_for(at->channel, second);
    CT_RULE("commit_test", "a commit that is complete means that earlier ones are", is_complete(at->channel, first),
            "ticket %llu is complete, %llu is not", (unsigned long long)second, (unsigned long long)first);
    *newest = second;
}

void ct_case_commit_tickets(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel, other;
    uint64_t newest = 0, tickets[2] = {0}, words[4];
    begin(p, &extent, 64, &channel);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &other);
    struct ct_target at = {p, &channel, &extent, 1}, by_other = {p, &other, &extent, 1};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 4; i++) words[i] = round;
        if (p->pe == 0) {
            ct_put_nbi(&at, 0, &words[0], sizeof *words);
            tickets[0] = start(&channel, NULL);
            newest = tickets[0];
            ct_put_nbi(&by_other, 8, &words[1], sizeof *words);
            tickets[1] = start(&other, NULL);
            wait_for(&other, tickets[1]);
        }
        expect_word(p, &extent, 8, round);
        if (p->pe == 0) wait_for(&channel, tickets[0]);
        expect_word(p, &extent, 0, round);
        if (p->pe == 0) two_tickets(&at, words, &newest);
        expect_word(p, &extent, 16, round);
        expect_word(p, &extent, 24, round);
    }
    ct_channel_close(p, &other);
    ct_end(p, &extent, &channel);
}

/* ---- nothing waits ---- */

/* No process makes progress: what depends on it cannot end, and so a call that waits for it does not either. */
void ct_case_commit_never_waits(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    uint64_t word = 1, ticket = 0;
    begin(p, &extent, 64, &channel);
    struct ct_target at = {p, &channel, &extent, 1};
    if (p->pe == 0) ct_put(&at, 0, &word, sizeof word); /* paths and connections are made now */
    ct_quiet(p, &channel);
    ct_meet(p);
    ct_progress_stop(p);
    ct_meet(p);
    if (p->pe == 0) {
        bool has_started = false;
        word = 2;
        ct_put_nbi(&at, 0, &word, sizeof word);
        for (int i = 0; i < AT_LEAST_CALLS; i++) {
            if (!has_started) has_started = try_start(&channel, NULL, &ticket);
            if (has_started) (void)is_complete(&channel, ticket);
            poll_channel(&channel);
        }
    }
    ct_meet(p);
    ct_progress_start(p);
    if (p->pe == 0) wait_for(&channel, ticket != 0 ? ticket : start(&channel, NULL));
    expect_word(p, &extent, 0, 2);
    ct_end(p, &extent, &channel);
}

/* It ends although more and more is issued after it. */
void ct_case_commit_amid_puts(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    begin(p, &extent, 64, &channel);
    struct ct_target at = {p, &channel, &extent, 1};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        static uint64_t later;
        if (p->pe == 0) {
            ct_put_nbi(&at, 0, &round, sizeof round);
            uint64_t ticket = start(&channel, NULL);
            for (later = 0; !is_complete(&channel, ticket);) {
                ct_put_nbi(&at, 8, &later, sizeof later);
                sched_yield();
            }
            ct_quiet(p, &channel);
        }
        expect_word(p, &extent, 0, round);
    }
    ct_end(p, &extent, &channel);
}

/* ---- ISTHMUS_CHANNEL_PROXY ---- */

static void complete(struct ct_process *p, const struct ct_channel *channel)
{
    if (channel->ops.commit_start == NULL)
        ct_quiet(p, channel);
    else
        commit(channel, NULL);
}

static void go_there_and_back(const struct ct_target *at, uint64_t part, uint64_t round)
{
    enum { PART_BYTES = 4096 };
    uint8_t bytes[PART_BYTES], back[PART_BYTES];
    const struct ct_amo add = {
        .op = ISTHMUS_AMO_ADD, .bits = ISTHMUS_BITS64, .flags = ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI, .operand = 1};
    uint64_t from = part * (PART_BYTES + 8), old = round;
    size_t n = 1 + round * 37 % PART_BYTES;
    ct_pattern_fill(bytes, n, round + part);
    (round % 2 == 0 ? ct_put : ct_put_nbi)(at, from + 8, bytes, n);
    if (!ct_amo(at, from, &add, &old)) old = round - 1;
    complete(at->p, at->channel);
    CT_CHECK(old == round - 1, "round %llu: the fetched value is %llu, expected %llu", (unsigned long long)round,
             (unsigned long long)old, (unsigned long long)round - 1);
    memset(back, 0, n);
    (round % 3 == 0 ? ct_get : ct_get_nbi)(at, from + 8, back, n);
    complete(at->p, at->channel);
    CT_CHECK(memcmp(bytes, back, n) == 0, "round %llu: %zu bytes came back changed", (unsigned long long)round, n);
}

enum { PARTS_BYTES = 2 * (4096 + 8) };

/* The initiator never calls progress(). */
void ct_case_proxy_channel(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel, proxy;
    ct_begin(p, &extent, PARTS_BYTES, &channel);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, ISTHMUS_CHANNEL_PROXY, &proxy);
    struct ct_target at = {p, &proxy, &extent, 1};
    if (p->pe == 0) {
        ct_progress_stop(p);
        for (uint64_t round = 1; round <= 2 * ROUNDS; round++) go_there_and_back(&at, 0, round);
        ct_progress_start(p);
    }
    ct_meet(p);
    ct_channel_close(p, &proxy);
    ct_end(p, &extent, &channel);
}

struct caller {
    struct ct_process *p;
    const struct ct_channel *channel;
    const struct ct_extent *extent;
    uint64_t part;
    bool has_ended;
    pthread_t thread;
};

static void *call(void *argument)
{
    struct caller *c = argument;
    struct ct_target at = {c->p, c->channel, c->extent, 1 - c->p->pe};
    for (uint64_t round = 1; round <= 2 * ROUNDS; round++) go_there_and_back(&at, c->part, round);
    __atomic_store_n(&c->has_ended, true, __ATOMIC_RELEASE);
    return NULL;
}

/* The caller of a proxy's channel, the caller of another one, and a thread that makes progress. */
void ct_case_proxy_beside_progress(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel, proxy;
    ct_begin(p, &extent, PARTS_BYTES, &channel);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, ISTHMUS_CHANNEL_PROXY, &proxy);
    struct caller callers[2] = {{p, &proxy, &extent, 0, false, 0}, {p, &channel, &extent, 1, false, 0}};
    for (int i = 0; i < 2; i++) ct_thread_start(&callers[i].thread, call, &callers[i]);
    while (!__atomic_load_n(&callers[0].has_ended, __ATOMIC_ACQUIRE) ||
           !__atomic_load_n(&callers[1].has_ended, __ATOMIC_ACQUIRE))
        (void)ct_progress(p);
    for (int i = 0; i < 2; i++) pthread_join(callers[i].thread, NULL);
    ct_meet(p);
    ct_channel_close(p, &proxy);
    ct_end(p, &extent, &channel);
}

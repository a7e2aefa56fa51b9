/* tools/isthmus-check-transport/case_order.c: a fence for several peers at once, amid what another channel does, and a
 * commit. */
#include "cases.h"

#include <sched.h>
#include <string.h>

/* In every extent: the flag, the payload, and what the other channel writes. */
enum { WORD = 8, ROUNDS = 80, WORDS = 5, FLAG = 0, PAYLOAD = 64, OTHER = 128, BYTES = 192 };

/* The ways of payloads: those that leave the word as loads of its owner find it at any time. */
static const int ways[] = {CT_BY_PUT, CT_BY_PUT_NBI, CT_BY_SET, CT_BY_PUT_MORE};
enum { N_WAYS = sizeof ways / sizeof *ways };

static bool may_load_amos(const struct ct_target *at)
{
    return at->p->reach[at->pe].atomics_domain == ISTHMUS_DOMAIN_CPU;
}

static void write_word(const struct ct_target *at, uint64_t offset_bytes, int way, uint64_t value)
{
    if (way == CT_BY_SET && !may_load_amos(at)) way = CT_BY_PUT;
    if (!ct_write_word(&(struct ct_word){.at = *at, .offset_bytes = offset_bytes}, way, value))
        ct_put(at, offset_bytes, &value, sizeof value);
}

struct sender {
    struct ct_process *p;
    const struct ct_channel *channel, *other;
    struct ct_extent *extent;
};

static struct ct_target to(const struct sender *s, const struct ct_channel *channel, int i, uint64_t round)
{
    int pe = 1 + (int)(((uint64_t)i + round) % (uint64_t)(s->p->n - 1)); /* another one is the last in each round */
    return (struct ct_target){s->p, channel, s->extent, pe};
}

/* One word to each peer, then the next word to each; the other channel has the last word with each. */
static void send_payloads(const struct sender *s, uint64_t round)
{
    for (int word = 0; word < WORDS; word++)
        for (int i = 0; i < s->p->n - 1; i++) {
            struct ct_target at = to(s, s->channel, i, round), beside = to(s, s->other, i, round);
            write_word(&at, PAYLOAD + (uint64_t)word * WORD, ways[round % N_WAYS], round);
            if (round % 3 != 0) write_word(&beside, OTHER, CT_BY_PUT_NBI, round);
        }
}

/* Before anything else is written, which would start what is kept back. */
static void get_last_words(const struct sender *s, uint64_t round)
{
    for (int i = 0; i < s->p->n - 1; i++) {
        struct ct_target at = to(s, s->channel, i, round);
        uint64_t back = 0;
        ct_get(&at, PAYLOAD + (uint64_t)(WORDS - 1) * WORD, &back, sizeof back);
        CT_CHECK(back == round, "round %llu: a get behind a fence finds %llu where %llu was written before it",
                 (unsigned long long)round, (unsigned long long)back, (unsigned long long)round);
    }
}

static void send_round(const struct sender *s, uint64_t round)
{
    bool fences_all = round / N_WAYS % 2 == 0;
    send_payloads(s, round);
    if (fences_all) ct_fence(s->channel, NULL);
    if (fences_all && round % 3 == 0) get_last_words(s, round);
    for (int i = 0; i < s->p->n - 1; i++) {
        struct ct_target at = to(s, s->channel, i, round);
        if (!fences_all) ct_fence(s->channel, s->p->path[at.pe]);
        write_word(&at, FLAG, ways[round / 7 % N_WAYS], round);
    }
    ct_quiet(s->p, s->channel);
    ct_quiet(s->p, s->other);
}

static void receive_round(struct ct_extent *extent, uint64_t round)
{
    while (ct_extent_load(extent, FLAG) != round) sched_yield();
    for (int word = 0; word < WORDS; word++) {
        uint64_t came = ct_extent_load(extent, PAYLOAD + (uint64_t)word * WORD);
        CT_CHECK(came == round,
                 "round %llu: the flag is here, word %d that was written before the fence is of round %llu",
                 (unsigned long long)round, word, (unsigned long long)came);
    }
}

void ct_case_fence_of_all(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel, other;
    ct_begin(p, &extent, BYTES, &channel);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &other);
    const struct sender sender = {p, &channel, &other, &extent};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (p->pe == 0)
            send_round(&sender, round);
        else
            receive_round(&extent, round);
        ct_meet(p);
    }
    ct_channel_close(p, &other);
    ct_end(p, &extent, &channel);
}

/* ---- a commit for all of them ---- */

void ct_case_commit_of_all(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, BYTES, &channel);
    const struct sender sender = {p, &channel, NULL, &extent};
    for (uint64_t round = 1; round <= ROUNDS / 4; round++) {
        for (int i = 0; p->pe == 0 && i < p->n - 1; i++) {
            struct ct_target at = to(&sender, &channel, i, round);
            write_word(&at, FLAG, ways[round % N_WAYS], round);
        }
        if (p->pe == 0) ct_quiet(p, &channel);
        ct_meet(p);
        uint64_t came = p->pe == 0 ? round : ct_extent_load(&extent, FLAG);
        CT_CHECK(came == round, "round %llu: the word is of round %llu after the commit", (unsigned long long)round,
                 (unsigned long long)came);
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

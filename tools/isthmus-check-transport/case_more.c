/* tools/isthmus-check-transport/case_more.c: short puts that may share messages. */
#include "cases.h"

#include <sched.h>
#include <string.h>

enum {
    ROUNDS = 60,
    PIECES = 40,
    MOST_BYTES = CT_MOST_MORE_BYTES,
    FLAG = 0,
    DATA = 8,
    DATA_BYTES = PIECES * MOST_BYTES
};

/* Returns how many bytes piece i has: from 1 on, also odd numbers, and more than is likely to share a message. */
static size_t length_of(size_t i) { return i % 8 == 7 ? MOST_BYTES - i : i % 4 * 8 + i % 3 + 1; }

static void put_pieces(const struct ct_target *at, uint64_t round)
{
    static uint8_t bytes[DATA_BYTES];
    ct_pattern_fill(bytes, sizeof bytes, round);
    for (size_t i = 0, begin = 0; i < PIECES; begin += length_of(i++))
        ct_put_more(at, DATA + begin, bytes + begin, length_of(i));
}

static size_t all_bytes(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < PIECES; i++) sum += length_of(i);
    return sum;
}

static size_t first_wrong(struct ct_extent *extent, uint64_t round)
{
    return ct_pattern_check(ct_extent_view(extent, DATA, all_bytes()), all_bytes(), round);
}

/* After post they arrive without any other call, after quiet they are there; a fence lies between them and the flag. */
static void send(const struct ct_target *at, uint64_t round)
{
    put_pieces(at, round);
    if (round % 3 == 0) ct_post(at->channel);
    if (round % 3 == 1) ct_quiet(at->p, at->channel);
    if (round % 3 != 2) return;
    CT_OK(at->channel->ops.fence(at->channel->chan, at->p->path[at->pe]));
    ct_put_more(at, FLAG, &round, sizeof round);
    ct_post(at->channel);
}

static void receive(struct ct_extent *extent, uint64_t round)
{
    while (round % 3 == 0 && first_wrong(extent, round) < all_bytes()) sched_yield();
    while (round % 3 == 2 && ct_extent_load(extent, FLAG) != round) sched_yield();
    size_t wrong = first_wrong(extent, round);
    CT_CHECK(wrong == all_bytes(), "round %llu: byte %zu of %zu is not there after %s", (unsigned long long)round,
             wrong, all_bytes(), round % 3 == 1 ? "remote_commit" : "what follows a fence");
}

void ct_case_put_more(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, DATA + DATA_BYTES, &channel);
    if (channel.ops.put_more == NULL) ct_skip("%s has no put_more", p->t->name);
    const struct ct_target at = {p, &channel, &extent, 1};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (p->pe == 0) send(&at, round);
        if (round % 3 == 1) ct_meet(p);
        if (p->pe == 1) receive(&extent, round);
        ct_meet(p);
    }
    ct_end(p, &extent, &channel);
}

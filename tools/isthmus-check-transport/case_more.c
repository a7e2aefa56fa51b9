/* tools/isthmus-check-transport/case_more.c: short puts that may share messages. */
#include "cases.h"

#include <sched.h>
#include <string.h>

enum { ROUNDS = 60, PIECES = 40, MOST_BYTES = 400, FLAG = 0, DATA = 8, DATA_BYTES = PIECES * MOST_BYTES };

/* Returns how many bytes piece i has: from 1 on, also odd numbers, and more than is likely to share a message. */
static size_t length_of(size_t i) { return i % 8 == 7 ? MOST_BYTES - i : i % 4 * 8 + i % 3 + 1; }

/* The source is changed at once. What the transport declines is put by itself. */
static void put_more(const struct ct_target *at, uint64_t offset_bytes, const void *source, size_t length_bytes)
{
    static uint8_t own[MOST_BYTES];
    const struct isthmus_data_ops *ops = &at->channel->ops;
    memcpy(own, source, length_bytes);
    ct_enter("ops.put_more()");
    isthmus_status status = ops->put_more(at->channel->chan, at->p->path[at->pe], at->extent->rmem[at->pe],
                                          offset_bytes, own, NULL, length_bytes);
    if (status == ISTHMUS_ERR_UNSUPPORTED)
        ct_put(at, offset_bytes, own, length_bytes);
    else
        CT_OK_OF("put_more", status);
    memset(own, 0xee, sizeof own);
}

static void put_pieces(const struct ct_target *at, uint64_t round)
{
    static uint8_t bytes[DATA_BYTES];
    ct_pattern_fill(bytes, sizeof bytes, round);
    for (size_t i = 0, begin = 0; i < PIECES; begin += length_of(i++))
        put_more(at, DATA + begin, bytes + begin, length_of(i));
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

static void post(const struct ct_channel *channel)
{
    ct_enter("ops.post()");
    CT_OK_OF("post", channel->ops.post(channel->chan));
}

/* After post they arrive without any other call, after quiet they are there; a fence lies between them and the flag. */
static void send(const struct ct_target *at, uint64_t round)
{
    put_pieces(at, round);
    if (round % 3 == 0) post(at->channel);
    if (round % 3 == 1) ct_quiet(at->p, at->channel);
    if (round % 3 != 2) return;
    CT_OK(at->channel->ops.fence(at->channel->chan, at->p->path[at->pe]));
    put_more(at, FLAG, &round, sizeof round);
    post(at->channel);
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

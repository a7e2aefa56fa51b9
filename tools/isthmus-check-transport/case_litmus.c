/* tools/isthmus-check-transport/case_litmus.c: the smallest programs whose outcome shows whether order was kept. Each
 * runs many times without synchronization in between, on other words every time, so that all timings occur; outcomes
 * are compared at the end. */
#include "cases.h"

#include <sched.h>
#include <string.h>

enum { ROUNDS = 1000, CIRCLES = 250, WORD = 8, PAYLOAD_BYTES = 512, PATIENT_POLLS = 1 << 16 };

static void wait_word(struct ct_extent *extent, uint64_t offset_bytes, uint64_t value)
{
    while (ct_extent_load(extent, offset_bytes) < value) sched_yield();
}

static void put_word(const struct ct_target *at, uint64_t offset_bytes, uint64_t value)
{
    ct_put(at, offset_bytes, &value, sizeof value);
}

/* ---- message passing, where no fence is needed ---- */

void ct_case_litmus_ordered(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t payload[PAYLOAD_BYTES];
    struct ct_channel channel;
    ct_begin(p, &extent, PAYLOAD_BYTES + 2 * WORD, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    if ((p->reach[at.pe].caps & ISTHMUS_CAP_ORDERED) == 0) ct_skip("%s keeps order by fences only", p->t->name);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (p->pe == 0) {
            memset(payload, (int)(round % 251), sizeof payload);
            ct_put(&at, 2 * WORD, payload, round % 4 == 0 ? PAYLOAD_BYTES : 8);
            put_word(&at, 0, round);
            put_word(&at, WORD, round); /* a third one: the flag is not the newest put of the channel */
            wait_word(&extent, 0, round);
            continue;
        }
        wait_word(&extent, 0, round);
        size_t n_bytes = round % 4 == 0 ? PAYLOAD_BYTES : 8;
        const uint8_t *came = ct_extent_view(&extent, (uint64_t)2 * WORD, n_bytes);
        for (size_t i = 0; i < n_bytes; i++)
            CT_CHECK(came[i] == round % 251, "round %llu: the flag is here, byte %zu of what was put before it is not",
                     (unsigned long long)round, i);
        put_word(&at, 0, round);
        ct_quiet(p, &channel);
    }
    ct_end(p, &extent, &channel);
}

/* ---- message passing, by the slot put_signal ---- */

void ct_case_notify(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t payload[PAYLOAD_BYTES];
    struct ct_channel channel;
    ct_begin(p, &extent, PAYLOAD_BYTES + 2 * WORD, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    if (channel.ops.notify == NULL) ct_skip("%s has no notify", p->t->name);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (p->pe == 0) {
            memset(payload, (int)(round % 251), sizeof payload);
            ct_put_nbi(&at, 2 * WORD, payload, PAYLOAD_BYTES);
            CT_OK(channel.ops.notify(channel.chan, p->path[1], extent.rmem[1], 0, round << 32 | round));
            wait_word(&extent, 0, round << 32 | round);
            CT_OK(channel.ops.local_complete(channel.chan, NULL));
            continue;
        }
        wait_word(&extent, 0, round << 32);
        CT_CHECK(ct_extent_load(&extent, 0) == (round << 32 | round), "round %llu: the word is %#llx, expected %#llx",
                 (unsigned long long)round, (unsigned long long)ct_extent_load(&extent, 0),
                 (unsigned long long)(round << 32 | round));
        const uint8_t *came = ct_extent_view(&extent, (uint64_t)2 * WORD, PAYLOAD_BYTES);
        for (size_t i = 0; i < PAYLOAD_BYTES; i++)
            CT_CHECK(came[i] == round % 251, "round %llu: the word is here, byte %zu of what was put before it is not",
                     (unsigned long long)round, i);
        CT_OK(channel.ops.notify(channel.chan, p->path[0], extent.rmem[0], 0, round << 32 | round));
    }
    CT_OK(channel.ops.remote_commit(channel.chan, p->path[at.pe]));
    ct_end(p, &extent, &channel);
}

/* ---- one location ---- */

void ct_case_litmus_coherence(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, 2 * WORD, &channel);
    struct ct_target at = {p, &channel, &extent, 1};
    for (uint64_t value = 1; p->pe == 0 && value <= ROUNDS; value++) {
        put_word(&at, 0, value);
        CT_OK(channel.ops.fence(channel.chan, p->path[1]));
    }
    ct_quiet(p, &channel);
    uint64_t newest = 0;
    for (int i = 0; p->pe == 1 && i < PATIENT_POLLS && newest < ROUNDS; i++) {
        uint64_t seen = ct_extent_load(&extent, 0);
        CT_CHECK(seen >= newest, "the owner saw %llu after %llu", (unsigned long long)seen, (unsigned long long)newest);
        newest = seen;
    }
    ct_meet(p);
    if (p->pe == 1)
        CT_CHECK(ct_extent_load(&extent, 0) == ROUNDS, "%d was put last, %llu is there", ROUNDS,
                 (unsigned long long)ct_extent_load(&extent, 0));
    ct_end(p, &extent, &channel);
}

/* ---- store buffering: each puts to the other, commits, and reads its own word ---- */

void ct_case_litmus_commit(struct ct_process *p)
{
    static struct ct_extent extent;
    static uint8_t seen[ROUNDS];
    static struct ct_blob both[CT_MAX_PROCESSES];
    struct ct_channel channel;
    ct_begin(p, &extent, (size_t)ROUNDS * WORD, &channel);
    struct ct_target at = {p, &channel, &extent, 1 - p->pe};
    if (p->reach[at.pe].visibility != ISTHMUS_VISIBLE_EVERYONE) ct_skip("%s commits to the owner only", p->t->name);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        put_word(&at, i * WORD, 1);
        CT_OK(channel.ops.local_complete(channel.chan, NULL));
        CT_OK(channel.ops.remote_commit(channel.chan, i % 2 == 0 ? NULL : p->path[at.pe]));
        seen[i] = ct_extent_load(&extent, i * WORD) != 0;
    }
    ct_exchange(p, seen, sizeof seen, both);
    for (size_t i = 0; i < ROUNDS; i++)
        CT_CHECK(both[0].bytes[i] != 0 || both[1].bytes[i] != 0,
                 "round %zu: both have committed their puts, and neither finds the other's", i);
    ct_end(p, &extent, &channel);
}

/* ---- causality over three processes ---- */

void ct_case_litmus_causality(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, 4 * WORD, &channel);
    if (p->reach[2].visibility != ISTHMUS_VISIBLE_EVERYONE) ct_skip("%s commits to the owner only", p->t->name);
    for (uint64_t round = 1; round <= CIRCLES; round++) {
        struct ct_target next = {p, &channel, &extent, (p->pe + 1) % 3}, last = {p, &channel, &extent, 2};
        if (p->pe > 0) wait_word(&extent, 0, round); /* set by the process before */
        if (p->pe == 0) put_word(&last, WORD, round);
        if (p->pe == 2)
            CT_CHECK(ct_extent_load(&extent, WORD) == round,
                     "round %llu: process 1 reports that process 0 has committed its put; the word here is %llu",
                     (unsigned long long)round, (unsigned long long)ct_extent_load(&extent, WORD));
        if (p->pe > 2) continue;
        ct_quiet(p, &channel);
        put_word(&next, 0, round);
        ct_quiet(p, &channel);
        if (p->pe == 0) wait_word(&extent, 0, round); /* the circle is closed */
    }
    ct_end(p, &extent, &channel);
}

/* tools/isthmus-check-transport/case_never_waits.c: nonblocking slots while no process makes progress: what waits for a
 * reply, for room or for a flush behind a fence never returns. */
#include "cases.h"

#include <string.h>

enum { HELD_MS = 60, TARGET = 1, WORD = 8, MOST_CALLS = 600, FEW_CALLS = 50 };

enum kind { PUT, GET, ADD, SIGNAL, KINDS };

/* In words of the target's extent: those of the puts, of the gets, of the data of signals; what is added to; and what
 * goes before the fence. */
enum { GETS = MOST_CALLS, DATA = 2 * MOST_CALLS, SUM = 3 * MOST_CALLS, BELL, BEFORE, BESIDE, WORDS };

struct round {
    struct ct_target at;
    uint64_t number;
    int n_calls;
    int way; /* to write a word before a fence; CT_WAYS: neither, and no operation so far */
    bool is_nonblocking[KINDS];
};

static bool is_done[KINDS][MOST_CALLS];
static uint64_t sources[MOST_CALLS], fetched[MOST_CALLS], back[3 * MOST_CALLS + 2];

static isthmus_amo_fn add_of(const struct ct_channel *channel, uint32_t flags)
{
    return channel->ops.amo_entry(channel->chan, ISTHMUS_AMO_ADD, ISTHMUS_BITS64, ISTHMUS_AMO_FETCHING | flags);
}

/* A slot that is the blocking one, too, may block. */
static void find_nonblocking(struct round *r)
{
    const struct ct_channel *channel = r->at.channel;
    isthmus_amo_fn add = add_of(channel, ISTHMUS_AMO_NBI);
    r->is_nonblocking[PUT] = channel->ops.put_nbi != channel->ops.put;
    r->is_nonblocking[GET] = channel->ops.get_nbi != channel->ops.get;
    r->is_nonblocking[ADD] = add != NULL && add != add_of(channel, 0);
    r->is_nonblocking[SIGNAL] = channel->ops.put_signal != NULL;
}

static isthmus_status call_put_signal(const struct round *r, int i)
{
    const isthmus_rmem *rmem = r->at.extent->rmem[TARGET];
    const struct isthmus_put_signal what = {.struct_size = sizeof what,
                                            .flags = ISTHMUS_PUT_SIGNAL_NBI,
                                            .remote = rmem,
                                            .remote_offset_bytes = (uint64_t)(DATA + i) * WORD,
                                            .source = &sources[i],
                                            .length_bytes = WORD,
                                            .signal = rmem,
                                            .signal_offset_bytes = (uint64_t)BELL * WORD,
                                            .value = 1,
                                            .op = ISTHMUS_AMO_ADD};
    ct_enter("ops.put_signal()");
    return r->at.channel->ops.put_signal(r->at.channel->chan, r->at.p->path[TARGET], &what);
}

static isthmus_status call(const struct round *r, int kind, int i)
{
    const struct ct_channel *channel = r->at.channel;
    isthmus_path *path = r->at.p->path[TARGET];
    const isthmus_rmem *rmem = r->at.extent->rmem[TARGET];
    switch (kind) {
    case PUT:
        ct_enter("ops.put_nbi()");
        return channel->ops.put_nbi(channel->chan, path, rmem, (uint64_t)i * WORD, &sources[i], NULL, WORD);
    case GET:
        ct_enter("ops.get_nbi()");
        return channel->ops.get_nbi(channel->chan, path, rmem, (uint64_t)(GETS + i) * WORD, &back[GETS + i], NULL,
                                    WORD);
    case ADD:
        ct_enter("ops.amo_entry()");
        return add_of(channel, ISTHMUS_AMO_NBI)(channel->chan, path, rmem, (uint64_t)SUM * WORD, 1, 0, &fetched[i]);
    default: return call_put_signal(r, i);
    }
}

static void make_progress(const struct round *r)
{
    const struct ct_channel *channel = r->at.channel;
    if (channel->ops.poll != NULL) (void)channel->ops.poll(channel->chan);
    (void)ct_progress(r->at.p);
}

static void try(struct round *r, int kind, int i)
{
    static const char *const slots[KINDS] = {"put_nbi", "get_nbi", "amo_entry", "put_signal"};
    if (!r->is_nonblocking[kind] || is_done[kind][i]) return;
    isthmus_status status = call(r, kind, i);
    if (status == ISTHMUS_ERR_AGAIN) {
        make_progress(r);
        return;
    }
    if (kind == SIGNAL && status == ISTHMUS_ERR_UNSUPPORTED)
        r->is_nonblocking[SIGNAL] = false;
    else
        CT_OK_OF(slots[kind], status);
    is_done[kind][i] = true;
}

static void try_all(struct round *r)
{
    for (int i = 0; i < r->n_calls; i++)
        for (int kind = 0; kind < KINDS; kind++) try(r, kind, i);
}

/* ---- one round ---- */

static void begin_calls(struct round *r)
{
    memset(is_done, 0, sizeof is_done);
    memset(back, 0, sizeof back);
    for (int i = 0; i < r->n_calls; i++) sources[i] = r->number << 32 | (uint64_t)i;
}

static void write_before(const struct round *r)
{
    const struct ct_word word = {r->at, (uint64_t)BEFORE * WORD, (uint64_t)BESIDE * WORD};
    if (r->way == CT_WAYS) return;
    if (!ct_write_word(&word, r->way, r->number)) (void)ct_write_word(&word, CT_BY_PUT, r->number);
    ct_fence(r->at.channel, r->number % 2 == 0 ? NULL : r->at.p->path[TARGET]);
}

static void finish(struct round *r)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < r->n_calls; i++)
            while (r->is_nonblocking[kind] && !is_done[kind][i]) try(r, kind, i);
    ct_quiet(r->at.p, r->at.channel);
}

static void check_word(const struct round *r, int kind, int i, uint64_t is, uint64_t expected)
{
    static const char *const names[KINDS] = {"put_nbi", "get_nbi", "atomics", "put_signal"};
    CT_CHECK(!r->is_nonblocking[kind] || is == expected, "round %llu: word %d of %s is %llu in the end, expected %llu",
             (unsigned long long)r->number, i, names[kind], (unsigned long long)is, (unsigned long long)expected);
}

/* All of it: the values that the adds have fetched are those from `sum` on, in some order. */
static void check(const struct round *r, uint64_t sum)
{
    uint64_t n = (uint64_t)r->n_calls, all_fetched = 0;
    for (int i = 0; i < r->n_calls; i++) check_word(r, GET, i, back[GETS + i], (uint64_t)i + 1);
    ct_get(&r->at, 0, back, sizeof back);
    for (int i = 0; i < r->n_calls; i++) {
        check_word(r, PUT, i, back[i], sources[i]);
        check_word(r, SIGNAL, i, back[DATA + i], sources[i]);
        all_fetched += fetched[i];
    }
    check_word(r, SIGNAL, -1, back[BELL], sum + n);
    check_word(r, ADD, -1, back[SUM], sum + n);
    check_word(r, ADD, -2, all_fetched, n * sum + n * (n - 1) / 2);
}

/* What comes before, and the fence, may wait; where they do, the target goes on, and nothing is held back. */
static void run_round(struct round *r, uint64_t sum)
{
    struct ct_process *p = r->at.p;
    begin_calls(r);
    if (p->pe == TARGET) ct_progress_stop(p);
    ct_meet(p);
    if (p->pe != TARGET) write_before(r);
    ct_arrive(p);
    if (p->pe == TARGET && !ct_all_have_arrived(p, HELD_MS)) ct_progress_start(p);
    ct_leave_meeting(p);
    if (p->pe != TARGET) {
        ct_progress_stop(p);
        try_all(r);
    }
    ct_meet(p);
    if (!p->progress.is_running) ct_progress_start(p);
    if (p->pe != TARGET) {
        finish(r);
        check(r, sum);
    }
    ct_meet(p);
}

void ct_case_nbi_never_waits(struct ct_process *p)
{
    static const int ways[] = {CT_WAYS, CT_BY_SET, CT_BY_PUT_NBI, CT_BY_SWAP_NBI, CT_BY_SIGNAL_NBI, CT_BY_NOTIFY};
    static struct ct_extent extent;
    struct ct_channel channel;
    uint64_t sum = 0;
    ct_begin(p, &extent, (size_t)WORDS * WORD, &channel);
    struct round r = {.at = {p, &channel, &extent, TARGET}};
    find_nonblocking(&r);
    for (uint64_t i = 0; p->pe == TARGET && i < MOST_CALLS; i++)
        ct_extent_write(&extent, (GETS + i) * WORD, &(uint64_t){i + 1}, WORD);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        r.number = i;
        r.way = ways[i];
        r.n_calls = ways[i] == CT_BY_SET ? MOST_CALLS : FEW_CALLS;
        run_round(&r, sum);
        sum += (uint64_t)r.n_calls;
    }
    ct_end(p, &extent, &channel);
}

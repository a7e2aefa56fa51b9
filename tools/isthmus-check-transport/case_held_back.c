/* tools/isthmus-check-transport/case_held_back.c: commits while the target makes no progress. One that returns then has
 * found the data there, or is wrong; one that waits until the target goes on is right. */
#include "cases.h"

#include <sched.h>
#include <string.h>

enum { HELD_MS = 60, LONG_BYTES = 200000, WORD = 8, TARGET = 1 };

struct round {
    struct ct_process *p;
    const struct ct_channel *channel;
    struct ct_extent *extent;
    uint64_t number;
    int way; /* of the operation, or the size of a put */
    int how; /* it is committed */
};

/* ---- commits ---- */

enum { OF_ALL, OF_PATH, BY_TICKET, TICKET_OF_PATH, HOWS };

static void commit_by_ticket(const struct round *r, isthmus_path *path)
{
    const struct isthmus_data_ops *ops = &r->channel->ops;
    uint64_t ticket = 0;
    isthmus_status status;
    ct_enter("ops.commit_start()");
    while ((status = ops->commit_start(r->channel->chan, path, &ticket)) == ISTHMUS_ERR_AGAIN) sched_yield();
    CT_OK_OF("commit_start", status);
    ct_enter("ops.commit_test()");
    while ((status = ops->commit_test(r->channel->chan, ticket)) == ISTHMUS_ERR_AGAIN) sched_yield();
    CT_OK_OF("commit_test", status);
}

/* Returns false if the transport has no such slot, or the commit does not cover the operation: remote_commit of all
 * paths does not wait for a notify. */
static bool has_commit(const struct round *r)
{
    if (r->how >= BY_TICKET && r->channel->ops.commit_start == NULL) return false;
    return r->way != CT_BY_NOTIFY || r->how == OF_PATH || r->how == TICKET_OF_PATH;
}

static void commit(const struct round *r)
{
    isthmus_path *path = r->how == OF_PATH || r->how == TICKET_OF_PATH ? r->p->path[TARGET] : NULL;
    if (r->how >= BY_TICKET) {
        commit_by_ticket(r, path);
        return;
    }
    CT_OK(r->channel->ops.local_complete(r->channel->chan, path));
    CT_OK(r->channel->ops.remote_commit(r->channel->chan, path));
}

/* ---- one round ---- */

typedef void issue_fn(const struct round *r);
typedef void check_fn(const struct round *r, const char *when);

/* The commit has either returned before the target goes on, which then looks first, or the target does not look. */
static void run_round(const struct round *r, issue_fn *issue, check_fn *check)
{
    struct ct_process *p = r->p;
    if (p->pe == TARGET) ct_progress_stop(p);
    ct_meet(p);
    if (p->pe != TARGET) {
        issue(r);
        commit(r);
    }
    ct_arrive(p);
    if (p->pe == TARGET) {
        if (ct_all_have_arrived(p, HELD_MS))
            check(r, "after a commit that returned while this process made no progress");
        ct_progress_start(p);
    }
    ct_leave_meeting(p);
    if (p->pe == TARGET) check(r, "after the commit");
    ct_meet(p);
}

/* ---- puts of two sizes ---- */

static size_t size_of(const struct round *r) { return r->number % 2 == 0 ? WORD : LONG_BYTES; }

static void issue_put(const struct round *r)
{
    static uint8_t source[LONG_BYTES];
    const struct ct_target at = {r->p, r->channel, r->extent, TARGET};
    ct_pattern_fill(source, size_of(r), r->number);
    ct_put(&at, 0, source, size_of(r));
}

static void check_put(const struct round *r, const char *when)
{
    size_t size = size_of(r), wrong = ct_pattern_check(ct_extent_view(r->extent, 0, size), size, r->number);
    CT_CHECK(wrong == size, "byte %zu of %zu is not there %s", wrong, size, when);
}

void ct_case_commit_held_back(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, LONG_BYTES, &channel);
    struct round r = {.p = p, .channel = &channel, .extent = &extent};
    for (r.number = 1; r.number <= 4; r.number++) {
        r.how = r.number <= 2 ? OF_ALL : OF_PATH;
        run_round(&r, issue_put, check_put);
    }
    ct_end(p, &extent, &channel);
}

/* ---- a word, by every slot ---- */

static void issue_word(const struct round *r)
{
    const struct ct_word word = {{r->p, r->channel, r->extent, TARGET}, 0, WORD};
    ct_write_word(&word, r->way, r->number);
}

static void check_word(const struct round *r, const char *when)
{
    uint64_t came = ct_extent_load(r->extent, 0);
    CT_RULE(r->how >= BY_TICKET ? "commit_test" : "remote_commit", NULL, came == r->number,
            "the word of %s is not there %s", ct_way_name(r->way), when);
}

/* Both processes ask their own channel, which have the same slots. */
static bool is_possible(const struct round *r)
{
    const struct isthmus_data_ops *ops = &r->channel->ops;
    switch (r->way) {
    case CT_BY_SET: return ct_has_amo(r->channel, ISTHMUS_AMO_SET, ISTHMUS_BITS64, 0);
    case CT_BY_SWAP_NBI:
        return ct_has_amo(r->channel, ISTHMUS_AMO_SWAP, ISTHMUS_BITS64, ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI);
    case CT_BY_SIGNAL:
    case CT_BY_SIGNAL_NBI:
    case CT_BY_SIGNAL_DATA: return ops->put_signal != NULL;
    case CT_BY_NOTIFY: return ops->notify != NULL;
    case CT_BY_PUT_MORE: return ops->put_more != NULL;
    default: return true;
    }
}

static void write_each_way(struct round *r)
{
    for (r->way = 0; r->way < CT_WAYS; r->way++)
        for (r->how = r->way % 2; r->how < HOWS; r->how += 2) { /* half of the pairs: each round takes its time */
            if (!is_possible(r) || !has_commit(r)) continue;
            r->number++;
            run_round(r, issue_word, check_word);
        }
}

void ct_case_commit_of_each(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, 2 * WORD, &channel);
    struct round r = {.p = p, .channel = &channel, .extent = &extent};
    write_each_way(&r);
    ct_end(p, &extent, &channel);
}

/* ---- issued by another thread ---- */

static void *issue_here(void *argument)
{
    const struct round *r = argument;
    issue_word(r);
    return NULL;
}

static void issue_in_thread(const struct round *r)
{
    pthread_t thread;
    struct round copy = *r;
    ct_thread_start(&thread, issue_here, &copy);
    pthread_join(thread, NULL);
}

static void try_channel(struct ct_process *p, struct ct_extent *extent, uint32_t mode, uint64_t first)
{
    static const int ways[] = {CT_BY_PUT, CT_BY_PUT_NBI, CT_BY_SET};
    struct ct_channel channel;
    struct round r = {.p = p, .channel = &channel, .extent = extent, .number = first};
    ct_channel_open(p, mode, 0, &channel);
    for (int i = 0; i < 3; i++) {
        r.way = ways[i];
        for (r.how = OF_ALL; r.how <= BY_TICKET; r.how++) {
            if (!is_possible(&r) || !has_commit(&r)) continue;
            r.number++;
            run_round(&r, issue_in_thread, check_word);
        }
    }
    ct_channel_close(p, &channel);
}

/* Also a channel of one caller at a time: the threads take turns. */
void ct_case_commit_of_threads(struct ct_process *p)
{
    static struct ct_extent extent;
    struct ct_channel channel;
    ct_begin(p, &extent, 2 * WORD, &channel);
    try_channel(p, &extent, ISTHMUS_THREAD_ONE, 1);
    if (p->traits.shared_channels != 0) try_channel(p, &extent, ISTHMUS_THREAD_SHARED, 100);
    ct_end(p, &extent, &channel);
}

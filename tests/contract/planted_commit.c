/* tests/contract/planted_commit.c: see planted.h. Bugs of commits without a wait. With one of them nonblocking puts
 * wait until a commit, a quiet or a get of their channel, or until the channel's next put. */
#include "planted.h"

#include <string.h>

enum { CHANNELS = 64, MOST_BYTES = 1 << 15 };

static struct isthmus_data_ops base_ops;

/* ---- what a channel holds back ---- */

static struct held {
    isthmus_chan *chan;
    isthmus_path *path;
    const isthmus_rmem *remote;
    uint64_t offset_bytes;
    const void *source;
    size_t length_bytes;
    char copy[MOST_BYTES];
    uint64_t newest;          /* ticket */
    uint32_t n_puts, n_tests; /* since the last test; since the last start */
} channels[CHANNELS];

static int n_channels;
static uint64_t done_anywhere;

/* Loopback's channels are one object: those of this plugin are places in the table. */
static struct held *of(isthmus_chan *chan) { return (struct held *)(void *)chan; }

static void let_go(struct held *h)
{
    if (h->length_bytes > 0)
        (void)base_ops.put(h->chan, h->path, h->remote, h->offset_bytes, h->source, NULL, h->length_bytes);
    h->length_bytes = 0;
}

/* ---- the slots ---- */

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    return base_ops.put(of(chan)->chan, path, remote, offset_bytes, source, mem, length_bytes);
}

static isthmus_status put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    struct held *h = of(chan);
    bool copies = !planted_has("commit_reads_late");
    h->n_puts++;
    if (length_bytes > MOST_BYTES) return put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    if (!planted_has("ticket_alone")) let_go(h);
    h->path = path, h->remote = remote, h->offset_bytes = offset_bytes, h->length_bytes = length_bytes;
    h->source = copies ? memcpy(h->copy, source, length_bytes) : source;
    return copies ? ISTHMUS_OK : put(chan, path, remote, offset_bytes, source, mem, length_bytes);
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    if (!planted_has("commit_reads_late")) let_go(of(chan));
    return base_ops.get(of(chan)->chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

static isthmus_status order(isthmus_chan *chan, isthmus_path *path)
{
    let_go(of(chan));
    return base_ops.remote_commit(of(chan)->chan, path);
}

static isthmus_status commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    (void)path;
    struct held *h = of(chan);
    if (planted_has("start_waits")) planted_wait_for_progress();
    h->n_puts = h->n_tests = 0;
    h->newest++;
    *ticket = planted_has("tickets_fall") ? UINT64_MAX - h->newest : h->newest;
    return ISTHMUS_OK;
}

static isthmus_status commit_test(isthmus_chan *chan, uint64_t ticket)
{
    struct held *h = of(chan);
    uint32_t n_puts = h->n_puts;
    h->n_puts = 0;
    if (planted_has("test_waits")) planted_wait_for_progress();
    if (planted_has("never_done")) return ISTHMUS_ERR_AGAIN;
    if (planted_has("commit_starves") && (h->n_tests++ == 0 || n_puts > 0)) return ISTHMUS_ERR_AGAIN;
    if (planted_has("ticket_elsewhere") && done_anywhere >= ticket) return ISTHMUS_OK;
    if (planted_has("lost_ticket") && ticket % 4 == 3) return ISTHMUS_OK;
    if (!planted_has("early_ticket") && !planted_has("commit_reads_late")) let_go(h);
    if (done_anywhere < ticket) done_anywhere = ticket;
    return base_ops.remote_commit(h->chan, NULL);
}

static int32_t poll_one(isthmus_chan *chan)
{
    (void)chan;
    planted_wait_for_progress();
    return 0;
}

/* ---- channels ---- */

static isthmus_amo_fn no_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan, (void)op, (void)bits, (void)flags;
    return NULL;
}

static bool holds_back(void)
{
    static const char *const bugs[] = {"early_ticket",     "lost_ticket",   "never_done",   "commit_reads_late",
                                       "ticket_elsewhere", "ticket_alone",  "tickets_fall", "start_waits",
                                       "test_waits",       "commit_starves"};
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        if (planted_has(bugs[i])) return true;
    return false;
}

void planted_commit_slots(isthmus_chan **chan, struct isthmus_data_ops *ops)
{
    if (planted_has("half_a_commit")) ops->commit_test = NULL;
    if (planted_has("poll_waits")) ops->poll = poll_one;
    if (!holds_back() || n_channels == CHANNELS) return;
    base_ops = *ops;
    channels[n_channels].chan = *chan;
    *chan = (isthmus_chan *)(void *)&channels[n_channels++];
    ops->put = put;
    ops->put_nbi = put_nbi;
    ops->get = get;
    ops->get_nbi = get;
    ops->amo_entry = no_amo_entry;
    ops->fence = order;
    ops->local_complete = NULL;
    ops->remote_commit = order;
    ops->commit_start = commit_start;
    ops->commit_test = commit_test;
}

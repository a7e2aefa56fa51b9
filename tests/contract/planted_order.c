/* tests/contract/planted_order.c: see planted.h. Bugs of order towards several peers and of several channels: a short
 * put waits until a fence or a commit that covers it, or until the channel's next one to that peer, which overtakes
 * it. */
#include "planted.h"

#include <string.h>
#include <unistd.h>

enum { PATHS = 16, MOST_BYTES = 64, WINDOW_US = 3000, SLOW_CALLS = 60 };

static struct isthmus_data_ops base_ops;

/* Loopback's channels are one object: those of this plugin are numbers. */
static isthmus_chan *base_chan;
static char channels[PATHS];
static int n_channels;

static struct held {
    isthmus_path *path; /* NULL: nothing is held */
    isthmus_chan *chan;
    const isthmus_rmem *remote;
    uint64_t offset_bytes;
    size_t length_bytes;
    char copy[MOST_BYTES];
} all[PATHS];

static isthmus_path *last_path;
static isthmus_chan *last_chan;

static void let_go(struct held *h)
{
    if (h->path != NULL)
        (void)base_ops.put(base_chan, h->path, h->remote, h->offset_bytes, h->copy, NULL, h->length_bytes);
    h->path = NULL;
}

static struct held *of(isthmus_chan *chan, isthmus_path *path)
{
    struct held *free = NULL;
    for (int i = 0; i < PATHS; i++) {
        if (all[i].path == path && all[i].chan == chan) return &all[i];
        if (all[i].path == NULL) free = &all[i];
    }
    return free;
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    static int n_slow;
    struct held *h = of(chan, path);
    bool is_held = h != NULL && h->path == NULL && length_bytes <= MOST_BYTES;
    last_path = path;
    last_chan = chan;
    if (is_held) {
        *h = (struct held){path, chan, remote, offset_bytes, length_bytes, ""};
        memcpy(h->copy, source, length_bytes);
        return ISTHMUS_OK;
    }
    isthmus_status status = base_ops.put(base_chan, path, remote, offset_bytes, source, mem, length_bytes);
    if (h != NULL && h->path != NULL && ++n_slow <= SLOW_CALLS) usleep(WINDOW_US);
    if (h != NULL) let_go(h);
    return status;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    (void)chan;
    return base_ops.get(base_chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

static isthmus_amo_fn no_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan, (void)op, (void)bits, (void)flags;
    return NULL;
}

static isthmus_status fence(isthmus_chan *chan, isthmus_path *path)
{
    bool of_last_path = planted_has("fence_of_last_path") && path == NULL;
    if (planted_has("fence_of_last_channel") && chan != last_chan) return ISTHMUS_OK;
    for (int i = 0; i < PATHS; i++)
        if (path == NULL ? !of_last_path || all[i].path == last_path : all[i].path == path) let_go(&all[i]);
    return ISTHMUS_OK;
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    for (int i = 0; i < PATHS; i++) let_go(&all[i]);
    return base_ops.remote_commit(base_chan, NULL);
}

void planted_order_slots(isthmus_chan **chan, struct isthmus_data_ops *ops)
{
    if (!planted_has("fence_of_last_path") && !planted_has("fence_of_last_channel")) return;
    base_ops = *ops;
    base_chan = *chan;
    *chan = (isthmus_chan *)(void *)&channels[n_channels++ % PATHS];
    ops->put = ops->put_nbi = put;
    ops->get = ops->get_nbi = get;
    ops->amo_entry = no_amo_entry;
    ops->fence = fence;
    ops->remote_commit = remote_commit;
    ops->local_complete = NULL;
}

/* tests/contract/planted_held.c: see planted.h. Bugs of commits that overlook operations: the one operation that is
 * overlooked waits until the next call but a commit. */
#include "planted.h"

#include <pthread.h>
#include <string.h>

enum { MOST_BYTES = 64 };

static struct isthmus_data_ops base_ops;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    isthmus_chan *chan;
    isthmus_path *path;
    const isthmus_rmem *remote, *signal;
    uint64_t offset_bytes, signal_offset_bytes, value;
    size_t length_bytes; /* of the put */
    uint32_t op;
    bool has_update;
    pthread_t thread;
    char copy[MOST_BYTES];
} held;

static void let_go(void)
{
    pthread_mutex_lock(&lock);
    if (held.length_bytes > 0)
        (void)base_ops.put(held.chan, held.path, held.remote, held.offset_bytes, held.copy, NULL, held.length_bytes);
    if (held.has_update)
        (void)base_ops.amo_entry(held.chan, held.op, ISTHMUS_BITS64, 0)(held.chan, held.path, held.signal,
                                                                        held.signal_offset_bytes, held.value, 0, NULL);
    held.length_bytes = 0;
    held.has_update = false;
    pthread_mutex_unlock(&lock);
}

static void hold_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                     const void *source, size_t length_bytes)
{
    held.chan = chan, held.path = path, held.remote = remote, held.offset_bytes = offset_bytes;
    held.length_bytes = length_bytes;
    held.thread = pthread_self();
    memcpy(held.copy, source, length_bytes);
}

static void hold_update(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                        uint32_t op, uint64_t value)
{
    held.chan = chan, held.path = path, held.signal = remote, held.signal_offset_bytes = offset_bytes;
    held.op = op, held.value = value;
    held.has_update = true;
}

/* ---- the slots ---- */

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    let_go();
    if (!planted_has("commit_of_one_thread") || length_bytes > MOST_BYTES)
        return base_ops.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    hold_put(chan, path, remote, offset_bytes, source, length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    let_go();
    return base_ops.get(chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

static isthmus_status notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             uint64_t value)
{
    let_go();
    hold_put(chan, path, remote, offset_bytes, &value, sizeof value);
    return ISTHMUS_OK;
}

static isthmus_status put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    let_go();
    if (what->length_bytes > MOST_BYTES) return ISTHMUS_ERR_UNSUPPORTED;
    hold_put(chan, path, what->remote, what->remote_offset_bytes, what->source, what->length_bytes);
    hold_update(chan, path, what->signal, what->signal_offset_bytes, what->op, what->value);
    return ISTHMUS_OK;
}

static isthmus_status set(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          uint64_t operand, uint64_t compare, void *fetched)
{
    (void)compare, (void)fetched;
    let_go();
    hold_update(chan, path, remote, offset_bytes, ISTHMUS_AMO_SET, operand);
    return ISTHMUS_OK;
}

static isthmus_amo_fn amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    if (op == ISTHMUS_AMO_SET && bits == ISTHMUS_BITS64 && flags == 0) return set;
    return base_ops.amo_entry(chan, op, bits, flags);
}

static isthmus_status fence(isthmus_chan *chan, isthmus_path *path)
{
    let_go();
    return base_ops.fence(chan, path);
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    if (planted_has("commit_of_one_thread") && pthread_equal(held.thread, pthread_self())) let_go();
    return base_ops.remote_commit(chan, path);
}

void planted_held_slots(struct isthmus_data_ops *ops)
{
    bool is_amos = planted_has("amos_uncounted"), is_signals = planted_has("signals_uncounted");
    bool is_notifies = planted_has("notifies_uncounted");
    if (!is_amos && !is_signals && !is_notifies && !planted_has("commit_of_one_thread")) return;
    base_ops = *ops;
    ops->put = ops->put_nbi = put;
    ops->get = ops->get_nbi = get;
    ops->fence = fence;
    ops->remote_commit = remote_commit;
    if (is_amos) ops->amo_entry = amo_entry;
    if (is_signals) ops->put_signal = put_signal;
    if (is_notifies) ops->notify = notify;
}

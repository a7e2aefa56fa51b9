/* tests/contract/planted_small.c: see planted.h. Small bugs, each of one slot. A put or a get that is kept waits until
 * the next call that would have to come after it, but for the one that the bug forgets. */
#include "planted.h"

#include <string.h>

enum { MOST_BYTES = 4096, HANDLES = 64 };

static struct isthmus_data_ops base_ops;

static struct {
    isthmus_chan *chan;
    isthmus_path *path;
    const isthmus_rmem *remote;
    uint64_t offset_bytes;
    size_t length_bytes; /* 0: nothing is kept */
    const void *source;
    void *dest; /* NULL: it is a put */
    char copy[MOST_BYTES];
} kept;

static void let_go(void)
{
    size_t n = kept.length_bytes;
    kept.length_bytes = 0;
    if (n > 0 && kept.dest != NULL)
        (void)base_ops.get(kept.chan, kept.path, kept.remote, kept.offset_bytes, kept.dest, NULL, n);
    else if (n > 0)
        (void)base_ops.put(kept.chan, kept.path, kept.remote, kept.offset_bytes, kept.source, NULL, n);
}

static void keep(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                 const void *source, void *dest, size_t length_bytes)
{
    let_go();
    kept.chan = chan, kept.path = path, kept.remote = remote, kept.offset_bytes = offset_bytes;
    kept.length_bytes = length_bytes, kept.source = source, kept.dest = dest;
    if (source != NULL && !planted_has("reads_small_late")) kept.source = memcpy(kept.copy, source, length_bytes);
}

/* ---- detached handles ---- */

static struct {
    const isthmus_rmem *rmem;
    uint8_t key[ISTHMUS_KEY_MAX_BYTES];
    size_t key_bytes;
    bool is_dead;
} handles[HANDLES];

void planted_attached(const isthmus_rmem *rmem, const void *key, size_t key_bytes)
{
    for (int i = 0; planted_has("detach_frees_all") && i < HANDLES; i++) {
        if (handles[i].rmem != NULL) continue;
        handles[i].rmem = rmem;
        handles[i].key_bytes = key_bytes;
        handles[i].is_dead = false;
        memcpy(handles[i].key, key, key_bytes);
        return;
    }
}

static int handle_of(const isthmus_rmem *rmem)
{
    int i = 0;
    while (i < HANDLES - 1 && handles[i].rmem != rmem) i++;
    return i;
}

void planted_detached(const isthmus_rmem *rmem)
{
    int own = handle_of(rmem);
    if (!planted_has("detach_frees_all") || rmem == NULL) return;
    for (int i = 0; i < HANDLES; i++)
        if (handles[i].rmem != NULL && handles[i].key_bytes == handles[own].key_bytes &&
            memcmp(handles[i].key, handles[own].key, handles[own].key_bytes) == 0)
            handles[i].is_dead = true;
    handles[own].rmem = NULL;
}

/* ---- the slots ---- */

static bool has_several; /* peers have been put to since the last commit */

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    bool keeps = planted_has("reads_small_late") || planted_has("gets_overtake") || planted_has("commit_skips_last");
    if (planted_has("detach_frees_all") && handles[handle_of(remote)].is_dead) return ISTHMUS_OK;
    has_several |= kept.length_bytes > 0 && kept.path != path;
    let_go();
    if (!keeps || length_bytes > MOST_BYTES)
        return base_ops.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
    keep(chan, path, remote, offset_bytes, source, NULL, length_bytes);
    return ISTHMUS_OK;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    if (!planted_has("gets_overtake")) let_go();
    return base_ops.get(chan, path, remote, offset_bytes, dest, mem, length_bytes);
}

static isthmus_status get_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    if (!planted_has("get_nbi_early")) return get(chan, path, remote, offset_bytes, dest, mem, length_bytes);
    keep(chan, path, remote, offset_bytes, NULL, dest, length_bytes);
    return ISTHMUS_OK;
}

/* A second notify in place of one that has not gone. */
static isthmus_status notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             uint64_t value)
{
    bool replaces = kept.length_bytes == sizeof value && kept.path == path && kept.offset_bytes != offset_bytes;
    if (planted_has("notify_replaces") && replaces) kept.length_bytes = 0;
    keep(chan, path, remote, offset_bytes, &value, NULL, sizeof value);
    return ISTHMUS_OK;
}

static isthmus_status fence(isthmus_chan *chan, isthmus_path *path)
{
    if (!planted_has("gets_overtake")) let_go();
    return base_ops.fence(chan, path);
}

static isthmus_status nothing_left(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    return ISTHMUS_OK;
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    bool skips = planted_has("commit_skips_last") && path == NULL && has_several;
    has_several = false;
    if (!planted_has("reads_small_late") && !skips) let_go();
    return base_ops.remote_commit(chan, path);
}

/* ---- atomics ---- */

static isthmus_status swap_new(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    isthmus_status status = base_ops.amo_entry(chan, ISTHMUS_AMO_SWAP, ISTHMUS_BITS64, ISTHMUS_AMO_FETCHING)(
        chan, path, remote, offset_bytes, operand, compare, fetched);
    memcpy(fetched, &operand, sizeof operand);
    return status;
}

static isthmus_status compare_64(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                 uint64_t offset_bytes, uint64_t operand, uint64_t compare, void *fetched)
{
    uint64_t word = 0;
    (void)base_ops.get(chan, path, remote, offset_bytes / 8 * 8, &word, NULL, sizeof word);
    uint64_t shift = offset_bytes % 8 * 8;
    if (word >> shift != compare) operand = (uint32_t)(word >> shift);
    return base_ops.amo_entry(chan, ISTHMUS_AMO_SWAP, ISTHMUS_BITS32,
                              ISTHMUS_AMO_FETCHING)(chan, path, remote, offset_bytes, operand, 0, fetched);
}

static isthmus_amo_fn amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    let_go();
    if (planted_has("swap_is_new") && op == ISTHMUS_AMO_SWAP && bits == ISTHMUS_BITS64 && flags != 0) return swap_new;
    if (planted_has("compares_64") && op == ISTHMUS_AMO_COMPARE_SWAP && bits == ISTHMUS_BITS32 && flags != 0)
        return compare_64;
    return base_ops.amo_entry(chan, op, bits, flags);
}

void planted_small_slots(struct isthmus_data_ops *ops)
{
    static const char *const bugs[] = {"get_nbi_early",   "commit_skips_last", "swap_is_new",      "compares_64",
                                       "notify_replaces", "detach_frees_all",  "reads_small_late", "gets_overtake"};
    bool is_here = false;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) is_here |= planted_has(bugs[i]);
    if (!is_here) return;
    base_ops = *ops;
    ops->put = ops->put_nbi = put;
    ops->get = get;
    ops->get_nbi = get_nbi;
    ops->amo_entry = amo_entry;
    ops->fence = fence;
    ops->local_complete = nothing_left;
    ops->remote_commit = remote_commit;
    ops->commit_start = NULL;
    ops->commit_test = NULL;
    if (planted_has("notify_replaces")) ops->notify = notify;
}

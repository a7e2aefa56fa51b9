/* tests/contract/planted_more.c: see planted.h. Bugs of puts that may share messages. Loopback lacks these slots: they
 * exist with these bugs only. */
#include "planted.h"

#include <string.h>

enum { MOST_PUTS = 256, MOST_BYTES = 64 };

static struct isthmus_data_ops base_ops;

static struct kept {
    isthmus_path *path;
    const isthmus_rmem *remote;
    uint64_t offset_bytes;
    const void *source;
    size_t length_bytes;
    char copy[MOST_BYTES];
} kept[MOST_PUTS];
static size_t n_kept;

static isthmus_status put_more(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                               uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                               size_t length_bytes)
{
    (void)chan, (void)source_mem;
    if (length_bytes > MOST_BYTES || n_kept == MOST_PUTS) return ISTHMUS_ERR_UNSUPPORTED;
    kept[n_kept] = (struct kept){path, remote, remote_offset_bytes, source, length_bytes, ""};
    memcpy(kept[n_kept].copy, source, length_bytes);
    n_kept++;
    return ISTHMUS_OK;
}

static isthmus_status post(isthmus_chan *chan)
{
    isthmus_status status = ISTHMUS_OK;
    size_t n = planted_has("more_lost") && n_kept > 0 ? n_kept - 1 : n_kept;
    for (size_t i = 0; i < n && status == ISTHMUS_OK; i++)
        status = base_ops.put(chan, kept[i].path, kept[i].remote, kept[i].offset_bytes,
                              planted_has("more_reads_late") ? kept[i].source : kept[i].copy, NULL,
                              kept[i].length_bytes);
    n_kept = 0;
    return status;
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    isthmus_status status = planted_has("more_uncommitted") ? ISTHMUS_OK : post(chan);
    if (status != ISTHMUS_OK || base_ops.remote_commit == NULL) return status;
    return base_ops.remote_commit(chan, path);
}

void planted_more_slots(struct isthmus_data_ops *ops)
{
    static const char *const bugs[] = {"more_reads_late", "more_lost", "more_uncommitted", "half_a_post"};
    base_ops = *ops;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        if (!planted_has(bugs[i])) continue;
        ops->put_more = put_more;
        ops->post = planted_has("half_a_post") ? NULL : post;
        ops->remote_commit = remote_commit;
    }
}

/* plugins/ofi/ofi_data.c: channels, puts and gets. To the own PE these are copies. */
#include "ofi.h"

#include <isthmus/copy_cpu.h>
#include <stdlib.h>
#include <string.h>

static uint32_t kind_of(const isthmus_lmem *lmem) { return lmem != NULL ? lmem->kind : ISTHMUS_MEM_HOST; }

/* Between this PE's own memories. */
static isthmus_status copy_here(isthmus_tr *tr, void *dest, uint32_t dest_kind, const void *source,
                                uint32_t source_kind, size_t n_bytes)
{
    return ofi_copy(tr, dest_kind != ISTHMUS_MEM_HOST ? dest_kind : source_kind, dest, source, n_bytes);
}

/* Returns true if messages carry this put or get: the adapter does not reach one side's memory. */
static bool goes_by_messages(const isthmus_rmem *remote, const isthmus_lmem *local)
{
    return !remote->has_rma || (kind_of(local) != ISTHMUS_MEM_HOST && local->mr == NULL);
}

/* ---- puts ---- */

static isthmus_status put_by_messages(isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                                      const void *source, const isthmus_lmem *source_mem, size_t length_bytes,
                                      bool waits)
{
    isthmus_status status = ISTHMUS_OK;
    for (size_t done = 0, n; done < length_bytes && status == ISTHMUS_OK; done += n) {
        n = length_bytes - done < OFI_DATA_BYTES ? length_bytes - done : OFI_DATA_BYTES;
        /* A word that a PE may wait for does not arrive in two messages. */
        if (done + n < length_bytes) n -= (offset_bytes + done + n) % 8;
        const struct ofi_place place = {remote->extent, offset_bytes + done};
        struct ofi_message put = {.head = {.kind = OFI_PUT, .call = OFI_NO_CALL},
                                  .body = &place,
                                  .body_bytes = sizeof place,
                                  .data = (const char *)source + done,
                                  .data_bytes = (uint32_t)n,
                                  .data_kind = kind_of(source_mem)};
        status = waits || done > 0 ? ofi_request(path, &put) : ofi_request_try(path, &put);
    }
    return status;
}

static isthmus_status start_put(isthmus_chan *chan, struct ofi_access *a)
{
    isthmus_tr *tr = chan->tr;
    if (a->remote->own != NULL)
        return copy_here(tr, a->remote->own + a->offset_bytes, a->remote->kind, a->local, kind_of(a->local_mem),
                         a->length_bytes);
    ofi_lock(tr);
    isthmus_status status;
    if (a->length_bytes <= tr->put_message_bytes || goes_by_messages(a->remote, a->local_mem)) {
        status = put_by_messages(a->path, a->remote, a->offset_bytes, a->local, a->local_mem, a->length_bytes,
                                 a->waits);
    } else {
        a->is_copied = a->waits && a->length_bytes <= OFI_MESSAGE_BYTES && kind_of(a->local_mem) == ISTHMUS_MEM_HOST;
        if (!a->waits || a->is_copied) a->chan = chan;
        status = ofi_access(a);
    }
    ofi_unlock(tr);
    return status;
}

static struct ofi_access write_of(isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                                  const void *source, const isthmus_lmem *source_mem, size_t length_bytes)
{
    return (struct ofi_access){.path = path,
                               .remote = remote,
                               .offset_bytes = offset_bytes,
                               .local = (void *)(uintptr_t)source,
                               .local_mem = source_mem,
                               .length_bytes = length_bytes,
                               .is_write = true};
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *source_mem, size_t length_bytes)
{
    struct ofi_access a = write_of(path, remote, offset_bytes, source, source_mem, length_bytes);
    a.waits = true;
    return start_put(chan, &a);
}

static isthmus_status put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const void *source, const isthmus_lmem *source_mem, size_t length_bytes)
{
    struct ofi_access a = write_of(path, remote, offset_bytes, source, source_mem, length_bytes);
    return start_put(chan, &a);
}

/* A word behind all that this channel has put there: a message, after the accesses before it. */
static isthmus_status notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             uint64_t value)
{
    isthmus_tr *tr = chan->tr;
    const struct ofi_place place = {remote->extent, offset_bytes};
    struct ofi_message word = {.head = {.kind = OFI_PUT, .call = OFI_NO_CALL},
                               .body = &place,
                               .body_bytes = sizeof place,
                               .data = &value,
                               .data_bytes = sizeof value,
                               .is_notice = true};
    if (remote->own != NULL) {
        isthmus_order_stores_();
        return copy_here(tr, remote->own + offset_bytes, remote->kind, &value, ISTHMUS_MEM_HOST, sizeof value);
    }
    ofi_lock(tr);
    isthmus_status status = ofi_await_accesses(chan);
    if (status == ISTHMUS_OK) status = ofi_request(path, &word);
    ofi_unlock(tr);
    return status;
}

/* ---- gets ---- */

/* Each message has a call, which counts once it is sent. */
static isthmus_status get_by_messages(const struct ofi_access *a, struct ofi_count *here)
{
    isthmus_path *path = a->path;
    struct ofi_wait wait = {.tr = path->tr, .path = path, .needs_room = true};
    isthmus_status status = ISTHMUS_OK;
    for (size_t done = 0, n = 0; done < a->length_bytes && status == ISTHMUS_OK; done += n) {
        n = a->length_bytes - done < OFI_DATA_BYTES ? a->length_bytes - done : OFI_DATA_BYTES;
        const struct ofi_get_body body = {{a->remote->extent, a->offset_bytes + done}, n};
        struct ofi_message get = {.head.kind = OFI_GET, .body = &body, .body_bytes = sizeof body, .is_notice = true};
        struct ofi_call *call;
        while ((call = ofi_call_take(path, NULL, &get.head.call)) == NULL && (a->waits || done > 0))
            ofi_wait_step(&wait);
        if (call == NULL) return ISTHMUS_ERR_AGAIN;
        call->dest = (char *)a->local + done;
        call->dest_bytes = (uint32_t)n;
        call->kind = kind_of(a->local_mem);
        while ((status = ofi_request_try(path, &get)) == ISTHMUS_ERR_AGAIN && (a->waits || done > 0))
            ofi_wait_step(&wait);
        if (status == ISTHMUS_OK) {
            call->count = ofi_access_count(a, here);
            call->count->n_pending++;
        } else if (call->path == path && call->dest == (char *)a->local + done) {
            call->is_used = false; /* otherwise the path was lost in a wait, which has ended the call, and it is
                                    * another thread's by now */
        }
    }
    ofi_wait_end(&wait);
    return status;
}

static isthmus_status start_get(isthmus_chan *chan, struct ofi_access *a)
{
    isthmus_tr *tr = chan->tr;
    struct ofi_count here = {0};
    if (a->remote->own != NULL)
        return copy_here(tr, a->local, kind_of(a->local_mem), a->remote->own + a->offset_bytes, a->remote->kind,
                         a->length_bytes);
    ofi_lock(tr);
    isthmus_status status;
    if (!a->waits) a->chan = chan;
    if (goes_by_messages(a->remote, a->local_mem)) {
        status = get_by_messages(a, &here);
        isthmus_status done = ofi_wait_for(tr, &here);
        if (status == ISTHMUS_OK) status = done;
    } else {
        status = ofi_access(a);
    }
    ofi_unlock(tr);
    return status;
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *dest_mem, size_t length_bytes)
{
    return start_get(chan, &(struct ofi_access){.path = path,
                                                .remote = remote,
                                                .offset_bytes = offset_bytes,
                                                .local = dest,
                                                .local_mem = dest_mem,
                                                .length_bytes = length_bytes,
                                                .waits = true});
}

static isthmus_status get_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              void *dest, const isthmus_lmem *dest_mem, size_t length_bytes)
{
    return start_get(chan, &(struct ofi_access){.path = path,
                                                .remote = remote,
                                                .offset_bytes = offset_bytes,
                                                .local = dest,
                                                .local_mem = dest_mem,
                                                .length_bytes = length_bytes});
}

/* ---- channels ---- */

/* One endpoint serves all channels, under one lock; each has counts of its own. */
isthmus_status ofi_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                struct isthmus_data_ops *ops)
{
    (void)thread_mode, (void)ctx_options;
    isthmus_chan *chan = calloc(1, sizeof *chan);
    if (chan == NULL) return tr->services->fail(tr->services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a channel");
    struct isthmus_data_ops all = {
        .put = put,
        .put_nbi = put_nbi,
        .get = get,
        .get_nbi = get_nbi,
        .amo_entry = ofi_amo_entry,
        .fence = ofi_fence,
        .local_complete = ofi_local_complete,
        .remote_commit = ofi_remote_commit,
        .notify = notify,
        .put_signal = ofi_put_signal,
        .commit_start = ofi_commit_start,
        .commit_test = ofi_commit_test,
    };
    if (tr->has_atomics) all.put_signal = NULL; /* a processor executes it, and would not exclude the provider */
    chan->tr = tr;
    isthmus_write_out(ops, &all, sizeof all);
    *out = chan;
    return ISTHMUS_OK;
}

static bool counts_in(const isthmus_chan *chan, const struct ofi_count *count)
{
    for (int i = 0; i < 2; i++)
        if (count == &chan->halves[i].local || count == &chan->halves[i].remote) return true;
    return false;
}

/* Operations under way keep their places until they end, since a completion or a reply would meet another operation
 * there; they count nowhere, and store nothing. */
void ofi_channel_close(isthmus_chan *chan)
{
    if (chan == NULL) return;
    isthmus_tr *tr = chan->tr;
    ofi_lock(tr);
    for (uint32_t i = 0; i < OFI_ACCESSES; i++) {
        struct ofi_op *op = &tr->accesses[i];
        if (!counts_in(chan, op->count)) continue;
        op->count = NULL;
        op->copy_to = NULL;
    }
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        struct ofi_call *call = &tr->calls[i];
        if (!call->is_used || !counts_in(chan, call->count)) continue;
        call->count = NULL;
        call->dest = NULL;
    }
    ofi_unlock(tr);
    free(chan);
}

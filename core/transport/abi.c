/* core/transport/abi.c: see abi.h: the main table and the data slots of a channel; extensions are abi_extensions.c.
 * A plugin of an older minor version has a shorter struct: the missing slots are absent. One of a newer minor version
 * has a longer one: slots unknown to us are ignored. */
#include "core/transport/abi.h"

#include <string.h>

/* ---- what absent cold slots become ---- */

static isthmus_status no_probe(const struct isthmus_services *services)
{
    (void)services;
    return ISTHMUS_OK;
}

static isthmus_status no_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    (void)tr, (void)buf;
    *length_bytes = 0;
    return ISTHMUS_OK;
}

static isthmus_status no_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                                   struct isthmus_mem *out)
{
    (void)tr, (void)device, (void)length_bytes, (void)out;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "this transport does not allocate memory of kind %u", kind);
}

static void no_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem) { (void)tr, (void)mem; }

static isthmus_status no_register_local(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    (void)tr, (void)mem;
    *out = NULL;
    return ISTHMUS_OK;
}

static void no_unregister_local(isthmus_lmem *mem) { (void)mem; }

static int32_t no_progress(isthmus_tr *tr)
{
    (void)tr;
    return 0;
}

static isthmus_status no_arm(isthmus_tr *tr, int32_t *event_fd)
{
    (void)tr;
    *event_fd = -1;
    return ISTHMUS_OK;
}

static isthmus_status no_counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n)
{
    (void)tr, (void)values;
    *names = NULL;
    *n = 0;
    return ISTHMUS_OK;
}

static const void *no_extension(isthmus_tr *tr, const char *name)
{
    (void)tr, (void)name;
    return NULL;
}

/* Returns the name of the first required slot that is missing, or NULL. */
static const char *missing_slot(const struct isthmus_transport *t)
{
    if (t->name == NULL) return "name";
    if (t->open == NULL) return "open";
    if (t->close == NULL) return "close";
    if (t->describe == NULL) return "describe";
    if (t->reach == NULL) return "reach";
    if (t->path_open == NULL) return "path_open";
    if (t->path_close == NULL) return "path_close";
    if (t->expose == NULL) return "expose";
    if (t->attach == NULL) return "attach";
    if (t->detach == NULL) return "detach";
    if (t->channel_open == NULL) return "channel_open";
    if (t->channel_close == NULL) return "channel_close";
    return NULL;
}

isthmus_status ist_abi_complete_transport(const struct isthmus_transport *theirs, struct isthmus_transport *out)
{
    struct isthmus_transport t;
    isthmus_read_in(&t, sizeof t, theirs);
    const char *missing = missing_slot(&t);
    if (missing != NULL) return ist_fail(ISTHMUS_ERR_INVALID, "its table lacks the required entry '%s'", missing);

    if (t.version == NULL) t.version = "?";
    if (t.scopes == 0) t.scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK;
    if (t.probe == NULL) t.probe = no_probe;
    if (t.card == NULL) t.card = no_card;
    if (t.mem_alloc == NULL) t.mem_alloc = no_mem_alloc;
    if (t.mem_free == NULL) t.mem_free = no_mem_free;
    if (t.register_local == NULL) t.register_local = no_register_local;
    if (t.unregister_local == NULL) t.unregister_local = no_unregister_local;
    if (t.progress == NULL) t.progress = no_progress;
    if (t.arm == NULL) t.arm = no_arm;
    if (t.counters == NULL) t.counters = no_counters;
    if (t.extension == NULL) t.extension = no_extension;
    *out = t;
    return ISTHMUS_OK;
}

/* ---- what absent data slots become ----
 * A blocking put is a legal put_nbi. The reverse would need a second slot of a table that an emulation cannot see, and
 * so the blocking forms are required. */

static isthmus_status nothing_to_order(isthmus_chan *chan, isthmus_path *path)
{
    (void)chan, (void)path;
    return ISTHMUS_OK;
}

static isthmus_amo_fn no_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags)
{
    (void)chan, (void)op, (void)bits, (void)flags;
    return NULL;
}

/* The core emulates it by a put, a fence and an atomic operation (core/ops/signal.c). */
static isthmus_status no_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    (void)chan, (void)path, (void)what;
    return ISTHMUS_ERR_UNSUPPORTED;
}

/* The core emulates it by a fence and a put (core/coll/wire.c). */
static isthmus_status no_notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                uint64_t remote_offset_bytes, uint64_t value)
{
    (void)chan, (void)path, (void)remote, (void)remote_offset_bytes, (void)value;
    return ISTHMUS_ERR_UNSUPPORTED;
}

/* Where nothing may wait, the core executes the blocking halves in a thread of its own (core/proxy/closer.c). */
static isthmus_status no_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    (void)chan, (void)path, (void)ticket;
    return ISTHMUS_ERR_UNSUPPORTED;
}

static isthmus_status no_commit_test(isthmus_chan *chan, uint64_t ticket)
{
    (void)chan, (void)ticket;
    return ISTHMUS_ERR_UNSUPPORTED;
}

/* Of a transport whose operations are complete on return. */
static isthmus_status nothing_to_commit(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    (void)chan, (void)path;
    *ticket = 1;
    return ISTHMUS_OK;
}

static isthmus_status always_committed(isthmus_chan *chan, uint64_t ticket)
{
    (void)chan, (void)ticket;
    return ISTHMUS_OK;
}

static int32_t nothing_to_poll(isthmus_chan *chan)
{
    (void)chan;
    return 0;
}

/* The core puts each by itself (core/ops/region.c). */
static isthmus_status no_put_more(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  uint64_t remote_offset_bytes, const void *source, const isthmus_lmem *source_mem,
                                  size_t length_bytes)
{
    (void)chan, (void)path, (void)remote, (void)remote_offset_bytes, (void)source, (void)source_mem, (void)length_bytes;
    return ISTHMUS_ERR_UNSUPPORTED;
}

static isthmus_status nothing_to_post(isthmus_chan *chan)
{
    (void)chan;
    return ISTHMUS_OK;
}

static const char *complete_batches(struct isthmus_data_ops *d)
{
    if (d->put_more != NULL && d->post == NULL) return "post";
    if (d->put_more == NULL && d->post != NULL) return "put_more";
    if (d->put_more != NULL) return NULL;
    d->put_more = no_put_more;
    d->post = nothing_to_post;
    return NULL;
}

static const char *complete_commits(struct isthmus_data_ops *d)
{
    if (d->commit_start != NULL && d->commit_test == NULL) return "commit_test";
    if (d->commit_start == NULL && d->commit_test != NULL) return "commit_start";
    if (d->commit_start != NULL) return NULL;
    bool is_immediate = d->local_complete == NULL && d->remote_commit == NULL;
    d->commit_start = is_immediate ? nothing_to_commit : no_commit_start;
    d->commit_test = is_immediate ? always_committed : no_commit_test;
    return NULL;
}

/* Returns the name of a required slot that is missing, or NULL. */
static const char *complete_data_ops(struct isthmus_data_ops *d)
{
    if (d->put == NULL) return "put";
    if (d->get == NULL) return "get";
    const char *missing = complete_commits(d);
    if (missing == NULL) missing = complete_batches(d);
    if (missing != NULL) return missing;
    if (d->put_nbi == NULL) d->put_nbi = d->put;
    if (d->get_nbi == NULL) d->get_nbi = d->get;
    if (d->amo_entry == NULL) d->amo_entry = no_amo_entry;
    if (d->fence == NULL && d->local_complete != NULL && d->remote_commit != NULL) return "fence";
    if (d->fence == NULL) d->fence = d->local_complete != NULL ? d->local_complete : d->remote_commit;
    if (d->fence == NULL) d->fence = nothing_to_order;
    if (d->local_complete == NULL) d->local_complete = nothing_to_order;
    if (d->remote_commit == NULL) d->remote_commit = nothing_to_order;
    if (d->notify == NULL) d->notify = no_notify;
    if (d->put_signal == NULL) d->put_signal = no_put_signal;
    if (d->poll == NULL) d->poll = nothing_to_poll;
    return NULL;
}

/* Requests every function once. One that is complete on return also serves as nbi; one that fetches also serves without
 * a fetch, with a word whose value is dropped. */
static void keep_amo_functions(struct ist_channel *channel)
{
    const struct isthmus_data_ops *d = &channel->ops;
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++)
        for (uint32_t bits = 0; bits < ISTHMUS_BITS_COUNT; bits++) {
            isthmus_amo_fn *by_flags = channel->amo[op][bits];
            for (uint32_t flags = 0; flags < 4; flags++) by_flags[flags] = d->amo_entry(channel->chan, op, bits, flags);
            if (by_flags[0] == NULL) by_flags[0] = by_flags[ISTHMUS_AMO_FETCHING];
            if (by_flags[ISTHMUS_AMO_NBI] == NULL) by_flags[ISTHMUS_AMO_NBI] = by_flags[0];
            uint32_t both = ISTHMUS_AMO_FETCHING | ISTHMUS_AMO_NBI;
            if (by_flags[both] == NULL) by_flags[both] = by_flags[ISTHMUS_AMO_FETCHING];
        }
}

isthmus_status ist_abi_channel_open(const struct isthmus_transport *ops, isthmus_tr *handle, uint32_t thread_mode,
                                    uint64_t ctx_options, struct ist_channel *out)
{
    struct ist_channel channel;
    memset(&channel, 0, sizeof channel);
    channel.ops.struct_size = sizeof channel.ops;
    isthmus_status status = ops->channel_open(handle, thread_mode, ctx_options, &channel.chan, &channel.ops);
    if (status != ISTHMUS_OK) return status;

    const char *missing = complete_data_ops(&channel.ops);
    if (missing != NULL) {
        ops->channel_close(channel.chan);
        return ist_fail(ISTHMUS_ERR_INVALID, "transport %s: its channel lacks the required entry '%s'", ops->name,
                        missing);
    }
    channel.has_commit = channel.ops.commit_start != no_commit_start;
    keep_amo_functions(&channel);
    *out = channel;
    return ISTHMUS_OK;
}

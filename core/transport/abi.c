/* core/transport/abi.c: see abi.h.
 * A plugin of an older minor version has a shorter struct: the missing slots are absent. One of a newer minor version
 * has a longer one: slots unknown to us are ignored. */
#include "core/transport/abi.h"

#include "core/base/log.h"

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

/* ---- what absent extensions and their slots become ---- */

static isthmus_status no_kind_of(isthmus_tr *tr, const void *addr, struct isthmus_mem *out)
{
    const struct isthmus_mem host = {.kind = ISTHMUS_MEM_HOST, .device = -1, .fd = -1};
    (void)tr, (void)addr;
    isthmus_write_out(out, &host, sizeof host);
    return ISTHMUS_OK;
}

static int32_t no_device(isthmus_tr *tr, uint32_t kind)
{
    (void)tr, (void)kind;
    return -1;
}

static isthmus_status no_device_view(const isthmus_rmem *remote, void **addr)
{
    (void)remote, (void)addr;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this memory does not map it into kernels");
}

static isthmus_status no_copy(isthmus_tr *tr, void *dest, const void *source, size_t length_bytes)
{
    (void)tr, (void)dest, (void)source, (void)length_bytes;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this memory does not copy it");
}

static isthmus_status no_memory_amo(isthmus_tr *tr, void *addr, uint32_t op, uint32_t bits, uint64_t operand,
                                    uint64_t compare, void *fetched)
{
    (void)tr, (void)addr, (void)op, (void)bits, (void)operand, (void)compare, (void)fetched;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this memory does not execute atomics on it");
}

static isthmus_status no_memory_amo_list(isthmus_tr *tr, const struct isthmus_memory_amo *list, uint32_t n)
{
    (void)tr, (void)list;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this memory does not execute %u atomics at once", n);
}

static const char *no_pci_address(isthmus_tr *tr, uint32_t kind)
{
    (void)tr, (void)kind;
    return NULL;
}

static isthmus_status nothing_to_flush(isthmus_tr *tr)
{
    (void)tr;
    return ISTHMUS_OK;
}

static isthmus_status no_reserve(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes, void **addr)
{
    (void)tr, (void)device, (void)length_bytes, (void)addr;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of memory of kind %u does not support growing it", kind);
}

static isthmus_status no_commit(isthmus_tr *tr, void *addr, uint64_t length_bytes, struct isthmus_mem *out)
{
    (void)tr, (void)length_bytes, (void)out;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of the memory at %p does not support growing it", addr);
}

static void no_unreserve(isthmus_tr *tr, void *addr, uint64_t length_bytes)
{
    (void)tr, (void)addr, (void)length_bytes;
}

static uint64_t no_granule(isthmus_tr *tr, uint32_t kind, int32_t device)
{
    (void)tr, (void)kind, (void)device;
    return 0;
}

static isthmus_status no_attach_at(isthmus_path *path, const void *key, size_t key_bytes, void *addr,
                                   isthmus_rmem **out)
{
    (void)path, (void)key, (void)key_bytes, (void)out;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this memory does not attach it at a given address (%p)",
                    addr);
}

static isthmus_status nothing_to_complete(isthmus_tr *tr)
{
    (void)tr;
    return ISTHMUS_OK;
}

static isthmus_status no_words(isthmus_tr *tr, void *stream, const struct isthmus_stream_word *list, uint32_t n)
{
    (void)tr, (void)stream, (void)list, (void)n;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the streams of this transport cannot write words");
}

static uint32_t never_idle(isthmus_tr *tr, isthmus_chan *chan)
{
    (void)tr, (void)chan;
    return 0;
}

static isthmus_status no_host_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr, void **view)
{
    (void)tr, (void)length_bytes, (void)addr, (void)view;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this device does not allocate memory for kernels");
}

static isthmus_status no_device_alloc(isthmus_tr *tr, uint64_t length_bytes, void **addr)
{
    void *view;
    return no_host_alloc(tr, length_bytes, addr, &view);
}

static void no_free(isthmus_tr *tr, void *addr) { (void)tr, (void)addr; }

static isthmus_status no_find(isthmus_tr *tr, uint32_t code, void *handle, const char *name, void **addr,
                              uint64_t *length_bytes)
{
    (void)tr, (void)code, (void)handle, (void)addr, (void)length_bytes;
    return ist_fail(ISTHMUS_ERR_UNSUPPORTED, "the transport of this device does not search loaded code for %s", name);
}

static isthmus_status plain_call(isthmus_tr *tr, void (*function)(void *argument), void *argument)
{
    (void)tr;
    function(argument);
    return ISTHMUS_OK;
}

static uint32_t no_devices(isthmus_tr *tr)
{
    (void)tr;
    return 0;
}

static void no_description(isthmus_tr *tr, uint32_t index, struct isthmus_device *out)
{
    (void)tr, (void)index, (void)out;
}

static void no_library(isthmus_tr *tr, struct isthmus_library_info *out) { (void)tr, (void)out; }

static const char *missing_in_memory(const struct isthmus_memory *m)
{
    if (m->kind_of == NULL) return "kind_of";
    if (m->device == NULL) return "device";
    if (m->device_view == NULL) return "device_view";
    return m->copy == NULL ? "copy" : NULL;
}

static const char *missing_in_growing(const struct isthmus_growing *g)
{
    if (g->reserve == NULL) return "reserve";
    if (g->commit == NULL) return "commit";
    if (g->unreserve == NULL) return "unreserve";
    return g->granule == NULL ? "granule" : NULL;
}

static const char *missing_in_stream(const struct isthmus_stream *s)
{
    if (s->put == NULL) return "put";
    if (s->get == NULL) return "get";
    if (s->amo == NULL) return "amo";
    if (s->wait_until == NULL) return "wait_until";
    return s->host_function == NULL ? "host_function" : NULL;
}

static const char *missing_in_kernels(const struct isthmus_kernels *k)
{
    if (k->host_alloc == NULL) return "host_alloc";
    if (k->host_free == NULL) return "host_free";
    if (k->device_alloc == NULL) return "device_alloc";
    return k->device_free == NULL ? "device_free" : NULL;
}

static const char *missing_in_collectives(const struct isthmus_collectives *c)
{
    if (c->prepare == NULL) return "prepare";
    if (c->flag_words == NULL) return "flag_words";
    return c->enqueue == NULL ? "enqueue" : NULL;
}

static const char *missing_in_devices(const struct isthmus_devices *d)
{
    if (d->count == NULL) return "count";
    return d->describe == NULL ? "describe" : NULL;
}

static const char *missing_in_library(const struct isthmus_library *l)
{
    return l->describe == NULL ? "describe" : NULL;
}

/* Returns false if the transport has no group of that name; `out` is zeroed then. */
static bool read_group(const struct isthmus_transport *ops, isthmus_tr *handle, const char *group, void *out,
                       size_t out_bytes)
{
    const void *theirs = ops->extension(handle, group);
    memset(out, 0, out_bytes);
    if (theirs != NULL) isthmus_read_in(out, out_bytes, theirs);
    return theirs != NULL;
}

static bool is_whole(const struct isthmus_transport *ops, const char *group, const char *missing)
{
    if (missing != NULL)
        ist_warn("transport %s: its extension %s lacks the required entry '%s' and is not used", ops->name, group,
                 missing);
    return missing == NULL;
}

static void complete_memory(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    static const struct isthmus_memory absent = {
        .kind_of = no_kind_of, .device = no_device, .device_view = no_device_view, .copy = no_copy};
    struct isthmus_memory *m = &out->memory;
    out->has_memory = read_group(ops, handle, "memory.1", m, sizeof *m) &&
                      is_whole(ops, "memory.1", missing_in_memory(m));
    if (!out->has_memory) *m = absent;
    out->has_flush = m->flush_writes != NULL;
    out->has_amo_list = m->amo_list != NULL;
    if (m->amo == NULL) m->amo = no_memory_amo;
    if (m->amo_list == NULL) m->amo_list = no_memory_amo_list;
    if (m->pci_address == NULL) m->pci_address = no_pci_address;
    if (m->flush_writes == NULL) m->flush_writes = nothing_to_flush;
}

static void complete_growing(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    static const struct isthmus_growing absent = {
        .reserve = no_reserve, .commit = no_commit, .unreserve = no_unreserve, .granule = no_granule};
    struct isthmus_growing *g = &out->growing;
    bool has_it = read_group(ops, handle, "growing.1", g, sizeof *g) &&
                  is_whole(ops, "growing.1", missing_in_growing(g));
    if (!has_it) *g = absent;
    out->has_attach_at = g->attach_at != NULL;
    if (g->attach_at == NULL) g->attach_at = no_attach_at;
}

static void complete_stream(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    struct isthmus_stream *s = &out->stream;
    out->has_streams = read_group(ops, handle, "stream.1", s, sizeof *s) &&
                       is_whole(ops, "stream.1", missing_in_stream(s));
    if (!out->has_streams) {
        memset(s, 0, sizeof *s);
        return;
    }
    if (s->complete == NULL) s->complete = nothing_to_complete;
    if (s->words == NULL) s->words = no_words;
    if (s->is_idle == NULL) s->is_idle = never_idle;
}

static void complete_kernels(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    static const struct isthmus_kernels absent = {
        .host_alloc = no_host_alloc, .host_free = no_free, .device_alloc = no_device_alloc, .device_free = no_free};
    struct isthmus_kernels *k = &out->kernels;
    out->has_kernels = read_group(ops, handle, "device.1", k, sizeof *k) &&
                       is_whole(ops, "device.1", missing_in_kernels(k));
    if (!out->has_kernels) *k = absent;
    if (k->find == NULL) k->find = no_find;
    if (k->call == NULL) k->call = plain_call;
}

/* Of no use without streams, and memory for the word that stops kernels. */
static void complete_collectives(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    struct isthmus_collectives *c = &out->collectives;
    out->has_collectives = read_group(ops, handle, "collectives.1", c, sizeof *c) &&
                           is_whole(ops, "collectives.1", missing_in_collectives(c)) && out->has_streams &&
                           out->has_kernels;
    if (!out->has_collectives) memset(c, 0, sizeof *c);
    if (c->test == NULL) c->start = NULL;
}

static void complete_descriptions(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    struct isthmus_devices *d = &out->devices;
    struct isthmus_library *l = &out->library;
    out->has_devices = read_group(ops, handle, "devices.1", d, sizeof *d) &&
                       is_whole(ops, "devices.1", missing_in_devices(d));
    if (!out->has_devices) *d = (struct isthmus_devices){.count = no_devices, .describe = no_description};
    bool has_library = read_group(ops, handle, "library.1", l, sizeof *l) &&
                       is_whole(ops, "library.1", missing_in_library(l));
    if (!has_library) l->describe = no_library;
}

void ist_abi_complete_extensions(const struct isthmus_transport *ops, isthmus_tr *handle, struct ist_extensions *out)
{
    complete_memory(ops, handle, out);
    complete_growing(ops, handle, out);
    complete_stream(ops, handle, out);
    complete_kernels(ops, handle, out);
    complete_collectives(ops, handle, out);
    complete_descriptions(ops, handle, out);
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

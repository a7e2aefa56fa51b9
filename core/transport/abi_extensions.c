/* core/transport/abi_extensions.c: see abi.h: the extensions of an open transport, and what absent ones become.
 * A group that lacks a required slot is absent as a whole. */
#include "core/transport/abi.h"

#include "core/base/log.h"

#include <string.h>

/* ---- what absent slots become ---- */

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

/* ---- which required slot of a group is missing ---- */

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

/* ---- the groups ---- */

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

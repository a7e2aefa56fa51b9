/* tests/cpu_device/gate.c: a transport whose commits wait for the program: loopback, without aliases. With
 * GATE_BLOCKS=1 it has no commit_start, and remote_commit waits. */
#define isthmus_transport_v1 declared_by_the_header
#include <isthmus/transport.h>
#undef isthmus_transport_v1

#include "gate.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern ISTHMUS_PLUGIN_EXPORT struct isthmus_transport isthmus_transport_v1;
struct isthmus_transport isthmus_transport_v1;

struct isthmus_chan {
    isthmus_chan *base;
    bool is_gated; /* a put of GATED is not complete */
    uint64_t newest_ticket;
};

static const struct isthmus_transport *base;
static struct isthmus_data_ops base_ops;
static struct gate *gate;
static bool blocks;

static isthmus_status reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    isthmus_status status = base->reach(tr, peer, out);
    if (status == ISTHMUS_OK) out->caps &= ~(uint64_t)ISTHMUS_CAP_ALIAS;
    return status;
}

static isthmus_status attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias)
{
    isthmus_status status = base->attach(path, key, key_bytes, out, alias);
    if (status == ISTHMUS_OK) *alias = NULL;
    return status;
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    uint64_t value = 0;
    if (length_bytes == sizeof value) memcpy(&value, source, sizeof value);
    if (value == GATED) chan->is_gated = true;
    return base_ops.put(chan->base, path, remote, offset_bytes, source, mem, length_bytes);
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    return base_ops.get(chan->base, path, remote, offset_bytes, dest, mem, length_bytes);
}

static isthmus_status fence(isthmus_chan *chan, isthmus_path *path) { return base_ops.fence(chan->base, path); }

static bool may_complete(isthmus_chan *chan)
{
    if (!chan->is_gated) return true;
    __atomic_store_n(&gate->is_awaited, 1, __ATOMIC_RELEASE);
    if (__atomic_load_n(&gate->is_open, __ATOMIC_ACQUIRE) == 0) return false;
    chan->is_gated = false;
    return true;
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    while (!may_complete(chan)) sched_yield();
    return base_ops.remote_commit(chan->base, path);
}

static isthmus_status commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    (void)path;
    *ticket = ++chan->newest_ticket;
    return ISTHMUS_OK;
}

static isthmus_status commit_test(isthmus_chan *chan, uint64_t ticket)
{
    (void)ticket;
    return may_complete(chan) ? base_ops.remote_commit(chan->base, NULL) : ISTHMUS_ERR_AGAIN;
}

/* Loopback's atomics look at no channel. */
static isthmus_status channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t options, isthmus_chan **out,
                                   struct isthmus_data_ops *ops)
{
    isthmus_chan *chan = calloc(1, sizeof *chan);
    base_ops.struct_size = sizeof base_ops;
    if (chan == NULL) return ISTHMUS_ERR_NO_MEMORY;
    isthmus_status status = base->channel_open(tr, thread_mode, options, &chan->base, &base_ops);
    const struct isthmus_data_ops all = {.put = put,
                                         .get = get,
                                         .amo_entry = base_ops.amo_entry,
                                         .fence = fence,
                                         .remote_commit = remote_commit,
                                         .commit_start = blocks ? NULL : commit_start,
                                         .commit_test = blocks ? NULL : commit_test};
    isthmus_write_out(ops, &all, sizeof all);
    *out = chan;
    return status;
}

static void channel_close(isthmus_chan *chan)
{
    if (chan != NULL) base->channel_close(chan->base);
    free(chan);
}

__attribute__((constructor)) static void make_table(void)
{
    const char *address = getenv("GATE");
    void *library = dlopen(BASE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    base = library != NULL ? dlsym(library, "isthmus_transport_v1") : NULL;
    if (base == NULL) abort();
    gate = address != NULL ? (struct gate *)(uintptr_t)strtoull(address, NULL, 16) : NULL;
    blocks = getenv("GATE_BLOCKS") != NULL;
    isthmus_transport_v1 = *base;
    isthmus_transport_v1.name = "gate";
    isthmus_transport_v1.reach = reach;
    isthmus_transport_v1.attach = attach;
    isthmus_transport_v1.channel_open = channel_open;
    isthmus_transport_v1.channel_close = channel_close;
}

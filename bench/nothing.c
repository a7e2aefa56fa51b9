/* A transport that does nothing: the transport whose file NOTHING_BASE names, without aliases; and while the program
 * wants it, a put of 8 bytes is only counted. What a request of a kernel takes through the ring is left. Not about the
 * memory, which is the other transport's. Read on: nothing.h; kernels.py loads it. */
#define isthmus_transport_v1 declared_by_the_header
#include <isthmus/transport.h>
#undef isthmus_transport_v1

#include "nothing.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

extern ISTHMUS_PLUGIN_EXPORT struct isthmus_transport isthmus_transport_v1;
extern ISTHMUS_PLUGIN_EXPORT struct bench_nothing bench_nothing;
struct isthmus_transport isthmus_transport_v1;
struct bench_nothing bench_nothing;

static const struct isthmus_transport *base;
static struct isthmus_data_ops base_ops;

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

static int is_dropped(size_t length_bytes)
{
    if (length_bytes != 8 || __atomic_load_n(&bench_nothing.is_on, __ATOMIC_ACQUIRE) == 0) return 0;
    __atomic_fetch_add(&bench_nothing.n_puts, 1, __ATOMIC_RELAXED);
    return 1;
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    if (is_dropped(length_bytes)) return ISTHMUS_OK;
    return base_ops.put(chan, path, remote, offset_bytes, source, mem, length_bytes);
}

static isthmus_status put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    if (is_dropped(length_bytes)) return ISTHMUS_OK;
    return (base_ops.put_nbi != NULL ? base_ops.put_nbi : base_ops.put)(chan, path, remote, offset_bytes, source, mem,
                                                                        length_bytes);
}

/* A transport has the same operations for each of its channels. */
static isthmus_status channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t options, isthmus_chan **out,
                                   struct isthmus_data_ops *ops)
{
    base_ops = (struct isthmus_data_ops){.struct_size = sizeof base_ops};
    isthmus_status status = base->channel_open(tr, thread_mode, options, out, &base_ops);
    struct isthmus_data_ops all = base_ops;
    all.put = put;
    all.put_nbi = put_nbi;
    all.put_more = NULL;
    all.post = NULL;
    isthmus_write_out(ops, &all, sizeof all);
    return status;
}

__attribute__((constructor)) static void make_table(void)
{
    const char *file = getenv("NOTHING_BASE");
    void *library = file != NULL ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    base = library != NULL ? dlsym(library, "isthmus_transport_v1") : NULL;
    if (base == NULL) {
        fprintf(stderr, "nothing: NOTHING_BASE is %s, which is no transport: %s\n", file != NULL ? file : "not set",
                file != NULL ? dlerror() : "set it to the file of one");
        exit(1);
    }
    isthmus_transport_v1 = *base;
    isthmus_transport_v1.name = "nothing";
    isthmus_transport_v1.reach = reach;
    isthmus_transport_v1.attach = attach;
    isthmus_transport_v1.channel_open = channel_open;
}

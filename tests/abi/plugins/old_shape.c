/* tests/abi/plugins/old_shape.c: a plugin built against an older, smaller header: its table ends after channel_close,
 * its channels have no optional slot. It must load and work for ever.
 * Without progress and arm it has to make progress by itself. */
#define isthmus_transport_v1 declared_by_the_header
#include <isthmus/transport.h>
#undef isthmus_transport_v1

#include "base.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* As it was: not taken from the header, whose struct grows. */
struct old_transport {
    uint32_t struct_size, abi_minor;
    const char *name, *version;
    uint64_t scopes;
    isthmus_status (*probe)(const struct isthmus_services *);
    isthmus_status (*open)(const struct isthmus_services *, isthmus_tr **);
    void (*close)(isthmus_tr *);
    isthmus_status (*describe)(isthmus_tr *, struct isthmus_traits *);
    isthmus_status (*card)(isthmus_tr *, void *, size_t *);
    isthmus_status (*reach)(isthmus_tr *, const struct isthmus_peer *, struct isthmus_reach *);
    isthmus_status (*path_open)(isthmus_tr *, const struct isthmus_peer *, isthmus_path **);
    void (*path_close)(isthmus_path *);
    isthmus_status (*mem_alloc)(isthmus_tr *, uint32_t, int32_t, uint64_t, struct isthmus_mem *);
    void (*mem_free)(isthmus_tr *, const struct isthmus_mem *);
    isthmus_status (*expose)(isthmus_tr *, const struct isthmus_mem *, void *, size_t *, isthmus_lmem **);
    isthmus_status (*attach)(isthmus_path *, const void *, size_t, isthmus_rmem **, void **);
    void (*detach)(isthmus_rmem *);
    isthmus_status (*register_local)(isthmus_tr *, const struct isthmus_mem *, isthmus_lmem **);
    void (*unregister_local)(isthmus_lmem *);
    isthmus_status (*channel_open)(isthmus_tr *, uint32_t, uint64_t, isthmus_chan **, struct isthmus_data_ops *);
    void (*channel_close)(isthmus_chan *);
};
_Static_assert(sizeof(struct old_transport) == offsetof(struct isthmus_transport, progress), "the start never changes");

extern ISTHMUS_PLUGIN_EXPORT struct old_transport isthmus_transport_v1;
struct old_transport isthmus_transport_v1;

static const struct isthmus_transport *base;

static struct {
    pthread_t thread;
    isthmus_tr *tr;
    struct pollfd fds[2]; /* of the real plugin; to stop */
} progress;

static void *make_progress(void *unused)
{
    (void)unused;
    while (poll(progress.fds, 2, -1) >= 0 && progress.fds[1].revents == 0) base->progress(progress.tr);
    return NULL;
}

static isthmus_status old_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_status status = base->open(services, out);
    if (status != ISTHMUS_OK) return status;
    progress.tr = *out;
    progress.fds[0] = (struct pollfd){.fd = -1, .events = POLLIN};
    progress.fds[1] = (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
    (void)base->arm(*out, &progress.fds[0].fd);
    if (pthread_create(&progress.thread, NULL, make_progress, NULL) != 0) abort();
    return ISTHMUS_OK;
}

static void old_close(isthmus_tr *tr)
{
    uint64_t one = 1;
    if (write(progress.fds[1].fd, &one, sizeof one) != (ssize_t)sizeof one) abort();
    pthread_join(progress.thread, NULL);
    close(progress.fds[1].fd);
    base->close(tr);
}

/* The blocking slots and atomics; all of them are complete on return. */
static isthmus_status old_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                       struct isthmus_data_ops *ops)
{
    struct isthmus_data_ops all = {.struct_size = sizeof all};
    isthmus_status status = base->channel_open(tr, thread_mode, ctx_options, out, &all);
    if (status != ISTHMUS_OK) return status;
    ops->put = all.put;
    ops->get = all.get;
    ops->amo_entry = all.amo_entry;
    return ISTHMUS_OK;
}

__attribute__((constructor)) static void make_table(void)
{
    base = base_load();
    isthmus_transport_v1 = (struct old_transport){
        .struct_size = sizeof isthmus_transport_v1,
        .name = "oldshape",
        .version = "0.1",
        .scopes = base->scopes,
        .open = old_open,
        .close = old_close,
        .describe = base->describe,
        .card = base->card,
        .reach = base->reach,
        .path_open = base->path_open,
        .path_close = base->path_close,
        .expose = base->expose,
        .attach = base->attach,
        .detach = base->detach,
        .unregister_local = base->unregister_local,
        .channel_open = old_channel_open,
        .channel_close = base->channel_close,
    };
}

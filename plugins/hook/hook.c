/* plugins/hook/hook.c: a transport that wraps another one and injects faults: the exported table, and the slots that
 * are passed on unchanged. See hook.h. */
#include "plugins/hook/hook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- life ---- */

static isthmus_status hook_probe(const struct isthmus_services *services)
{
    const struct isthmus_transport *base;
    isthmus_status status = hook_base_load(services, &base);
    return status == ISTHMUS_OK && base->probe != NULL ? base->probe(services) : status;
}

static isthmus_status open_descriptors(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->plan.services;
    struct epoll_event event = {.events = EPOLLIN};
    tr->events = epoll_create1(EPOLL_CLOEXEC);
    tr->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tr->events < 0 || tr->wake < 0 || epoll_ctl(tr->events, EPOLL_CTL_ADD, tr->wake, &event) != 0)
        return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "cannot open a descriptor to sleep on: eventfd: %s",
                       strerror(errno));
    return ISTHMUS_OK;
}

/* Takes a half-built one. */
static void hook_close(isthmus_tr *tr)
{
    if (tr->base_tr != NULL) tr->base->close(tr->base_tr);
    if (tr->events >= 0) close(tr->events);
    if (tr->wake >= 0) close(tr->wake);
    pthread_mutex_destroy(&tr->channels_lock);
    free(tr);
}

static isthmus_status hook_open(const struct isthmus_services *services, isthmus_tr **out)
{
    isthmus_tr *tr = calloc(1, sizeof *tr);
    if (tr == NULL) return services->fail(services->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the transport");
    tr->events = tr->wake = tr->base_fd = -1;
    pthread_mutex_init(&tr->channels_lock, NULL);
    isthmus_status status = hook_plan_read(services, &tr->plan);
    if (status == ISTHMUS_OK) status = hook_plan_call(&tr->plan, HOOK_OPEN);
    if (status == ISTHMUS_OK) status = hook_base_load(services, &tr->base);
    if (status == ISTHMUS_OK) status = open_descriptors(tr);
    if (status == ISTHMUS_OK) status = tr->base->open(services, &tr->base_tr);
    if (status != ISTHMUS_OK) {
        hook_close(tr);
        return status;
    }
    *out = tr;
    return ISTHMUS_OK;
}

static isthmus_status hook_describe(isthmus_tr *tr, struct isthmus_traits *out)
{
    struct isthmus_traits traits = {.struct_size = sizeof traits};
    isthmus_status status = tr->base->describe(tr->base_tr, &traits);
    if (status != ISTHMUS_OK) return status;
    tr->base_kinds_local = traits.kinds_local;
    traits.shared_channels = 1; /* a channel has a lock of its own here */
    isthmus_write_out(out, &traits, sizeof traits);
    return ISTHMUS_OK;
}

/* ---- peers ---- */

static isthmus_status hook_card(isthmus_tr *tr, void *buf, size_t *length_bytes)
{
    if (tr->base->card != NULL) return tr->base->card(tr->base_tr, buf, length_bytes);
    *length_bytes = 0;
    return ISTHMUS_OK;
}

/* Without aliases, so that every access passes here, and without ORDERED where the order is not kept. */
static isthmus_status hook_reach(isthmus_tr *tr, const struct isthmus_peer *peer, struct isthmus_reach *out)
{
    struct isthmus_reach reach = {.struct_size = sizeof reach};
    isthmus_status status = tr->base->reach(tr->base_tr, peer, &reach);
    if (status != ISTHMUS_OK) return status;
    reach.caps &= ~(uint64_t)ISTHMUS_CAP_ALIAS;
    if (tr->plan.delay_calls > 0) reach.caps &= ~(uint64_t)ISTHMUS_CAP_ORDERED;
    if (tr->plan.is_adapter) reach.atomics_domain = ISTHMUS_DOMAIN_NIC;
    if (hook_plan_leaves_atomics(&tr->plan, peer->pe)) reach.atomics_domain = ISTHMUS_DOMAIN_NONE;
    reach.latency_ns += 1000000; /* the core takes it only if ISTHMUS_TRANSPORTS names it */
    isthmus_write_out(out, &reach, sizeof reach);
    return ISTHMUS_OK;
}

static isthmus_status hook_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out)
{
    const struct isthmus_services *s = tr->plan.services;
    isthmus_status status = hook_plan_call(&tr->plan, HOOK_PATH_OPEN);
    if (status != ISTHMUS_OK) return status;
    isthmus_path *path = calloc(1, sizeof *path);
    if (path == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for the path to PE %d", peer->pe);
    *path = (isthmus_path){.tr = tr, .pe = peer->pe};
    status = tr->base->path_open(tr->base_tr, peer, &path->base);
    if (status != ISTHMUS_OK) {
        free(path);
        return status;
    }
    *out = path;
    return ISTHMUS_OK;
}

static void hook_path_close(isthmus_path *path)
{
    if (path == NULL) return;
    path->tr->base->path_close(path->base);
    free(path);
}

/* ---- memory; local registrations are the base's own ---- */

static const struct isthmus_transport *the_base; /* of unregister_local, which gets no transport */

static isthmus_status hook_mem_alloc(isthmus_tr *tr, uint32_t kind, int32_t device, uint64_t length_bytes,
                                     struct isthmus_mem *out)
{
    const struct isthmus_services *s = tr->plan.services;
    if (tr->base->mem_alloc == NULL)
        return s->fail(s->core, ISTHMUS_ERR_UNSUPPORTED, "%s does not allocate memory", tr->base->name);
    return tr->base->mem_alloc(tr->base_tr, kind, device, length_bytes, out);
}

static void hook_mem_free(isthmus_tr *tr, const struct isthmus_mem *mem)
{
    if (tr->base->mem_free != NULL) tr->base->mem_free(tr->base_tr, mem);
}

static isthmus_status hook_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                                  isthmus_lmem **out)
{
    isthmus_status status = hook_plan_call(&tr->plan, HOOK_EXPOSE);
    the_base = tr->base;
    return status != ISTHMUS_OK ? status : tr->base->expose(tr->base_tr, mem, key, key_bytes, out);
}

static isthmus_status hook_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out,
                                  void **alias)
{
    isthmus_tr *tr = path->tr;
    const struct isthmus_services *s = tr->plan.services;
    void *unused;
    isthmus_status status = hook_plan_operation(&tr->plan, HOOK_ATTACH, path->pe);
    if (status != ISTHMUS_OK) return status;
    isthmus_rmem *rmem = calloc(1, sizeof *rmem);
    if (rmem == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for an extent of PE %d", path->pe);
    rmem->tr = tr;
    status = tr->base->attach(path->base, key, key_bytes, &rmem->base, &unused);
    if (status != ISTHMUS_OK) {
        free(rmem);
        return status;
    }
    *out = rmem;
    *alias = NULL;
    return ISTHMUS_OK;
}

static void hook_detach(isthmus_rmem *rmem)
{
    if (rmem == NULL) return;
    rmem->tr->base->detach(rmem->base);
    free(rmem);
}

static isthmus_status hook_register_local(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out)
{
    isthmus_status status = hook_plan_call(&tr->plan, HOOK_REGISTER_LOCAL);
    the_base = tr->base;
    if (status != ISTHMUS_OK) return status;
    if (tr->base->register_local != NULL) return tr->base->register_local(tr->base_tr, mem, out);
    if (mem->kind >= 32 || (tr->base_kinds_local >> mem->kind & 1) == 0)
        return tr->plan.services->fail(tr->plan.services->core, ISTHMUS_ERR_UNSUPPORTED,
                                       "%s does not register memory of kind %u", tr->base->name, mem->kind);
    *out = NULL;
    return ISTHMUS_OK;
}

static void hook_unregister_local(isthmus_lmem *lmem)
{
    if (lmem != NULL && the_base->unregister_local != NULL) the_base->unregister_local(lmem);
}

/* ---- progress ---- */

static int32_t hook_progress(isthmus_tr *tr)
{
    isthmus_status lost = hook_plan_loss(&tr->plan);
    if (lost != ISTHMUS_OK) return lost;
    (void)hook_channels_progress(tr);
    return tr->base->progress != NULL ? tr->base->progress(tr->base_tr) : 0;
}

static void watch(isthmus_tr *tr, int32_t base_fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (base_fd == tr->base_fd) return;
    if (tr->base_fd >= 0) (void)epoll_ctl(tr->events, EPOLL_CTL_DEL, tr->base_fd, &event);
    if (base_fd >= 0) (void)epoll_ctl(tr->events, EPOLL_CTL_ADD, base_fd, &event);
    tr->base_fd = base_fd;
}

/* The eventfd is emptied before the channels are checked: an operation held after that wakes this PE. */
static isthmus_status hook_arm(isthmus_tr *tr, int32_t *event_fd)
{
    int32_t base_fd = -1;
    uint64_t ignored;
    (void)!read(tr->wake, &ignored, sizeof ignored);
    if (hook_channels_progress(tr)) return ISTHMUS_ERR_AGAIN;
    isthmus_status status = tr->base->arm != NULL ? tr->base->arm(tr->base_tr, &base_fd) : ISTHMUS_OK;
    if (status != ISTHMUS_OK) return status;
    watch(tr, base_fd);
    *event_fd = tr->events;
    return ISTHMUS_OK;
}

/* ---- more ---- */

static isthmus_status hook_counters(isthmus_tr *tr, uint64_t *values, const char *const **names, size_t *n)
{
    static const char *const all[] = {"puts", "gets", "amos", "again", "held", "failed"};
    const struct hook_plan *plan = &tr->plan;
    enum { N = sizeof all / sizeof *all };
    size_t room = *n;
    *n = N;
    if (room < N)
        return plan->services->fail(plan->services->core, ISTHMUS_ERR_LIMIT,
                                    "there are %d counters, but there is room for %zu", N, room);
    const uint64_t now[N] = {plan->calls[HOOK_PUT], plan->calls[HOOK_GET], plan->calls[HOOK_AMO],
                             plan->n_again,         plan->n_held,          plan->n_failed};
    memcpy(values, now, sizeof now);
    *names = all;
    return ISTHMUS_OK;
}

const struct isthmus_transport isthmus_transport_v1 = {
    .struct_size = sizeof(struct isthmus_transport),
    .abi_minor = ISTHMUS_ABI_MINOR,
    .name = "hook",
    .version = PLUGIN_VERSION,
    .scopes = ISTHMUS_SCOPE_SELF | ISTHMUS_SCOPE_HOST | ISTHMUS_SCOPE_NETWORK,
    .probe = hook_probe,
    .open = hook_open,
    .close = hook_close,
    .describe = hook_describe,
    .card = hook_card,
    .reach = hook_reach,
    .path_open = hook_path_open,
    .path_close = hook_path_close,
    .mem_alloc = hook_mem_alloc,
    .mem_free = hook_mem_free,
    .expose = hook_expose,
    .attach = hook_attach,
    .detach = hook_detach,
    .register_local = hook_register_local,
    .unregister_local = hook_unregister_local,
    .channel_open = hook_channel_open,
    .channel_close = hook_channel_close,
    .progress = hook_progress,
    .arm = hook_arm,
    .counters = hook_counters,
};

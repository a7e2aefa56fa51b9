/* tools/isthmus-check-transport/world.c: the steps that most cases begin and end with. See contract.h. */
#include "contract.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the transport ---- */

void ct_open(struct ct_process *p)
{
    isthmus_status status = p->t->open(&p->services, &p->tr);
    if (status == ISTHMUS_ERR_NO_DEVICE || status == ISTHMUS_ERR_UNSUPPORTED)
        ct_skip("%s cannot run here: %s", p->t->name, ct_failure_text());
    CT_OK_OF("open", status);
    CT_RULE("open", "returns an object when it returns OK", p->tr != NULL, "it returned OK and NULL");
    p->traits = (struct isthmus_traits){.struct_size = sizeof p->traits};
    CT_OK(p->t->describe(p->tr, &p->traits));
    ct_progress_start(p);
}

void ct_close(struct ct_process *p)
{
    ct_progress_stop(p);
    if (p->look.chan != NULL) ct_channel_close(p, &p->look);
    ct_enter("t->path_close()");
    for (int pe = 0; pe < p->n; pe++) {
        if (p->path[pe] != NULL) p->t->path_close(p->path[pe]);
        p->path[pe] = NULL;
    }
    ct_enter("t->close()");
    p->t->close(p->tr);
    p->tr = NULL;
}

/* ---- progress ---- */

int32_t ct_progress(struct ct_process *p)
{
    pthread_mutex_lock(&p->progress.lock);
    int32_t events = p->t->progress(p->tr);
    pthread_mutex_unlock(&p->progress.lock);
    CT_RULE("progress", "returns how many events were handled, or a negative code",
            events >= ISTHMUS_ERR_REFUSED && events != ISTHMUS_ERR_AGAIN, "%d (%s): %s", events, ct_status_name(events),
            ct_failure_text());
    return events;
}

static void *make_progress(void *argument)
{
    struct ct_process *p = argument;
    struct pollfd fds[3] = {{.fd = p->progress.stop_fd, .events = POLLIN},
                            {.fd = -1, .events = POLLIN},
                            {.fd = p->progress.kick_fd, .events = POLLIN}};
    bool has_poked = false;
    for (;;) {
        isthmus_status status = p->t->arm(p->tr, &fds[1].fd);
        if (status != ISTHMUS_ERR_AGAIN) {
            /* not CT_OK: the main thread records where the process is */
            CT_RULE("arm", "works where nothing is wrong", status == ISTHMUS_OK, "%s: %s", ct_status_name(status),
                    ct_failure_text());
            if (poll(fds, 3, -1) < 0) CT_NEED(errno == EINTR, "poll: %s", strerror(errno));
        }
        if (fds[0].revents != 0) return NULL;
        if (!has_poked && ct_board_is_poking()) ct_poke(p);
        has_poked = has_poked || ct_board_is_poking();
        (void)ct_progress(p);
    }
}

void ct_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    int error = pthread_create(thread, NULL, run, argument);
    CT_NEED(error == 0, "pthread_create: %s; raise 'ulimit -u'", strerror(error));
}

void ct_progress_start(struct ct_process *p)
{
    p->progress.stop_fd = eventfd(0, EFD_CLOEXEC);
    CT_NEED(p->progress.stop_fd >= 0, "eventfd: %s", strerror(errno));
    ct_thread_start(&p->progress.thread, make_progress, p);
    p->progress.is_running = true;
}

void ct_progress_stop(struct ct_process *p)
{
    if (!p->progress.is_running) return;
    uint64_t one = 1;
    CT_NEED(write(p->progress.stop_fd, &one, sizeof one) == (ssize_t)sizeof one, "eventfd: %s", strerror(errno));
    pthread_join(p->progress.thread, NULL);
    close(p->progress.stop_fd);
    p->progress.is_running = false;
}

/* ---- peers ---- */

void ct_write_card(struct ct_process *p, struct ct_blob *out)
{
    size_t length = sizeof out->bytes;
    CT_OK(p->t->card(p->tr, out->bytes, &length));
    CT_RULE("card", "never writes more than describe's card_max_bytes", length <= p->traits.card_max_bytes,
            "it wrote %zu bytes; card_max_bytes of describe is %u", length, p->traits.card_max_bytes);
    out->n_bytes = (uint32_t)length;
}

void ct_describe_peer(struct ct_process *p, int pe, const void *card, size_t card_bytes, struct isthmus_peer *out)
{
    *out = (struct isthmus_peer){
        .struct_size = sizeof *out,
        .pe = pe,
        .host = &p->hosts[pe % CT_MAX_PROCESSES],
        .host_name = "testhost",
        .card = card,
        .card_bytes = card_bytes,
    };
}

void ct_exchange_cards(struct ct_process *p)
{
    struct ct_blob mine;
    ct_write_card(p, &mine);
    ct_exchange(p, mine.bytes, mine.n_bytes, p->cards);
    for (int pe = 0; pe < p->n; pe++) {
        ct_describe_peer(p, pe, p->cards[pe].bytes, p->cards[pe].n_bytes, &p->peers[pe]);
        p->reach[pe] = (struct isthmus_reach){.struct_size = sizeof p->reach[pe]};
        ct_forget_failure();
        isthmus_status status = p->t->reach(p->tr, &p->peers[pe], &p->reach[pe]);
        if (status == ISTHMUS_ERR_UNREACHABLE)
            ct_skip("%s does not reach process %d here: %s", p->t->name, pe, ct_failure_text());
        CT_OK_OF("reach", status);
    }
}

/* ---- extents ---- */

/* The host's memory before and after the extent belongs to the test, so that a byte written beside it shows. */
bool ct_extent_is_host(const struct ct_extent *extent) { return extent->mem.kind == ISTHMUS_MEM_HOST; }

bool ct_extent_try_host(struct ct_process *p, struct ct_extent *out, size_t length_bytes, size_t offset_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memset(out, 0, sizeof *out);
    out->p = p;
    out->mapping_bytes = (offset_bytes + length_bytes + 2 * page - 1) / page * page;
    int fd = memfd_create("extent", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)out->mapping_bytes) != 0) return false;
    out->mapping = mmap(NULL, out->mapping_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (out->mapping == MAP_FAILED) return false;
    out->base = (char *)out->mapping + offset_bytes;
    out->length_bytes = length_bytes;
    out->mem = (struct isthmus_mem){
        .struct_size = sizeof out->mem,
        .kind = ISTHMUS_MEM_HOST,
        .device = -1,
        .fd = fd,
        .addr = out->base,
        .length_bytes = length_bytes,
        .fd_offset_bytes = offset_bytes,
    };
    return true;
}

void ct_extent_make_host(struct ct_process *p, struct ct_extent *out, size_t length_bytes, size_t offset_bytes)
{
    CT_NEED(ct_extent_try_host(p, out, length_bytes, offset_bytes), "memfd of %zu bytes: %s", length_bytes,
            strerror(errno));
}

static void make_on_device(struct ct_process *p, struct ct_extent *out, uint32_t kind, size_t length_bytes,
                           size_t offset_bytes)
{
    memset(out, 0, sizeof *out);
    out->p = p;
    out->mem.struct_size = sizeof out->mem;
    CT_OK(p->t->mem_alloc(p->tr, kind, -1, offset_bytes + length_bytes, &out->mem));
    CT_RULE("mem_alloc", "returns memory of the kind and length that were requested",
            out->mem.kind == kind && out->mem.addr != NULL && out->mem.length_bytes >= offset_bytes + length_bytes,
            "it returned kind %u, address %p, %llu bytes", out->mem.kind, out->mem.addr,
            (unsigned long long)out->mem.length_bytes);
    out->mapping = out->mem.addr;
    out->mapping_bytes = (size_t)out->mem.length_bytes;
    out->base = (char *)out->mapping + offset_bytes;
    out->length_bytes = length_bytes;
    out->mem.addr = out->base;
    out->mem.length_bytes = length_bytes;
}

void ct_extent_make(struct ct_process *p, struct ct_extent *out, size_t length_bytes, size_t offset_bytes)
{
    uint32_t kinds = p->traits.kinds_expose & p->traits.kinds_alloc, kind = 0;
    if ((p->traits.kinds_expose >> ISTHMUS_MEM_HOST & 1) != 0) {
        ct_extent_make_host(p, out, length_bytes, offset_bytes);
        return;
    }
    if (kinds == 0) ct_skip("%s exposes no host memory, and allocates none of another kind", p->t->name);
    while ((kinds >> kind & 1) == 0) kind++;
    make_on_device(p, out, kind, length_bytes, offset_bytes);
}

/* ---- device memory, which a CPU does not touch: by a channel of this process to itself ---- */

static struct ct_target own_target(struct ct_extent *extent)
{
    struct ct_process *p = extent->p;
    CT_NEED(extent->rmem[p->pe] != NULL, "the extent is read before it is attached");
    if (p->look.chan == NULL) ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, &p->look);
    return (struct ct_target){p, &p->look, extent, p->pe};
}

static uint8_t *copy_of(struct ct_extent *extent)
{
    if (extent->copy == NULL) extent->copy = malloc(extent->length_bytes);
    CT_NEED(extent->copy != NULL, "no memory for %zu bytes", extent->length_bytes);
    return extent->copy;
}

const uint8_t *ct_extent_view(struct ct_extent *extent, uint64_t offset_bytes, size_t length_bytes)
{
    if (ct_extent_is_host(extent)) return (const uint8_t *)extent->base + offset_bytes;
    struct ct_target own = own_target(extent);
    ct_get(&own, offset_bytes, copy_of(extent) + offset_bytes, length_bytes);
    return extent->copy + offset_bytes;
}

void ct_extent_write(struct ct_extent *extent, uint64_t offset_bytes, const void *bytes, size_t length_bytes)
{
    if (ct_extent_is_host(extent)) {
        memcpy(extent->base + offset_bytes, bytes, length_bytes);
        return;
    }
    struct ct_target own = own_target(extent);
    ct_put(&own, offset_bytes, bytes, length_bytes);
    ct_quiet(extent->p, own.channel);
}

void ct_extent_fill(struct ct_extent *extent, uint8_t value)
{
    bool is_host = ct_extent_is_host(extent);
    uint8_t *bytes = is_host ? (uint8_t *)extent->base : copy_of(extent);
    memset(bytes, value, extent->length_bytes);
    if (!is_host) ct_extent_write(extent, 0, bytes, extent->length_bytes);
}

uint64_t ct_extent_load(struct ct_extent *extent, uint64_t offset_bytes)
{
    const uint8_t *at = ct_extent_view(extent, offset_bytes, sizeof(uint64_t));
    /* acquire: pairs with the order of the initiator's puts */
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

void ct_extent_expose(struct ct_process *p, struct ct_extent *extent)
{
    extent->key_bytes = sizeof extent->key;
    CT_OK(p->t->expose(p->tr, &extent->mem, extent->key, &extent->key_bytes, &extent->lmem));
    CT_RULE("expose", "never writes a longer key than describe's key_max_bytes",
            extent->key_bytes <= p->traits.key_max_bytes, "it wrote %zu bytes; key_max_bytes of describe is %u",
            extent->key_bytes, p->traits.key_max_bytes);
}

void ct_extent_attach(struct ct_process *p, struct ct_extent *extent)
{
    struct ct_blob keys[CT_MAX_PROCESSES];
    ct_exchange(p, extent->key, extent->key_bytes, keys);
    for (int pe = 0; pe < p->n; pe++) {
        void *alias = NULL;
        if (p->path[pe] == NULL) CT_OK(p->t->path_open(p->tr, &p->peers[pe], &p->path[pe]));
        CT_OK(p->t->attach(p->path[pe], keys[pe].bytes, keys[pe].n_bytes, &extent->rmem[pe], &alias));
        CT_RULE("attach", "returns an object when it returns OK", extent->rmem[pe] != NULL, "it returned OK and NULL");
        extent->alias[pe] = alias;
        p->attached[pe] = extent->rmem[pe];
        bool promised = (p->reach[pe].caps & ISTHMUS_CAP_ALIAS) != 0;
        CT_RULE("attach", "returns an alias where reach sets ISTHMUS_CAP_ALIAS", !promised || alias != NULL,
                "there is none for the memory of process %d: *alias is NULL", pe);
    }
}

void ct_extent_detach(struct ct_process *p, struct ct_extent *extent)
{
    ct_enter("t->detach()");
    for (int pe = 0; pe < p->n; pe++) {
        if (p->attached[pe] == extent->rmem[pe]) p->attached[pe] = NULL;
        p->t->detach(extent->rmem[pe]);
        extent->rmem[pe] = NULL;
    }
}

void ct_extent_free(struct ct_extent *extent)
{
    struct isthmus_mem mem = extent->mem;
    free(extent->copy);
    extent->copy = NULL;
    if (ct_extent_is_host(extent)) {
        munmap(extent->mapping, extent->mapping_bytes);
        close(mem.fd);
        return;
    }
    mem.addr = extent->mapping; /* as mem_alloc has handed it out */
    mem.length_bytes = extent->mapping_bytes;
    ct_enter("t->mem_free()");
    extent->p->t->mem_free(extent->p->tr, &mem);
}

void ct_extent_close(struct ct_process *p, struct ct_extent *extent)
{
    ct_enter("t->unregister_local()");
    p->t->unregister_local(extent->lmem);
    extent->lmem = NULL;
    ct_extent_free(extent);
}

void ct_begin(struct ct_process *p, struct ct_extent *extent, size_t length_bytes, struct ct_channel *channel)
{
    ct_open(p);
    ct_exchange_cards(p);
    ct_extent_make(p, extent, length_bytes, 0);
    ct_extent_expose(p, extent);
    ct_extent_attach(p, extent);
    ct_channel_open(p, ISTHMUS_THREAD_ONE, 0, channel);
    ct_meet(p);
}

void ct_end(struct ct_process *p, struct ct_extent *extent, struct ct_channel *channel)
{
    ct_channel_close(p, channel);
    ct_meet(p);
    ct_extent_detach(p, extent);
    ct_meet(p); /* no process withdraws what others still have attached */
    ct_extent_close(p, extent);
    ct_close(p);
}

/* ---- channels ---- */

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

void ct_channel_open(struct ct_process *p, uint32_t thread_mode, uint64_t options, struct ct_channel *out)
{
    memset(out, 0, sizeof *out);
    struct isthmus_data_ops *ops = &out->ops;
    ops->struct_size = sizeof *ops;
    CT_OK(p->t->channel_open(p->tr, thread_mode, options, &out->chan, ops));
    CT_RULE("channel_open", "returns an object when it returns OK", out->chan != NULL, "it returned OK and NULL");
    CT_RULE("channel_open", "put and get are required", ops->put != NULL && ops->get != NULL, "%s is NULL",
            ops->put == NULL ? "put" : "get");
    CT_RULE("channel_open", "fence is required where local_complete and remote_commit are there",
            ops->fence != NULL || ops->local_complete == NULL || ops->remote_commit == NULL, "fence is NULL");
    CT_RULE("channel_open", "commit_start and commit_test are there together, or neither is",
            (ops->commit_start == NULL) == (ops->commit_test == NULL), "%s is NULL",
            ops->commit_start == NULL ? "commit_start" : "commit_test");
    CT_RULE("channel_open", "put_more and post are there together, or neither is",
            (ops->put_more == NULL) == (ops->post == NULL), "%s is NULL", ops->post == NULL ? "post" : "put_more");
    out->is_proxy = (options & ISTHMUS_CHANNEL_PROXY) != 0;
    if (ops->put_nbi == NULL) ops->put_nbi = ops->put;
    if (ops->get_nbi == NULL) ops->get_nbi = ops->get;
    if (ops->amo_entry == NULL) ops->amo_entry = no_amo_entry;
    if (ops->fence == NULL) ops->fence = ops->local_complete != NULL ? ops->local_complete : ops->remote_commit;
    if (ops->fence == NULL) ops->fence = nothing_to_order;
    if (ops->local_complete == NULL) ops->local_complete = nothing_to_order;
    if (ops->remote_commit == NULL) ops->remote_commit = nothing_to_order;
}

void ct_quiet(struct ct_process *p, const struct ct_channel *channel)
{
    (void)p;
    CT_OK(channel->ops.local_complete(channel->chan, NULL));
    CT_OK(channel->ops.remote_commit(channel->chan, NULL));
}

void ct_channel_close(struct ct_process *p, struct ct_channel *channel)
{
    ct_quiet(p, channel);
    ct_enter("t->channel_close()");
    p->t->channel_close(channel->chan);
    channel->chan = NULL;
}

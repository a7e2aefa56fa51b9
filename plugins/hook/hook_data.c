/* plugins/hook/hook_data.c: channels, puts, gets and order. See hook.h. */
#include "plugins/hook/hook.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The progress thread may sleep; a held operation must not wait for it for ever. */
static void wake_progress(const isthmus_tr *tr)
{
    uint64_t one = 1;
    while (write(tr->wake, &one, sizeof one) < 0) {} /* interrupted by a signal */
}

/* Holds the operation back if it may be, else starts it now. */
static isthmus_status hold_or_do(isthmus_chan *chan, const struct hook_held *what, bool is_blocking)
{
    const struct isthmus_data_ops *ops = &chan->ops;
    bool may_wait = !(is_blocking && what->is_get) && hook_held_takes(chan, what->length_bytes, is_blocking);
    isthmus_status status;
    pthread_mutex_lock(&chan->lock);
    hook_held_age(chan, HOOK_ALL);
    if (may_wait) {
        if (chan->n_held == 0 && chan->is_listed) wake_progress(chan->tr);
        status = hook_held_add(chan, what, is_blocking);
    } else if (what->is_get) {
        status = ops->get(chan->base, what->path->base, what->remote->base, what->offset_bytes, what->local, what->mem,
                          what->length_bytes);
    } else {
        status = ops->put(chan->base, what->path->base, what->remote->base, what->offset_bytes, what->local, what->mem,
                          what->length_bytes);
    }
    pthread_mutex_unlock(&chan->lock);
    return status;
}

static isthmus_status put_or_get(isthmus_chan *chan, const struct hook_held *what, bool is_blocking)
{
    struct hook_plan *plan = &chan->tr->plan;
    if (!is_blocking && hook_plan_says_again(plan)) return ISTHMUS_ERR_AGAIN;
    isthmus_status status = hook_plan_operation(plan, what->is_get ? HOOK_GET : HOOK_PUT, what->path->pe);
    return status != ISTHMUS_OK ? status : hold_or_do(chan, what, is_blocking);
}

static struct hook_held describe(isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes, void *local,
                                 const isthmus_lmem *mem, size_t length_bytes)
{
    return (struct hook_held){.path = path,
                              .remote = (isthmus_rmem *)(uintptr_t)remote,
                              .offset_bytes = offset_bytes,
                              .local = local,
                              .mem = mem,
                              .length_bytes = length_bytes};
}

static isthmus_status put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    struct hook_held what = describe(path, remote, offset_bytes, (void *)(uintptr_t)source, mem, length_bytes);
    return put_or_get(chan, &what, true);
}

static isthmus_status put_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              const void *source, const isthmus_lmem *mem, size_t length_bytes)
{
    struct hook_held what = describe(path, remote, offset_bytes, (void *)(uintptr_t)source, mem, length_bytes);
    return put_or_get(chan, &what, false);
}

static isthmus_status get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    struct hook_held what = describe(path, remote, offset_bytes, dest, mem, length_bytes);
    what.is_get = true;
    return put_or_get(chan, &what, true);
}

static isthmus_status get_nbi(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                              void *dest, const isthmus_lmem *mem, size_t length_bytes)
{
    struct hook_held what = describe(path, remote, offset_bytes, dest, mem, length_bytes);
    what.is_get = true;
    return put_or_get(chan, &what, false);
}

/* ---- order: of whatever path, all that has to start starts ---- */

typedef isthmus_status order_fn(isthmus_chan *, isthmus_path *);

static isthmus_status order(isthmus_chan *chan, isthmus_path *path, enum hook_call call, enum hook_which which,
                            order_fn *base_slot)
{
    isthmus_path *base_path = path != NULL ? path->base : NULL;
    isthmus_status status = hook_plan_call(&chan->tr->plan, call);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&chan->lock);
    status = hook_held_release(chan, which);
    if (status == ISTHMUS_OK && base_slot != NULL) status = base_slot(chan->base, base_path);
    if (call == HOOK_REMOTE_COMMIT && path == NULL) chan->commit.is_under_way = false;
    pthread_mutex_unlock(&chan->lock);
    return status;
}

static isthmus_status fence(isthmus_chan *chan, isthmus_path *path)
{
    const struct isthmus_data_ops *ops = &chan->ops;
    order_fn *half = ops->local_complete != NULL ? ops->local_complete : ops->remote_commit;
    return order(chan, path, HOOK_FENCE, HOOK_ALL, ops->fence != NULL ? ops->fence : half);
}

static isthmus_status local_complete(isthmus_chan *chan, isthmus_path *path)
{
    return order(chan, path, HOOK_LOCAL_COMPLETE, HOOK_BORROWED, chan->ops.local_complete);
}

static isthmus_status remote_commit(isthmus_chan *chan, isthmus_path *path)
{
    return order(chan, path, HOOK_REMOTE_COMMIT, HOOK_ALL, chan->ops.remote_commit);
}

static isthmus_status notify(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             uint64_t value)
{
    isthmus_status status = hook_plan_operation(&chan->tr->plan, HOOK_PUT, path->pe);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&chan->lock);
    status = hook_held_release(chan, HOOK_ALL);
    if (status == ISTHMUS_OK) status = chan->ops.notify(chan->base, path->base, remote->base, offset_bytes, value);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

/* What is held may stay so: nothing but a fence orders it before this. The core may not call this where another
 * transport executes the atomics. */
static isthmus_status put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what)
{
    struct hook_plan *plan = &chan->tr->plan;
    const struct isthmus_services *s = plan->services;
    struct isthmus_put_signal of_base;
    if (hook_plan_leaves_atomics(plan, path->pe))
        return s->fail(s->core, ISTHMUS_ERR_INVALID,
                       "a put with signal to PE %d needs atomics, which this transport does not execute there",
                       path->pe);
    if ((what->flags & ISTHMUS_PUT_SIGNAL_NBI) != 0 && hook_plan_says_again(plan)) return ISTHMUS_ERR_AGAIN;
    isthmus_status status = hook_plan_operation(plan, HOOK_PUT, path->pe);
    if (status != ISTHMUS_OK) return status;
    isthmus_read_in(&of_base, sizeof of_base, what);
    of_base.struct_size = sizeof of_base;
    of_base.remote = what->remote->base;
    of_base.signal = what->signal->base;
    pthread_mutex_lock(&chan->lock);
    hook_held_age(chan, HOOK_ALL);
    status = chan->ops.put_signal(chan->base, path->base, &of_base);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

/* ---- channels ---- */

/* The channel's lock lets in one caller at a time, so that the base need not share. */
static isthmus_status open_base(isthmus_chan *chan, uint64_t ctx_options)
{
    isthmus_tr *tr = chan->tr;
    struct isthmus_data_ops *ops = &chan->ops;
    ops->struct_size = sizeof *ops;
    isthmus_status status = tr->base->channel_open(tr->base_tr, ISTHMUS_THREAD_ONE, ctx_options, &chan->base, ops);
    if (status != ISTHMUS_OK || ops->amo_entry == NULL) return status;
    for (uint32_t op = 0; op < ISTHMUS_AMO_COUNT; op++)
        for (uint32_t bits = 0; bits < ISTHMUS_BITS_COUNT; bits++)
            for (uint32_t flags = 0; flags < HOOK_AMO_FLAGS; flags++)
                chan->amo[op][bits][flags] = ops->amo_entry(chan->base, op, bits, flags);
    return ISTHMUS_OK;
}

static void fill_ops(const isthmus_chan *chan, struct isthmus_data_ops *out)
{
    bool has_commits = chan->ops.commit_start != NULL && !chan->tr->plan.leaves_commits;
    const struct isthmus_data_ops all = {
        .put = put,
        .put_nbi = put_nbi,
        .get = get,
        .get_nbi = get_nbi,
        .amo_entry = chan->ops.amo_entry != NULL ? hook_amo_entry : NULL,
        .fence = fence,
        .local_complete = local_complete,
        .remote_commit = remote_commit,
        .notify = chan->ops.notify != NULL ? notify : NULL,
        .put_signal = chan->ops.put_signal != NULL ? put_signal : NULL,
        .commit_start = has_commits ? hook_commit_start : NULL,
        .commit_test = has_commits ? hook_commit_test : NULL,
        .poll = hook_poll,
    };
    isthmus_write_out(out, &all, sizeof all);
}

static void list(isthmus_chan *chan)
{
    isthmus_tr *tr = chan->tr;
    pthread_mutex_lock(&tr->channels_lock);
    chan->next = tr->channels;
    tr->channels = chan;
    pthread_mutex_unlock(&tr->channels_lock);
}

static void unlist(isthmus_chan *chan)
{
    isthmus_tr *tr = chan->tr;
    pthread_mutex_lock(&tr->channels_lock);
    isthmus_chan **at = &tr->channels;
    while (*at != chan) at = &(*at)->next;
    *at = chan->next;
    pthread_mutex_unlock(&tr->channels_lock);
}

isthmus_status hook_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                 struct isthmus_data_ops *ops)
{
    const struct isthmus_services *s = tr->plan.services;
    (void)thread_mode;
    isthmus_status status = hook_plan_call(&tr->plan, HOOK_CHANNEL_OPEN);
    if (status != ISTHMUS_OK) return status;
    isthmus_chan *chan = calloc(1, sizeof *chan);
    if (chan == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a channel");
    chan->tr = tr;
    pthread_mutex_init(&chan->lock, NULL);
    status = open_base(chan, ctx_options);
    if (status != ISTHMUS_OK) {
        free(chan);
        return status;
    }
    fill_ops(chan, ops);
    chan->is_listed = (ctx_options & ISTHMUS_CHANNEL_PROXY) == 0;
    if (chan->is_listed) list(chan);
    *out = chan;
    return ISTHMUS_OK;
}

void hook_channel_close(isthmus_chan *chan)
{
    if (chan == NULL) return;
    if (chan->is_listed) unlist(chan);
    for (uint32_t i = 0; i < chan->n_held; i++) free(chan->held[i].copy); /* after an operation that failed */
    chan->tr->base->channel_close(chan->base);
    pthread_mutex_destroy(&chan->lock);
    free(chan);
}

bool hook_channels_progress(isthmus_tr *tr)
{
    bool any = false;
    if (tr->plan.delay_calls == 0) return false;
    pthread_mutex_lock(&tr->channels_lock);
    for (isthmus_chan *chan = tr->channels; chan != NULL; chan = chan->next) {
        if (pthread_mutex_trylock(&chan->lock) != 0) {
            any = true; /* its caller is at work, which may hold something back */
            continue;
        }
        hook_held_age(chan, HOOK_COPIED);
        for (uint32_t i = 0; i < chan->n_held; i++) any |= chan->held[i].copy != NULL;
        pthread_mutex_unlock(&chan->lock);
    }
    pthread_mutex_unlock(&tr->channels_lock);
    return any;
}

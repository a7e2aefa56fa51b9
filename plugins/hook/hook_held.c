/* plugins/hook/hook_held.c: operations that have not started. See hook.h.
 * What may wait: a nonblocking operation until local_complete, which needs its buffer; a blocking put, of whose data
 * there is a copy, until a fence or remote_commit. They start by the blocking forms: then they are complete at the
 * source. */
#include "plugins/hook/hook.h"

#include <stdlib.h>
#include <string.h>

bool hook_held_takes(const isthmus_chan *chan, size_t length_bytes, bool needs_copy)
{
    const struct hook_plan *plan = &chan->tr->plan;
    return plan->is_for_me && plan->delay_calls > 0 && chan->n_held < HOOK_MAX_HELD &&
           (!needs_copy || length_bytes <= HOOK_COPY_BYTES);
}

isthmus_status hook_held_add(isthmus_chan *chan, const struct hook_held *what, bool needs_copy)
{
    const struct isthmus_services *s = chan->tr->plan.services;
    struct hook_held *h = &chan->held[chan->n_held];
    *h = *what;
    if (needs_copy) {
        h->copy = malloc(h->length_bytes);
        if (h->copy == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for a put that is held back");
        h->local = memcpy(h->copy, h->local, h->length_bytes);
        h->mem = NULL;
    }
    chan->n_held++;
    __atomic_add_fetch(&chan->tr->plan.n_held, 1, __ATOMIC_RELAXED);
    return ISTHMUS_OK;
}

static void start(isthmus_chan *chan, uint32_t i)
{
    struct hook_held h = chan->held[i];
    const struct isthmus_data_ops *ops = &chan->ops;
    memmove(&chan->held[i], &chan->held[i + 1], (chan->n_held - i - 1) * sizeof *chan->held);
    chan->n_held--;
    isthmus_status status = h.is_get ? ops->get(chan->base, h.path->base, h.remote->base, h.offset_bytes, h.local,
                                                h.mem, h.length_bytes)
                                     : ops->put(chan->base, h.path->base, h.remote->base, h.offset_bytes, h.local,
                                                h.mem, h.length_bytes);
    free(h.copy);
    if (status != ISTHMUS_OK) chan->failure = status;
}

/* One of those that may go; n_held: there is none. */
static uint32_t pick(const isthmus_chan *chan, enum hook_which which)
{
    uint32_t eligible[HOOK_MAX_HELD], n = 0;
    for (uint32_t i = 0; i < chan->n_held; i++)
        if (which == HOOK_ALL || (chan->held[i].copy != NULL) == (which == HOOK_COPIED)) eligible[n++] = i;
    return n > 0 ? eligible[hook_plan_choose(&chan->tr->plan, n)] : chan->n_held;
}

void hook_held_age(isthmus_chan *chan, enum hook_which which)
{
    uint32_t oldest = 0, i = pick(chan, which);
    for (uint32_t k = 0; k < chan->n_held; k++) {
        chan->held[k].age_calls++;
        if (chan->held[k].age_calls > oldest) oldest = chan->held[k].age_calls;
    }
    if (i < chan->n_held && oldest > chan->tr->plan.delay_calls) start(chan, i);
}

isthmus_status hook_held_release(isthmus_chan *chan, enum hook_which which)
{
    for (uint32_t i; (i = pick(chan, which)) < chan->n_held;) start(chan, i);
    isthmus_status status = chan->failure;
    chan->failure = ISTHMUS_OK;
    return status;
}

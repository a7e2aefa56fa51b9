/* plugins/hook/hook_commit.c: commits without a wait, and the progress of one channel. See hook.h.
 * What is held starts when a commit has been tested for as often as ISTHMUS_HOOK_DELAY says; only then does the base
 * begin. One commit of a channel is under way at a time. */
#include "plugins/hook/hook.h"

isthmus_status hook_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket)
{
    struct hook_plan *plan = &chan->tr->plan;
    struct hook_commit *commit = &chan->commit;
    if (hook_plan_says_again(plan)) return ISTHMUS_ERR_AGAIN;
    isthmus_status status = hook_plan_call(plan, HOOK_COMMIT_START);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&chan->lock);
    if (commit->is_under_way) {
        status = ISTHMUS_ERR_AGAIN;
    } else {
        *commit = (struct hook_commit){.ticket = commit->ticket + 1,
                                       .base_path = path != NULL ? path->base : NULL,
                                       .is_under_way = true,
                                       .calls_left = plan->is_for_me ? plan->delay_calls : 0};
        *ticket = commit->ticket;
    }
    pthread_mutex_unlock(&chan->lock);
    return status;
}

/* With the lock. */
static isthmus_status advance(isthmus_chan *chan)
{
    struct hook_commit *commit = &chan->commit;
    isthmus_status status = ISTHMUS_OK;
    if (commit->calls_left > 0) {
        commit->calls_left--;
        hook_held_age(chan, HOOK_ALL);
        return ISTHMUS_ERR_AGAIN;
    }
    if (!commit->has_base) {
        status = hook_held_release(chan, HOOK_ALL);
        if (status == ISTHMUS_OK) status = chan->ops.commit_start(chan->base, commit->base_path, &commit->base_ticket);
        commit->has_base = status == ISTHMUS_OK;
    }
    if (status == ISTHMUS_OK) status = chan->ops.commit_test(chan->base, commit->base_ticket);
    if (status != ISTHMUS_ERR_AGAIN) commit->is_under_way = false;
    return status;
}

isthmus_status hook_commit_test(isthmus_chan *chan, uint64_t ticket)
{
    isthmus_status status = hook_plan_call(&chan->tr->plan, HOOK_COMMIT_TEST);
    if (status != ISTHMUS_OK) return status;
    pthread_mutex_lock(&chan->lock);
    if (chan->commit.is_under_way && ticket >= chan->commit.ticket) status = advance(chan);
    pthread_mutex_unlock(&chan->lock);
    return status;
}

int32_t hook_poll(isthmus_chan *chan)
{
    pthread_mutex_lock(&chan->lock);
    hook_held_age(chan, HOOK_ALL);
    int32_t n_events = chan->ops.poll != NULL ? chan->ops.poll(chan->base) : 0;
    pthread_mutex_unlock(&chan->lock);
    return n_events;
}

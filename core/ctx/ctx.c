/* core/ctx/ctx.c: see ctx.h. */
#include "core/ctx/ctx.h"

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/fatal.h"

#include <stdlib.h>
#include <string.h>

ist_ctx ist_ctx_default = {.lock = PTHREAD_MUTEX_INITIALIZER};
ist_ctx ist_ctx_invalid = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ist_ctx *created; /* the default context is not in this list */
static pthread_mutex_t created_lock =
    PTHREAD_MUTEX_INITIALIZER; /* of the list; never held while a transport is called */
static pthread_cond_t visitor_left = PTHREAD_COND_INITIALIZER;
bool ist_ctx_is_watched;

/* Rows of a strided team are a view of the world's rows; any other team takes the slow path, which translates. */
static struct ist_reachable reach_of_team(const struct ist_team *team)
{
    if (team->list != NULL || ist_ctx_is_watched) return (struct ist_reachable){.rows = ist_rows};
    return (struct ist_reachable){.rows = ist_rows + team->start,
                                  .stride_bytes = team->stride * (intptr_t)sizeof(struct isthmus_row),
                                  .n_pes = (uint32_t)team->n_pes};
}

/* While calls are watched, ordering calls never take the simple path. */
static uint32_t used_at_start(void) { return ist_ctx_is_watched ? IST_USED_WATCHED : 0; }

void ist_ctx_init_default(uint32_t thread_mode, bool with_fast_paths)
{
    ist_ctx_is_watched = !with_fast_paths;
    ist_ctx_default.team = &ist_team_world;
    ist_ctx_default.thread_mode = thread_mode;
    ist_ctx_default.used = used_at_start();
    ist_ctx_default.is_valid = 1;
    ist_ctx_default.reach = reach_of_team(&ist_team_world);
    if (with_fast_paths)
        ist_fast_paths_set(ist_team_world.n_pes);
    else
        ist_fast_paths_close();
}

static void close_channels(ist_ctx *ctx)
{
    for (uint32_t i = 0; i < ist_registry.n; i++) {
        if (ctx->channels[i].chan == NULL) continue;
        ist_cold_begin(&ist_registry.list[i]);
        ist_registry.list[i].ops.channel_close(ctx->channels[i].chan);
        ist_cold_end(&ist_registry.list[i]);
    }
    memset(ctx->channels, 0, sizeof ctx->channels);
}

/* Every context is opened for one thread until several may call (ist_ctxs_share). */
static uint32_t thread_mode_for(enum ist_ctx_users users)
{
    return users == IST_CTX_SHARED ? ist_ctx_default.thread_mode : ISTHMUS_THREAD_ONE;
}

static void share(ist_ctx *ctx)
{
    if (ctx->users != IST_CTX_SHARED) return;
    close_channels(ctx);
    ctx->thread_mode = ISTHMUS_THREAD_SHARED;
}

void ist_ctxs_share(void) { ist_ctx_each(share); }

isthmus_status ist_ctx_create(struct ist_team *team, enum ist_ctx_users users, uint64_t options, ist_ctx **out)
{
    ist_ctx *ctx = aligned_alloc(64, (sizeof *ctx + 63) / 64 * 64);
    if (ctx == NULL) return ist_fail_memory("a context");
    memset(ctx, 0, sizeof *ctx);
    pthread_mutex_init(&ctx->lock, NULL);
    ctx->team = team;
    ctx->users = users;
    ctx->creator = pthread_self();
    ctx->thread_mode = thread_mode_for(users);
    ctx->options = options;
    ctx->is_valid = 1;
    ctx->reach = reach_of_team(team);
    ctx->used = used_at_start();
    if (ist_ctx_is_watched) ctx->made_by = ist_caller();

    pthread_mutex_lock(&created_lock);
    ctx->next = created;
    ctx->link = &created;
    if (created != NULL) created->link = &ctx->next;
    created = ctx;
    pthread_mutex_unlock(&created_lock);
    *out = ctx;
    return ISTHMUS_OK;
}

void ist_ctx_destroy(ist_ctx *ctx)
{
    pthread_mutex_lock(&created_lock);
    while (ctx->n_visitors > 0) ist_clock_wait(&visitor_left, &created_lock, NULL);
    *ctx->link = ctx->next;
    if (ctx->next != NULL) ctx->next->link = ctx->link;
    pthread_mutex_unlock(&created_lock);
    close_channels(ctx);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx);
}

void ist_ctxs_fini(void)
{
    while (created != NULL) ist_ctx_destroy(created);
    close_channels(&ist_ctx_default);
    ist_ctx_default.reach = (struct ist_reachable){.rows = NULL};
    ist_fast_paths_set(0);
    ist_ctx_default.is_valid = 0;
    ist_ctx_default.team = NULL;
}

struct ist_channel *ist_ctx_channel_open(ist_ctx *ctx, uint32_t transport, const char *routine)
{
    struct ist_channel *channel = &ctx->channels[transport];
    struct ist_transport *t = &ist_registry.list[transport];
    struct ist_channel opened;
    pthread_mutex_lock(&ctx->lock);
    if (channel->chan == NULL) {
        uint32_t mode = t->traits.shared_channels ? ctx->thread_mode : ISTHMUS_THREAD_ONE;
        ist_cold_begin(t);
        isthmus_status status = ist_abi_channel_open(&t->ops, t->handle, mode, ctx->options, &opened);
        ist_cold_end(t);
        if (status != ISTHMUS_OK) {
            pthread_mutex_unlock(&ctx->lock);
            ist_die(routine, status);
        }
        channel->ops = opened.ops;
        channel->has_commit = opened.has_commit;
        memcpy(channel->amo, opened.amo, sizeof channel->amo);
        ist_store_release(&channel->chan, opened.chan); /* pairs with the acquire in ist_ctx_channel() */
    }
    pthread_mutex_unlock(&ctx->lock);
    return channel;
}

ist_ctx *ist_ctx_of_team(const struct ist_team *team)
{
    pthread_mutex_lock(&created_lock);
    ist_ctx *ctx = created;
    while (ctx != NULL && ctx->team != team) ctx = ctx->next;
    pthread_mutex_unlock(&created_lock);
    return ctx;
}

/* The list changes only where no visitor is: the context that fn works on keeps its place, and its successor is read
 * after. */
void ist_ctx_each(void (*fn)(ist_ctx *ctx))
{
    fn(&ist_ctx_default);
    pthread_mutex_lock(&created_lock);
    for (ist_ctx *ctx = created; ctx != NULL; ctx = ctx->next) {
        if (ctx->users == IST_CTX_LIBRARY) continue; /* a thread of the library may be using it */
        ctx->n_visitors++;
        pthread_mutex_unlock(&created_lock);
        fn(ctx);
        pthread_mutex_lock(&created_lock);
        if (--ctx->n_visitors == 0) pthread_cond_broadcast(&visitor_left);
    }
    pthread_mutex_unlock(&created_lock);
}

bool ist_ctx_is_free_to_use(const ist_ctx *ctx)
{
    if (ctx->users == IST_CTX_PRIVATE) return pthread_equal(ctx->creator, pthread_self()) != 0;
    return ctx->users == IST_CTX_SHARED;
}

/* core/ctx/ctx.h: contexts: streams of operations that are ordered and completed on their own.
 * Not the ordering calls (ops/order.c). A context's hot part is where its team's rows begin; channels of transports are
 * opened when an operation first needs one, because aliased accesses need none. */
#ifndef IST_CTX_CTX_H
#define IST_CTX_CTX_H

#include "core/team/team.h"
#include "core/transport/abi.h"
#include "core/transport/registry.h"
#include "core/transport/route.h"

#include <pthread.h>

typedef struct ist_ctx ist_ctx;

/* Which threads may use a context: any of them at once, any one at a time, the one that created it, or one of the
 * library's own at a time. */
enum ist_ctx_users { IST_CTX_SHARED, IST_CTX_SERIALIZED, IST_CTX_PRIVATE, IST_CTX_LIBRARY };

struct ist_ctx {
    struct ist_reachable reach; /* hot */
    uint32_t used;              /* bit i: transport i has had operations since the last quiet; set with atomic or */
    uint32_t is_valid;          /* 0: SHMEM_CTX_INVALID */
    struct ist_team *team;
    uint64_t options;         /* ISTHMUS_CHANNEL_ */
    uint32_t thread_mode;     /* ISTHMUS_THREAD_ */
    uint32_t used_mixed;      /* those of `used` that have gone to a peer which is mixed, since the last fence */
    uint32_t n_mixed_late;    /* of ist_peers_n_mixed_late(), at the last fence */
    uint32_t has_device_gets; /* nonblocking ones into memory of a device, since the last quiet */
    pthread_mutex_t lock;     /* opening channels; and calls, where a transport cannot share one */
    struct ist_channel channels[IST_MAX_TRANSPORTS];
    enum ist_ctx_users users;
    pthread_t creator;
    const void *made_by;   /* the call, with ISTHMUS_CHECK; else NULL */
    ist_ctx *next, **link; /* all live contexts, for finalize and team_remote_commit */
    uint32_t n_visitors;   /* threads whose walk over all contexts is at this one: it stays until they have left it */
};

extern ist_ctx ist_ctx_default, ist_ctx_invalid;

/* The default context, of the world team. Without fast paths every operation is watched: checked (ISTHMUS_CHECK) or
 * recorded (ISTHMUS_PROFILE). */
void ist_ctx_init_default(uint32_t thread_mode, bool with_fast_paths);
extern bool ist_ctx_is_watched;

/* From now on several threads call: reopen, for many threads, the channels of the default context and of every context
 * that threads may share. Called by the only thread that has called so far, after a quiet of all contexts. */
void ist_ctxs_share(void);

/* Closes the remaining contexts and makes the default context unusable; takes any state. */
void ist_ctxs_fini(void);

isthmus_status ist_ctx_create(struct ist_team *team, enum ist_ctx_users users, uint64_t options, ist_ctx **out);
void ist_ctx_destroy(ist_ctx *ctx); /* after a quiet */

/* The channel of a transport, opened on first use. Ends the job if that fails; `routine` is for the message. */
struct ist_channel *ist_ctx_channel_open(ist_ctx *ctx, uint32_t transport, const char *routine) IST_COLD;
IST_INLINE struct ist_channel *ist_ctx_channel(ist_ctx *ctx, uint32_t transport, const char *routine)
{
    struct ist_channel *channel = &ctx->channels[transport];
    bool is_open = __atomic_load_n(&channel->chan, __ATOMIC_ACQUIRE) != NULL; /* pairs with the release when it opens */
    return IST_LIKELY(is_open) ? channel : ist_ctx_channel_open(ctx, transport, routine);
}

ist_ctx *ist_ctx_of_team(const struct ist_team *team); /* one that was created on it; NULL: none is left */

/* Calls fn for every live context of the program, the default one first. No lock is held during fn, which may wait
 * for the network: other threads may create contexts meanwhile, and destroy all but the one that fn works on. */
void ist_ctx_each(void (*fn)(ist_ctx *ctx));

/* Where several threads call at once: returns true if the calling thread may use the context whatever the others are
 * doing, false if another thread may be using it without a lock. */
bool ist_ctx_is_free_to_use(const ist_ctx *ctx);

/* Returns the row of a member of the context's team, for the fast paths of isthmus/inline.h, or NULL. The comparison
 * folds where the context is known, as it is in every routine without a context argument. */
IST_INLINE const struct isthmus_row *ist_ctx_row(const ist_ctx *ctx, int pe)
{
    bool is_default = __builtin_constant_p(ctx == &ist_ctx_default) && ctx == &ist_ctx_default;
    return is_default ? isthmus_row_(pe) : ist_reachable_row(&ctx->reach, pe);
}

/* Handles of the APIs: small numbers for the constants, else the context itself. */
IST_INLINE ist_ctx *ist_ctx_of_handle(const void *handle)
{
    if (IST_LIKELY((uintptr_t)handle > 1)) return (ist_ctx *)(uintptr_t)handle;
    return handle != NULL ? &ist_ctx_default : &ist_ctx_invalid;
}

#endif

/* plugins/hook/hook.h: the parts of this plugin, for its own files. The contract is isthmus/transport.h; what users set
 * is in docs/transports/hook.md.
 * Another transport, the base, does the work. This one injects faults that the contract allows: operations that start
 * late and in another order, AGAIN, failures, a lost peer. Its objects hold those of the base. */
#ifndef ISTHMUS_HOOK_H
#define ISTHMUS_HOOK_H

#include <isthmus/transport.h>

#include <pthread.h>
#include <stdbool.h>

enum { HOOK_MAX_HELD = 64, HOOK_COPY_BYTES = 4096, HOOK_AMO_FLAGS = 4 };

/* ---- hook_plan.c: the faults to inject, and when ---- */

/* The calls that can be made to fail. hook_plan.c has their names. */
enum hook_call {
    HOOK_OPEN,
    HOOK_PATH_OPEN,
    HOOK_EXPOSE,
    HOOK_ATTACH,
    HOOK_REGISTER_LOCAL,
    HOOK_CHANNEL_OPEN,
    HOOK_PUT,
    HOOK_GET,
    HOOK_AMO,
    HOOK_FENCE,
    HOOK_LOCAL_COMPLETE,
    HOOK_REMOTE_COMMIT,
    HOOK_COMMIT_START,
    HOOK_COMMIT_TEST,
    HOOK_CALLS
};

struct hook_plan {
    const struct isthmus_services *services;
    bool is_for_me;       /* nothing is injected in other PEs */
    uint32_t delay_calls; /* an operation starts after N later ones; 0: at once */
    bool reorders;
    bool leaves_atomics;         /* to another transport */
    bool is_adapter;             /* what the base executes counts as executed by adapters */
    bool leaves_commits;         /* there are no commit_start and commit_test */
    uint64_t without_atomics_pe; /* likewise, between this one and the others only */
    uint64_t random;
    uint64_t again_every; /* every Nth nonblocking call returns AGAIN; 0: none */
    uint32_t fail_call;   /* enum hook_call; HOOK_CALLS: none */
    uint64_t fail_at;     /* the Nth call of it fails */
    isthmus_status fail_code;
    int32_t lost_pe;    /* -1: none */
    uint64_t lost_from; /* the first N operations towards it work */

    uint64_t calls[HOOK_CALLS], towards_lost, nonblocking;
    uint64_t n_again, n_held, n_failed;
    bool has_told_loss;
};

/* Reads the variables. Returns INVALID if the value of one is invalid. */
isthmus_status hook_plan_read(const struct isthmus_services *services, struct hook_plan *out);
bool hook_plan_leaves_atomics(const struct hook_plan *plan, int32_t pe); /* at that peer: alike for both */

/* Counts the call. If not OK, the call is to return that status, and fail() has got the text. */
isthmus_status hook_plan_call(struct hook_plan *plan, enum hook_call call);
isthmus_status hook_plan_operation(struct hook_plan *plan, enum hook_call call, int32_t pe); /* lost peers, too */
isthmus_status hook_plan_loss(struct hook_plan *plan); /* returned once, by progress() */
bool hook_plan_says_again(struct hook_plan *plan);
uint32_t hook_plan_choose(struct hook_plan *plan, uint32_t n); /* which of n goes first */

/* ---- objects ---- */

struct isthmus_tr {
    struct hook_plan plan;
    const struct isthmus_transport *base; /* its table, of this header's size; absent slots are NULL */
    isthmus_tr *base_tr;
    uint32_t base_kinds_local; /* traits */
    int events, wake, base_fd; /* to sleep on: an epoll of the base's descriptor and an eventfd */
    pthread_mutex_t channels_lock;
    isthmus_chan *channels;
};

struct isthmus_path {
    isthmus_tr *tr;
    isthmus_path *base;
    int32_t pe;
};

struct isthmus_rmem {
    isthmus_tr *tr;
    isthmus_rmem *base;
};

/* A put or get that has not started. A blocking put's data was copied. */
struct hook_held {
    bool is_get;
    isthmus_path *path;
    isthmus_rmem *remote;
    uint64_t offset_bytes;
    void *local, *copy; /* copy: owned, or NULL */
    const isthmus_lmem *mem;
    size_t length_bytes;
    uint32_t age_calls;
};

/* A commit without a wait. */
struct hook_commit {
    uint64_t ticket, base_ticket;
    isthmus_path *base_path;
    bool is_under_way, has_base; /* has_base: the base has begun */
    uint32_t calls_left;         /* until then */
};

struct isthmus_chan {
    isthmus_chan *next;
    bool is_listed; /* progress() starts what it holds; not with ISTHMUS_CHANNEL_PROXY */
    isthmus_tr *tr;
    isthmus_chan *base;
    struct isthmus_data_ops ops; /* the base's; absent slots are NULL */
    isthmus_amo_fn amo[ISTHMUS_AMO_COUNT][ISTHMUS_BITS_COUNT][HOOK_AMO_FLAGS];
    pthread_mutex_t lock; /* progress() starts held operations, beside the channel's caller */
    uint32_t n_held;
    struct hook_held held[HOOK_MAX_HELD];
    struct hook_commit commit;
    isthmus_status failure; /* of a held operation: returned by the next call that orders */
};

/* hook_base.c: the other transport's table, from the file that ISTHMUS_HOOK_BASE names; loaded once. */
isthmus_status hook_base_load(const struct isthmus_services *services, const struct isthmus_transport **out);

/* hook_held.c; all under the channel's lock */
bool hook_held_takes(const isthmus_chan *chan, size_t length_bytes, bool needs_copy);
isthmus_status hook_held_add(isthmus_chan *chan, const struct hook_held *what, bool needs_copy);
enum hook_which { HOOK_ALL, HOOK_COPIED, HOOK_BORROWED };      /* by whose buffer they use */
void hook_held_age(isthmus_chan *chan, enum hook_which which); /* a call later: start one, when one is old enough */
isthmus_status hook_held_release(isthmus_chan *chan, enum hook_which which);

/* hook_data.c */
isthmus_status hook_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                 struct isthmus_data_ops *ops);
void hook_channel_close(isthmus_chan *chan);
/* Starts some of the held puts. Returns false if none is held any more. A put that uses the caller's buffer stays: it
 * may be large, and a put or get of another transport may wait for the peer's progress thread, for which this one must
 * not wait. */
bool hook_channels_progress(isthmus_tr *tr);

/* hook_commit.c */
isthmus_status hook_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket);
isthmus_status hook_commit_test(isthmus_chan *chan, uint64_t ticket);
int32_t hook_poll(isthmus_chan *chan);

/* hook_amo.c: a function for each operation, width and form. */
isthmus_amo_fn hook_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags);

#endif

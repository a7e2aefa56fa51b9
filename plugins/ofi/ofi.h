/* plugins/ofi/ofi.h: what the files of this plugin share. The contract is isthmus/transport.h.
 *
 * A PE has one endpoint, of libfabric's sort that needs no connection. Short puts, atomics and requests are messages,
 * which the target's progress executes in the order in which they were sent; long puts and gets are remote memory
 * accesses where the provider has them. Every request has a number; an acknowledgement confirms all requests of its
 * path up to a number. Remote memory accesses are complete when the provider reports it. With ISTHMUS_ATOMICS=nic
 * atomics of 64 bits are such accesses too.
 *
 * All objects of libfabric are under one lock: the domain is opened for serialized use. */
#ifndef ISTHMUS_OFI_H
#define ISTHMUS_OFI_H

#include "ofi_library.h"
#include "ofi_slingshot.h"
#include "ofi_wire.h"

#include <isthmus/idle.h>
#include <isthmus/inline.h>
#include <isthmus/transport.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>

enum {
    OFI_RECEIVES = 128,
    OFI_MESSAGES = 128,
    OFI_ACCESSES = 512, /* remote memory accesses under way */
    OFI_CALLS = 256,
    OFI_PATHS_MOST = UINT16_MAX,
    OFI_RESEND_EVERY_NS = 10000000, /* between two polls of a PE that sleeps, with `resends` */
    OFI_DATA_BYTES = OFI_MESSAGE_BYTES - (int)sizeof(struct ofi_head) - (int)sizeof(struct ofi_signal_body)
};

/* Operations whose completion is waited for together. */
struct ofi_count {
    uint32_t n_pending;
    isthmus_path *failed; /* of the first one that has failed */
};

enum ofi_op_kind { OFI_OP_RECEIVE, OFI_OP_MESSAGE, OFI_OP_ACCESS };

/* What libfabric has been given and has not reported as complete. */
struct ofi_op {
    struct fi_context2 context; /* first: libfabric returns its address */
    enum ofi_op_kind kind;
    bool is_used;
    struct ofi_op *next;   /* in the list of free ones */
    isthmus_path *path;    /* NULL: a reply, or a receive */
    char *buffer;          /* of receives and messages */
    struct fid_mr *mr;     /* of an access: a registration for it alone */
    struct ofi_op *bounce; /* of an access: the message whose buffer is the local operand */
    void *copy_to;         /* of a get through that buffer */
    size_t copy_bytes;
    struct ofi_count *count; /* NULL: nothing waits for it */
};

/* A request to which the peer replies. */
struct ofi_call {
    bool is_used;
    isthmus_path *path;
    void *dest; /* of the value or the data; in device memory: `kind`; NULL: nothing is stored */
    uint32_t dest_bytes, kind;
    struct ofi_count *count; /* NULL: nothing waits for it */
    bool *is_refused;        /* out; NULL: a refusal is a failure */
};

/* Another PE, as an endpoint: for requests of this PE, and for replies to its own. */
struct ofi_peer {
    fi_addr_t address;
    uint64_t token;
    uint32_t n_sent, n_received; /* requests */
    bool is_known, has_refused;  /* the latter: a request of its was refused, of which it learns by the next reply */
    bool has_dropped;            /* a reply to it failed, which was logged */
    uint32_t n_unsent;           /* replies in tr->unsent */
    uint64_t full_round;         /* of ofi_replies_send(), in which the provider took no more for this peer */
    char host_name[OFI_HOST_NAME_BYTES];
};

/* A reply that the provider has not taken yet. */
struct ofi_reply {
    struct ofi_reply *next;
    struct ofi_peer *peer;
    struct ofi_head head;
    struct ofi_place from; /* of the data of a get */
    uint32_t data_bytes;
};

struct isthmus_tr {
    const struct isthmus_services *services;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_eq *eq; /* of EFA's provider; else NULL */
    struct fid_ep *ep;
    int event_fd; /* -1: the provider has no descriptor to wait on */
    int timer_fd; /* instead of it, or with `resends`; else -1 */
    /* Where posted operations move only when this PE polls, the progress thread sleeps on event_fd and kick_fd; where
     * this PE polls now and then to have lost datagrams sent again, on event_fd and timer_fd. Both together are
     * sleep_fd; -1: event_fd is enough. */
    int sleep_fd, kick_fd;
    bool is_armed, has_posted; /* since the last arm: another thread's progress does not end its sleep */
    int timeout_s;

    /* What the provider needs and offers (ofi_provider.c). */
    bool has_rma, announces; /* the latter: a long put makes an event at the target */
    bool has_hmem;           /* the adapter accesses registered memory of devices */
    bool needs_flush;        /* a write is complete before it is delivered; a read behind it shows that it is */
    bool needs_local_mr, is_software, leaves_host;
    bool resends;                                /* lost datagrams, when this PE polls: so it polls in its sleeps */
    bool wants_atomics, has_atomics;             /* of 64 bits on host memory by the provider: requested, and in use */
    bool emulates_atomics;                       /* by the target's processor, in its progress */
    uint32_t fetching_atomics, updating_atomics; /* bits 1u << ISTHMUS_AMO_, with has_atomics */
    char why_no_atomics[120];                    /* "": they are in use, or not requested */
    size_t inject_bytes, put_message_bytes, access_bytes; /* the last: the longest access */
    uint32_t latency_ns;
    struct ofi_slingshot slingshot;
    char share[80]; /* of the adapters of this host, for people; "": there is one, or no choice */
    char how[200], how_device[240];

    pthread_mutex_t lock;
    pthread_cond_t changed;  /* signals followers: the leader has handled something, or leaves */
    struct ofi_wait *leader; /* the wait whose thread makes progress for all that wait; NULL: no thread waits */
    uint32_t n_followers, n_lock_waiters, n_armed_events;
    int cancel_before; /* of the thread that has the lock, see ofi_trylock() */
    struct isthmus_idle_habit habit;

    struct ofi_op *receives, *messages, *accesses; /* arrays */
    struct ofi_op *free_messages, *free_accesses, *unposted;
    char *buffers;
    struct fid_mr *buffers_mr;
    struct ofi_call *calls;
    uint32_t next_call;
    struct ofi_peer *peers;                 /* by PE */
    struct ofi_reply *unsent, **unsent_end; /* in the order in which they were made */
    uint64_t reply_round;
    isthmus_path **paths;
    uint32_t n_paths;
    isthmus_path *unacked; /* list of those with requests that are not acknowledged */
    isthmus_lmem *extents;
    uint64_t newest_extent, newest_key;
    uint64_t newest_number;     /* of requests, over all paths */
    uint64_t fenced;            /* as in isthmus_path, for all paths */
    isthmus_path *lost_unacked; /* one that was lost with requests that were not acknowledged */
    bool has_loss_to_report;    /* perhaps: progress() looks for paths that are lost and not reported */
    bool is_out_of_memory;
    uint32_t kinds_staged; /* by a failed registration, which was logged: bits 1u << ISTHMUS_MEM_ */
    uint8_t flushed;       /* what the reads of flushes return */
    struct ofi_card card;
};

struct isthmus_rmem {
    isthmus_path *path;
    uint64_t extent, length_bytes, base, rkey;
    uint32_t kind;
    bool has_rma, has_mapped_key;
    char *own; /* the address of an extent of the calling PE; else NULL */
};

struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
    uint16_t index; /* in tr->paths */
    bool is_self, is_lost, has_reported;
    int pid_fd;          /* of a peer on this host; -1: none */
    uint64_t checked_ns; /* when a wait has last checked that the peer is there */
    char why_lost[160];
    struct ofi_peer *peer;
    char host_name[OFI_HOST_NAME_BYTES], library[OFI_LIBRARY_BYTES];
    char shared[INET6_ADDRSTRLEN]; /* the address that a peer on another host has, and this PE too; "": none */

    isthmus_path *next_unacked;
    bool is_unacked; /* in that list */
    bool has_notified;
    uint64_t unacked_since, sent, acked; /* numbers: the first request since it is in the list; the newest; confirmed */
    uint64_t asked;                      /* the newest number whose acknowledgement was requested */
    uint64_t committed;                  /* the number whose acknowledgement confirms the newest commit */
    uint64_t fenced; /* remote memory accesses wait until the requests up to this number are acknowledged */
    uint32_t n_since_asked;

    /* With needs_flush: the number of the newest write, where it went, and the number that the newest flush covers. */
    uint64_t written, flush_asked, written_at;
    isthmus_rmem written_to;
    struct ofi_count flushes; /* under way: one at most */
};

struct isthmus_lmem {
    isthmus_lmem *next; /* of exposed ones */
    isthmus_tr *tr;
    uint64_t extent; /* its number, never used again; 0: not exposed */
    char *addr;
    uint64_t length_bytes;
    uint32_t kind;
    struct fid_mr *mr; /* NULL: only messages reach it */
    void *second;      /* mapping of the same memory, which is registered; NULL: none was needed */
};

/* The halves of a channel: new operations count in one, the other one belongs to the commit under way, or is empty. */
struct ofi_half {
    struct ofi_count local, remote;
};

struct isthmus_chan {
    isthmus_tr *tr;
    struct ofi_half halves[2];
    uint32_t now;    /* the half for new operations */
    uint64_t ticket; /* of the commit under way; 0: there is none */
    uint64_t done_ticket;
};

static inline struct ofi_half *ofi_half_now(isthmus_chan *chan) { return &chan->halves[chan->now]; }

/* A thread that has the lock cannot be cancelled (pthread_cancel): libfabric makes system calls at which it could, and
 * would leave the locks and the state of both behind. */
static inline bool ofi_trylock(isthmus_tr *tr)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool is_mine = pthread_mutex_trylock(&tr->lock) == 0;
    if (is_mine)
        tr->cancel_before = cancel;
    else
        pthread_setcancelstate(cancel, NULL);
    return is_mine;
}

static inline void ofi_lock(isthmus_tr *tr)
{
    int cancel;
    if (ofi_trylock(tr)) return;
    __atomic_fetch_add(&tr->n_lock_waiters, 1, __ATOMIC_RELAXED);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_mutex_lock(&tr->lock);
    tr->cancel_before = cancel;
    __atomic_fetch_sub(&tr->n_lock_waiters, 1, __ATOMIC_RELAXED);
}

void ofi_kick(isthmus_tr *tr); /* ofi_progress.c: the progress thread polls, if there is a need */

static inline void ofi_unlock(isthmus_tr *tr)
{
    if (tr->is_armed && tr->has_posted && tr->leader == NULL) ofi_kick(tr);
    int cancel = tr->cancel_before;
    pthread_mutex_unlock(&tr->lock);
    pthread_setcancelstate(cancel, NULL);
}

/* Everything below is called under the lock, unless it states otherwise. */

/* ofi_native.c: before the transport is open. */
isthmus_status ofi_probe(const struct isthmus_services *services);

/* ofi_provider.c, without the lock: chooses what tr->info describes. */
isthmus_status ofi_provider_choose(isthmus_tr *tr);
/* ofi_domain.c, without the lock: of the list of domains of an adapters' provider that of this PE. `best`: of the
 * provider to be used; is_named: it is the domain that the user has named. */
isthmus_status ofi_domain_choose(isthmus_tr *tr, const struct fi_info *all, const struct fi_info *best, bool is_named,
                                 const struct fi_info **out);
bool ofi_link_is_down(const struct fi_info *info); /* as far as the provider reports it */
uint64_t ofi_checksum(const void *bytes, size_t n_bytes);
isthmus_status ofi_fail(const isthmus_tr *tr, const char *call, ssize_t error);

/* ofi_endpoint.c, without the lock. `close` takes what `open` has left half open. */
isthmus_status ofi_endpoint_open(isthmus_tr *tr);
void ofi_endpoint_close(isthmus_tr *tr);
struct ofi_op *ofi_op_take(struct ofi_op **list); /* NULL: all are used */
void ofi_op_give(struct ofi_op **list, struct ofi_op *op);
void ofi_receive_post(isthmus_tr *tr, struct ofi_op *op);
static inline void *ofi_buffers_desc(const isthmus_tr *tr)
{
    return tr->buffers_mr != NULL ? fi_mr_desc(tr->buffers_mr) : NULL;
}

/* ofi_progress.c. A provider without a descriptor is polled: the timer's polls readable after that time. */
isthmus_status ofi_timer_set(isthmus_tr *tr, long in_ns);
int32_t ofi_poll(isthmus_tr *tr);
int32_t ofi_progress(isthmus_tr *tr);                      /* without the lock */
isthmus_status ofi_arm(isthmus_tr *tr, int32_t *event_fd); /* without the lock */

/* ofi_wait.c: while (!what) ofi_wait_step(&wait); ofi_wait_end(&wait). Begins as {.tr = tr}. A thread ends one wait
 * before it begins another: the second would follow the first, which then makes no progress. */
struct ofi_wait {
    isthmus_tr *tr;
    isthmus_path *path; /* NULL: all those with unacknowledged requests */
    struct isthmus_idle idle;
    pthread_t thread; /* of a wait that leads */
    bool is_cold;     /* in a cold slot: the core's reports name the wait */
    bool needs_room;  /* the provider took no more: no event shows when it does, as after an inject */
    uint64_t since_ns, checked_ns, reported_ns;
};
uint64_t ofi_now_ns(void);
void ofi_wait_step(struct ofi_wait *wait);
void ofi_wait_end(struct ofi_wait *wait);
isthmus_status ofi_wait_for(isthmus_tr *tr, const struct ofi_count *count);

/* ofi_path.c */
isthmus_status ofi_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void ofi_path_close(isthmus_path *path);
void ofi_path_lose(isthmus_path *path, const char *why); /* the first time only */
bool ofi_path_has_ended(const isthmus_path *path);       /* the peer's process, on this host */
isthmus_status ofi_path_lost(isthmus_path *path);        /* PEER_LOST with its text */

/* ofi_message.c. A message is a head, a body and data; the data may lie in memory of a device. */
struct ofi_message {
    struct ofi_head head;
    const void *body, *data;
    uint32_t body_bytes, data_bytes, data_kind;
    bool is_notice; /* remote_commit of all paths does not wait for it */
};
isthmus_status ofi_request_try(isthmus_path *path, struct ofi_message *message); /* AGAIN: nothing was sent */
isthmus_status ofi_request(isthmus_path *path, struct ofi_message *message);     /* waits for room */
void ofi_note_unacked(isthmus_path *path, uint64_t since); /* a commit of all paths waits for this one, too */
isthmus_status ofi_commit_try(isthmus_path *path); /* requests an acknowledgement of all; AGAIN: nothing was sent */
isthmus_status ofi_await_acked(isthmus_path *path, uint64_t number);                          /* requested before */
struct ofi_call *ofi_call_take(isthmus_path *path, struct ofi_count *count, uint16_t *index); /* NULL: all are used */
/* Sends a request and waits for the reply; `dest` as in struct ofi_call. */
isthmus_status ofi_call_peer(isthmus_path *path, struct ofi_message *message, const struct ofi_call *what);
void ofi_calls_fail(isthmus_path *path); /* those to a lost peer */
void ofi_ping(isthmus_path *path);
isthmus_status ofi_copy(isthmus_tr *tr, uint32_t kind, void *dest, const void *source, size_t n_bytes);
void ofi_on_reply(isthmus_tr *tr, const struct ofi_head *head, const char *data, size_t data_bytes);

/* ofi_serve.c: executes a received message. */
void ofi_serve(isthmus_tr *tr, const char *message, size_t n_bytes);
void ofi_replies_send(isthmus_tr *tr); /* those that the provider has not taken yet */

/* ofi_region.c, without the lock */
isthmus_status ofi_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                          isthmus_lmem **out);
isthmus_status ofi_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out);
void ofi_unregister(isthmus_lmem *lmem);
isthmus_status ofi_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void ofi_detach(isthmus_rmem *rmem);
/* The rest under it. Registers memory with libfabric: of a device where tr->has_hmem. */
isthmus_status ofi_mr_open(isthmus_tr *tr, const struct isthmus_mem *mem, uint64_t access, struct fid_mr **out);
static inline struct isthmus_mem ofi_host_memory(void *addr, size_t length_bytes)
{
    return (struct isthmus_mem){.kind = ISTHMUS_MEM_HOST, .device = -1, .addr = addr, .length_bytes = length_bytes};
}
isthmus_lmem *ofi_extent_find(isthmus_tr *tr, const struct ofi_place *place, uint64_t length_bytes);

/* ofi_rma.c: remote memory accesses. AGAIN: nothing was started; with `waits`, never returned. */
struct ofi_access {
    isthmus_path *path;
    const isthmus_rmem *remote;
    uint64_t offset_bytes;
    void *local;
    const isthmus_lmem *local_mem;
    size_t length_bytes;
    bool is_write, waits;
    isthmus_chan *chan; /* in which it counts; NULL: waited for here */
    bool is_copied;     /* through a buffer of this plugin's, where that is cheaper than a registration */
};
isthmus_status ofi_access(const struct ofi_access *access);
struct ofi_count *ofi_access_count(const struct ofi_access *access,
                                   struct ofi_count *here); /* `here`: without a channel */
isthmus_status ofi_access_pass_fence(const struct ofi_access *access);
/* After a post of `op`, which returned `posted`: counts the operation, or takes it back. */
isthmus_status ofi_access_begun(const struct ofi_access *access, struct ofi_op *op, ssize_t posted,
                                struct ofi_count *count);
/* Flushes, where the provider needs them: a read behind all writes to that peer. */
isthmus_status ofi_flush_try(isthmus_path *path); /* AGAIN: none that covers all writes could be posted */
isthmus_status ofi_flush(isthmus_path *path);     /* and waits for it */

/* ofi_atomic.c. `local` of the access: where the fetched value goes; NULL: nothing is fetched. */
struct ofi_atomic {
    uint32_t op; /* ISTHMUS_AMO_ */
    uint64_t operand, compare;
};
void ofi_atomics_find(isthmus_tr *tr); /* after the endpoint is enabled, without the lock */
isthmus_status ofi_atomic(const struct ofi_access *access, const struct ofi_atomic *what);

/* ofi_data.c */
isthmus_status ofi_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                                struct isthmus_data_ops *ops);
void ofi_channel_close(isthmus_chan *chan);

/* ofi_amo.c, without the lock */
isthmus_amo_fn ofi_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags);
isthmus_status ofi_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what);
bool ofi_amo_here(isthmus_tr *tr, const isthmus_lmem *lmem, void *at, const struct ofi_head *what,
                  const struct ofi_amo_body *body, uint64_t *old); /* by this PE; false: the device has failed */

/* ofi_order.c, without the lock */
isthmus_status ofi_fence(isthmus_chan *chan, isthmus_path *path);
isthmus_status ofi_local_complete(isthmus_chan *chan, isthmus_path *path);
isthmus_status ofi_remote_commit(isthmus_chan *chan, isthmus_path *path);
isthmus_status ofi_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket);
isthmus_status ofi_commit_test(isthmus_chan *chan, uint64_t ticket);
/* Under the lock: waits for the remote memory accesses of a channel. */
isthmus_status ofi_await_accesses(isthmus_chan *chan);

#endif

/* plugins/ib/ib.h: what the files of this plugin share. The contract is isthmus/transport.h; am/am.h has the
 * plugin's own active messages, rc/rc.h its own queue pairs.
 *
 * A worker is UCX's unit of progress; an endpoint connects one worker to one peer. Worker 0 has the address on the
 * card: active messages of peers arrive there. A channel takes the worker that has the fewest channels, so that
 * contexts of different threads do not wait for one another as long as there are workers.
 * A worker, its endpoints and the remote keys unpacked for them are under the worker's lock; UCX runs without one. */
#ifndef ISTHMUS_IB_H
#define ISTHMUS_IB_H

#include "plugins/ib/ib_frame.h"
#include "plugins/ib/ib_hca.h"
#include "plugins/ib/ib_lanes.h"
#include "plugins/ib/ib_order.h"
#include "plugins/ib/ib_settings.h"
#include "plugins/ib/ib_ucp.h"

#include <isthmus/idle.h>
#include <pthread.h>
#include <stdbool.h>

#define IB_INLINE static inline __attribute__((always_inline))

enum { IB_HOST_NAME_BYTES = 64, IB_MEM_KINDS = 4 };

/* Operations whose completion is waited for together. Under the worker's lock, as UCX's callbacks are. */
struct ib_batch {
    uint32_t n_pending;   /* written with release: a thread that reads 0 without the lock sees the rest too */
    ucs_status_t failure; /* of the first operation that has failed */
};

static inline void ib_batch_count(struct ib_batch *batch, uint32_t n_pending)
{
    __atomic_store_n(&batch->n_pending, n_pending, __ATOMIC_RELEASE);
}

static inline void ib_batch_end(struct ib_batch *batch, ucs_status_t status) /* of one operation */
{
    if (status != UCS_OK && batch->failure == UCS_OK) batch->failure = status;
    ib_batch_count(batch, batch->n_pending - 1);
}

/* Returns true if no operation is pending and none has failed. Needs no lock. */
static inline bool ib_batch_is_done(const struct ib_batch *batch)
{
    return __atomic_load_n(&batch->n_pending, __ATOMIC_ACQUIRE) == 0 && batch->failure == UCS_OK;
}

struct ib_worker {
    isthmus_tr *tr;
    uint32_t index, n_channels;
    bool is_private;  /* of a channel whose one caller polls (ISTHMUS_CHANNEL_PROXY): progress() leaves it alone */
    bool has_no_lock; /* likewise, and no cold slot touches it: then only that caller does */
    ucp_worker_h ucp;
    int event_fd;
    pthread_mutex_t lock;
    bool has_leader;  /* a thread in ib_worker_wait() makes progress for all waiting threads; read without the lock */
    uint32_t n_polls; /* by leaders */
    uint32_t n_followers;          /* threads that wait for the leader */
    pthread_cond_t changed;        /* wakes followers, which check again */
    struct ib_ep *eps, *unflushed; /* all; those that a flush of all has to check */
    uint32_t n_flushing_all;       /* flushes of all under way: meanwhile no endpoint leaves the list `unflushed` */
    uint32_t n_lock_waiters;       /* threads that wait for the lock: a leader releases it between two polls */
    /* Of the thread that has the lock. It cannot be cancelled (pthread_cancel) meanwhile: UCX makes system calls at
     * which it could, and would leave the locks and the state of both behind. */
    int cancel_before;
    struct isthmus_idle_habit habit;  /* of leaders */
    bool has_lost_eps;                /* some have failed and are not closed yet */
    uint32_t n_armed_events;          /* events that ib_worker_arm() has handled, and progress() is to report */
    uint64_t n_fences;                /* of its channels */
    struct ib_am_pool *am_pool;       /* am/am_message.c */
    struct ib_am_fetches *am_fetches; /* am/am_amo.c */
    struct ib_ep *gathering;          /* endpoints that gather puts (am/am_gather.c) */
    uint32_t n_gathering;
    struct ib_device_requests *device_requests; /* am/am_device.c; NULL: no request was sent so far */
    bool gathers_posts;           /* UCX makes its progress: peers' posts to this PE's device wait, am/am_stage.c */
    uint32_t n_posts;             /* of these */
    struct ib_operands *operands; /* am/am_operand.c; NULL: no local operand has needed a bounce buffer */
    struct ib_notes *copied;      /* am/am_copied.c: memory that UCX cannot register; NULL: none so far */
    struct ib_rc *rc;             /* rc/rc_amo.c; NULL: adapters execute no atomics in this job */
    struct ib_batch room;         /* pending: an atomic waits for a free message or request */
    struct ib_ep **eps_by_id;     /* NULL: closed */
    uint32_t n_ep_ids;
    struct ib_dead_rkey *dead_rkeys; /* without a lock: of extents that another thread has detached. Under `lock` */
};

static inline bool ib_worker_trylock(struct ib_worker *worker)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool is_mine = worker->has_no_lock || pthread_mutex_trylock(&worker->lock) == 0;
    if (is_mine)
        worker->cancel_before = cancel;
    else
        pthread_setcancelstate(cancel, NULL);
    return is_mine;
}

static inline void ib_worker_lock(struct ib_worker *worker)
{
    int cancel;
    if (ib_worker_trylock(worker)) return;
    __atomic_fetch_add(&worker->n_lock_waiters, 1, __ATOMIC_RELAXED);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_mutex_lock(&worker->lock);
    worker->cancel_before = cancel;
    __atomic_fetch_sub(&worker->n_lock_waiters, 1, __ATOMIC_RELAXED);
}

static inline void ib_worker_unlock(struct ib_worker *worker)
{
    int cancel = worker->cancel_before;
    if (!worker->has_no_lock) pthread_mutex_unlock(&worker->lock);
    pthread_setcancelstate(cancel, NULL);
}

/* Classes of operations: how UCX carries an operation decides which earlier ones it could overtake. */
enum ib_op_class {
    IB_OP_SHORT_PUT, /* a put of at most 8 bytes: such puts take one lane, and so arrive in order */
    IB_OP_RMA,       /* a longer put, or a get */
    IB_OP_RC_AMO,    /* an atomic that the peer's adapter executes, through a queue pair of our own (rc/): it has a
                      * reply, and is in no order with what UCX sends */
    IB_OP_AM,        /* an atomic or a put with signal as an active message of our own, which the peer's processor
                      * executes (am/): it has a reply, unless the endpoint has a single AM lane */
    IB_OP_DEVICE,    /* a request about memory of a device (am/am_device.c): it has a reply, and a fence waits for it */
    IB_OP_CLASSES
};

/* In ib_ep.before beside the classes. GATHERING: the endpoint gathers puts, whose message goes before any other
 * operation. PROBING: ib_ep_probe() has started, and no operation goes before the peer replies. */
enum { IB_GATHERING = 1 << IB_OP_CLASSES, IB_PROBING = IB_GATHERING << 1 };

enum { IB_SHORT_PUT_BYTES = 8 };

/* Requests of an endpoint to which the peer replies in the order in which they were sent. */
struct ib_replies {
    uint64_t n_requests, n_replies;
    uint64_t n_before;       /* requests sent before the fence */
    struct ib_batch awaited; /* counts the replies that operations after the fence wait for */
};

static inline void ib_replies_add(struct ib_replies *replies)
{
    replies->n_replies++;
    if (replies->awaited.n_pending > 0) ib_batch_count(&replies->awaited, replies->awaited.n_pending - 1);
}

struct ib_ep {
    struct ib_ep *next, *next_unflushed;
    struct ib_worker *worker;
    isthmus_path *path;
    ucp_ep_h ucp; /* NULL: closed, the peer is lost */
    ucs_status_ptr_t close_request;
    uint64_t n_issued, n_flushing, n_flushed; /* operations; those before the flush under way; those flushed */
    uint64_t n_to_flush;                      /* the last issued operation that a flush of all endpoints waits for */
    uint64_t n_fences;                        /* of the worker's, when an operation was started last */
    uint64_t n_before;                        /* operations issued before that fence */
    struct ib_replies am_replies, rc_replies; /* to IB_OP_AM, except those without a reply, and to IB_OP_RC_AMO */
    uint8_t issued, before;                   /* classes of the operations since that fence, and before it: bits */
    uint8_t conflicts[IB_OP_CLASSES];         /* for each class, those that it could overtake across a fence: bits */
    enum ib_lanes lanes;
    bool is_ordered; /* a write behind a fence arrives behind those before it */
    bool is_listed;  /* in worker->unflushed */
    struct ib_place {
        uint64_t address;
        ucp_rkey_h rkey;
        uint64_t number; /* of the operation */
    } last_put;          /* to host memory, where path->is_relaxed: a flush reads its first byte */
    struct ib_batch connecting, flush;
    uint64_t reply_by_ns;          /* when a peer that calls without a wait have waited for is lost; 0: none has */
    uint64_t next_turn_ns;         /* when such a call reports to the core that it still waits */
    struct ib_qp *qp;              /* for atomics by the peer's adapter; NULL: not used so far */
    struct ib_batch qp_connecting; /* pending until the peer has connected its queue pair to it */
    bool is_qp_connected, has_qp_answered, is_qp_lent;
    uint64_t qp_used;               /* the latest use, by the count of the worker's */
    uint32_t passive_id;            /* of its counterpart, at the peer */
    uint32_t id;                    /* the index in worker->eps_by_id */
    uint32_t flush_sequence;        /* of the last flush request */
    bool is_flush_am;               /* the flush under way is a flush request (am/am_put.c) */
    struct ib_am_message *gathered; /* puts that go as one message; NULL: there are none. am/am_gather.c */
    size_t gathered_bytes;
    struct ib_ep *next_gathering; /* in worker->gathering */
    bool has_replied;             /* the peer has: UCX's flush may end before the peer's UCX knows this endpoint */
    char sample;                  /* the byte read for that reply */
    ucs_status_t failure;         /* the peer is lost */
};

/* The use of a port by a PE, or why it is not used. */
enum ib_use {
    IB_USE_NOT_SELECTED,
    IB_USE_OWN,       /* its share */
    IB_USE_RAIL,      /* likewise, a further one */
    IB_USE_OTHER_PE,  /* in the share of another PE */
    IB_USE_FARTHER,   /* in no PE's share, and not as near as its own port */
    IB_USE_TOO_MANY,  /* likewise, and more than ISTHMUS_IB_RAILS */
    IB_USE_NOT_DEALT, /* likewise, and ISTHMUS_HCA deals the ports out */
    IB_USE_OTHER_GID  /* could be a rail, but its address is at another index */
};

/* The adapters of this host, and the ports that this PE uses. */
struct ib_net {
    struct ib_ports ports;
    struct ib_selection selection;
    const char *sysfs;
    const char *request; /* ISTHMUS_HCA; NULL: not set */
    uint32_t n_active, n_sharers;
    uint32_t most_rails, n_rails; /* ports that it may have, and has */
    int32_t gid_index;            /* -1: UCX chooses */
    int32_t mine;                 /* index of its own port; -1: none, or UCX_NET_DEVICES decides */
    struct ib_origin origin;      /* of this PE, where ports are shared */
    enum ib_use uses[IB_MAX_PORTS];
    uint32_t distances[IB_MAX_PORTS];
    struct ib_port_text {
        char what[160], why[200];
    } texts[IB_MAX_PORTS];
};

static inline bool ib_net_has(const struct ib_net *net, uint32_t port)
{
    return net->uses[port] == IB_USE_OWN || net->uses[port] == IB_USE_RAIL;
}

struct isthmus_tr {
    const struct isthmus_services *services;
    struct ib_net *net;
    struct ib_order order;
    ucp_context_h ucp;
    bool is_on_demand;          /* host memory is registered on demand */
    bool wakes;                 /* each write of a peer into this PE's host memory wakes it */
    struct ib_adapter *adapter; /* executes atomics of 64 bits on host memory; NULL: processors do */
    char why_no_adapter[200];   /* "": there is one, or ISTHMUS_ATOMICS is not nic */
    uint32_t most_qps;          /* of a worker, for atomics; more would have to be idle to be of use */
    struct ib_qp **passive_qps; /* those that serve peers, by id; NULL: a free id. Under the lock of worker 0 */
    uint32_t n_passive_ids, n_passive_qps;
    uint32_t n_granted_qps;             /* of those the ones of peers: the others serve this PE's own atomics */
    uint32_t kinds;                     /* of memory that this UCX supports: bits of 1 << ISTHMUS_MEM_ */
    char why_staged[IB_MEM_KINDS][200]; /* why memory of a kind that UCX supports is staged; "": none was */
    ucp_datatype_t am_datatype;         /* of the plugin's own messages, for all workers */
    isthmus_lmem *exposed;              /* host memory that messages of peers may write; under the lock of worker 0 */
    struct ib_stage *stage; /* serves memory of devices; NULL: the job has none, or the core cannot copy it */
    uint32_t n_staged;      /* registrations of device memory that this UCX does not support, atomically */
    uint32_t staged_kind;   /* of one of them, atomically; ISTHMUS_MEM_HOST: there is none */
    int events;             /* epoll descriptor of all workers */
    struct ib_settings settings;
    uint32_t n_workers;
    struct ib_worker workers[IB_MAX_WORKERS];
    ucp_address_t *address; /* of worker 0 */
    size_t address_bytes;
    pthread_mutex_t lost_lock;
    int32_t lost_pe; /* the first peer that was lost; -1: none */
    ucs_status_t lost_why;
    bool has_reported; /* progress() has returned it */
    char lost_host[IB_HOST_NAME_BYTES];
    struct {
        isthmus_status code;
        char text[400];
    } refusal; /* the first failure of a request at a peer, or of a copy here; under the lost_lock */
};

/* The status in a batch of a request that a peer has refused, or of a copy that a device of this PE has refused:
 * tr->refusal has the reason. UCX returns this status for no operation that is used here. */
#define IB_REFUSED UCS_ERR_NO_MESSAGE

struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
    bool is_self;    /* the calling PE itself: loads and stores, without UCX */
    bool is_relaxed; /* the peer's host memory is registered with relaxed ordering */
    bool has_masked; /* ib_rc_has_masked(); atomically */
    char host_name[IB_HOST_NAME_BYTES];
    void *address;    /* of the peer's worker 0 */
    const char *note; /* behind it: UCX at the peer, as ib_ucp_note() describes it */
    struct ib_ep *eps[IB_MAX_WORKERS];
};

struct isthmus_lmem {
    isthmus_tr *tr;
    ucp_mem_h ucp;
    ucp_mem_h operand; /* the handle for local operands; NULL: UCX finds the registration */
    void *addr;        /* as registered with UCX */
    uint64_t length_bytes;
    uint32_t kind;
    bool is_second;            /* addr is a second mapping of the memory, made for UCX */
    bool is_pinned;            /* although it was to be registered on demand */
    bool is_staged;            /* on a device that UCX does not support, or no adapter here registers */
    bool is_served;            /* peers may request it: in the list of the stage */
    bool is_exposed;           /* messages of peers may write it: in tr->exposed */
    struct ib_mr *mr;          /* for atomics by the adapter; NULL: it executes none there */
    uint32_t atomic_rkey;      /* of mr */
    struct isthmus_lmem *next; /* in that list */
};

struct isthmus_rmem {
    isthmus_path *path;
    uint64_t address;     /* in the peer's address space */
    uint32_t atomic_rkey; /* for the peer's adapter; valid if has_atomic_rkey */
    bool has_atomic_rkey;
    char *own; /* the address of an extent of the calling PE; else NULL */
    uint32_t kind;
    bool is_rma;         /* a peer's, moved by UCX's puts and gets */
    bool is_staged;      /* a peer's, which copies it on request */
    bool holds_operands; /* and UCX supports such memory here: local operands there still go through bounce buffers */
    void *packed_rkey;
    ucp_rkey_h rkeys[IB_MAX_WORKERS]; /* by worker; NULL: not used there so far */
};

/* `local`: what local_complete waits for. `remote`: what remote_commit waits for besides the flush, and what a fence
 * waits for once there were requests about devices. */
struct ib_halves {
    struct ib_batch local, remote;
};

/* A commit without a wait (ib_flush.c). */
struct ib_commit {
    uint64_t ticket;
    bool is_under_way;
    struct ib_halves *halves; /* of the operations that it covers */
    struct ib_commit_flush {
        struct ib_ep *ep;
        uint64_t n_to_flush;
    } * flushes; /* the endpoints that it has still to flush, and up to which operation */
    uint32_t n_flushes, room;
};

struct isthmus_chan {
    struct ib_worker *worker;
    struct ib_batch *local, *remote; /* of the halves in which operations count now */
    struct ib_halves halves[2];      /* the others are those of the commit under way, or empty */
    struct ib_commit commit;
    uint32_t n_unpolled; /* nonblocking operations, for progress now and then */
};

/* ib_net.c. `configure` sets the ports in UCX's configuration, before UCX starts. */
isthmus_status ib_net_open(isthmus_tr *tr);
bool ib_net_user_decides(void); /* by UCX_NET_DEVICES */
enum { IB_IPV4_BYTES = 16 };
/* Returns true if this host has the address to which UCX connected, as its reason says, although the peer is on another
 * host. */
bool ib_net_is_shared(const char *reason, const char *host_name, char address[IB_IPV4_BYTES]);
bool ib_net_is_slow(const struct ib_net *net); /* all active ports are EFA's, or of another such link */
void ib_net_close(struct ib_net *net);         /* takes NULL */
isthmus_status ib_net_configure(const isthmus_tr *tr, ucp_config_t *config);
extern const struct isthmus_devices ib_devices; /* the extension devices.1 */

/* ib_worker.c. `create` appends to tr->workers. */
isthmus_status ib_worker_create(isthmus_tr *tr, bool is_private);
void ib_worker_destroy(struct ib_worker *worker);
int ib_worker_progress(struct ib_worker *worker);       /* under its lock: events handled */
isthmus_status ib_worker_arm(struct ib_worker *worker); /* AGAIN: it has work now */
uint64_t ib_now_ns(void);

/* For a channel that opens. Called by cold slots only, so by one thread at a time. */
struct ib_worker *ib_worker_least_used(isthmus_tr *tr);
struct ib_worker *ib_worker_private(isthmus_tr *tr); /* of the channel alone; NULL: there is none to be had */

/* Destroys a remote key of the worker, from any thread: where there is no lock, the worker's caller does it soon. */
void ib_worker_drop_rkey(struct ib_worker *worker, ucp_rkey_h rkey);
void ib_on_done(void *request, ucs_status_t status, void *batch); /* from UCX, under the lock */

/* The parameters of an operation of UCX that is to count in a batch. Fields that the mask does not name stay unset. */
IB_INLINE void ib_request_params(ucp_request_param_t *out, struct ib_batch *batch)
{
    out->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    out->cb.send = ib_on_done;
    out->user_data = batch;
}

/* Under the lock: counts the request that such an operation has returned. UCX calls back only for a request that it
 * returns, and not before the next progress. */
IB_INLINE void ib_batch_add(ucs_status_ptr_t request, struct ib_batch *batch)
{
    if (request == NULL) return;
    if (!UCS_PTR_IS_ERR(request))
        ib_batch_count(batch, batch->n_pending + 1);
    else if (batch->failure == UCS_OK)
        batch->failure = UCS_PTR_STATUS(request);
}

/* Under the lock: returns true if one more nonblocking operation may start; more would only fill memory. */
enum { IB_MAX_PENDING = 4096 };
static inline bool ib_has_room(isthmus_chan *chan)
{
    if (chan->local->n_pending < IB_MAX_PENDING) return true;
    if (!chan->worker->has_leader) (void)ib_worker_progress(chan->worker);
    return chan->local->n_pending < IB_MAX_PENDING;
}

/* Waits until nothing of the batch is pending. Called under the lock, which is released meanwhile. Returns false if
 * time runs out. */
bool ib_worker_wait(struct ib_worker *worker, const struct ib_batch *batch, uint64_t timeout_ns);
#define IB_FOR_EVER UINT64_MAX

/* ib_endpoint.c, under the worker's lock but for paths */
isthmus_status ib_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void ib_path_close(isthmus_path *path);
isthmus_status ib_ep_get(struct ib_worker *worker, isthmus_path *path, struct ib_ep **out); /* created on first use */

/* How a call waits: for peers and for room; or not at all: nonblocking slots return AGAIN, and start what will let a
 * later call go on. */
enum ib_wait { IB_NO_WAIT, IB_WAIT };

/* Before the first operation: starts to read a byte of the peer's memory. ib_ep_order() waits for the reply:
 * ib_ep_probe_end(), which returns OK if the peer replies in time. */
void ib_ep_probe(struct ib_ep *ep, ucp_rkey_h rkey, uint64_t address);
isthmus_status ib_ep_probe_end(struct ib_ep *ep, enum ib_wait wait);

/* Waits for a reply that counts in `batch`. A peer that does not send it in time (ISTHMUS_IB_TIMEOUT) is lost: returns
 * UNREACHABLE, with IB_NO_WAIT after calls that returned AGAIN meanwhile. The lock is released meanwhile. */
isthmus_status ib_ep_wait_for_reply(struct ib_ep *ep, const struct ib_batch *batch, enum ib_wait wait);

void ib_ep_lose(struct ib_ep *ep, ucs_status_t why);                 /* the peer is lost */
void ib_eps_close_lost(struct ib_worker *worker);                    /* only then does UCX complete their operations */
isthmus_status ib_ep_fail(const struct ib_ep *ep, ucs_status_t why); /* reports a failed operation */
isthmus_status ib_batch_fail(const struct ib_worker *worker,
                             struct ib_batch *batch);                    /* likewise; OK: none has failed */
isthmus_status ib_ep_wait_for_room(struct ib_ep *ep, enum ib_wait wait); /* for one more message or request */

/* Keeps the reason why an operation fails with IB_REFUSED; the first reason stays. */
void ib_refusal_keep(isthmus_tr *tr, isthmus_status code, const char *text);

/* ib_mem.c */
isthmus_status ib_kinds_query(isthmus_tr *tr);                /* once UCX has started: fills tr->kinds */
const char *ib_kind_how(const isthmus_tr *tr, uint32_t kind); /* how such memory is reached; NULL: nothing to add */
isthmus_status ib_check_locked_memory(isthmus_tr *tr);        /* before a worker is created */
isthmus_status ib_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out);
isthmus_status ib_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                         isthmus_lmem **out);
void ib_unregister(isthmus_lmem *lmem);
isthmus_status ib_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void ib_detach(isthmus_rmem *rmem);
isthmus_status ib_rkey_get(struct ib_ep *ep, uint32_t worker, const isthmus_rmem *remote, ucp_rkey_h *out);

/* ib_flush.c: flushes, and the slots that complete operations at the target. */
isthmus_status ib_flush_one(struct ib_worker *worker, struct ib_ep *ep); /* under the lock: all operations before */
isthmus_status ib_flush_begin(struct ib_ep *ep); /* likewise, those before the fence; AGAIN until they are flushed */
isthmus_status ib_remote_commit(isthmus_chan *chan, isthmus_path *path);
isthmus_status ib_commit_start(isthmus_chan *chan, isthmus_path *path, uint64_t *ticket);
isthmus_status ib_commit_test(isthmus_chan *chan, uint64_t ticket);
int32_t ib_poll(isthmus_chan *chan);

/* Waits for one half of all operations of the channel; returns the first failure. Under the lock. */
isthmus_status ib_wait_local(isthmus_chan *chan);
isthmus_status ib_wait_remote(isthmus_chan *chan);

/* ib_data.c */
extern const struct isthmus_data_ops ib_data_slots;
isthmus_status ib_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                               struct isthmus_data_ops *ops);
void ib_channel_close(isthmus_chan *chan);

/* ib_amo.c */
isthmus_amo_fn ib_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags);

/* ---- order across fences (ib_data.c) ----
 * Each operation first calls ib_ep_order(), which waits for replies or flushes the endpoint if the operation could
 * overtake one from before a fence, and is then recorded. Under the worker's lock. With IB_NO_WAIT, AGAIN: replies are
 * missing, or a flush is under way. */

void ib_ep_set_lanes(struct ib_ep *ep, enum ib_lanes lanes, bool is_ordered);

isthmus_status ib_ep_order_slow(struct ib_ep *ep, enum ib_op_class class, enum ib_wait wait);

static inline isthmus_status ib_ep_order(struct ib_ep *ep, enum ib_op_class class, enum ib_wait wait)
{
    if (ep->n_fences == ep->worker->n_fences && (ep->before & ep->conflicts[class]) == 0) return ISTHMUS_OK;
    return ib_ep_order_slow(ep, class, wait);
}

/* `is_to_flush`: a flush of all endpoints waits for it. */
static inline void ib_ep_record(struct ib_ep *ep, enum ib_op_class class, bool is_to_flush)
{
    ep->n_issued++;
    ep->issued |= (uint8_t)(1u << class);
    if (!is_to_flush) return;
    ep->n_to_flush = ep->n_issued;
    if (ep->is_listed) return;
    ep->is_listed = true;
    ep->next_unflushed = ep->worker->unflushed;
    ep->worker->unflushed = ep;
}

static inline enum ib_op_class ib_class_of_put(size_t length_bytes)
{
    return length_bytes <= IB_SHORT_PUT_BYTES ? IB_OP_SHORT_PUT : IB_OP_RMA;
}

/* The target of an operation. Under the worker's lock. */
struct ib_target {
    struct ib_ep *ep;
    ucp_rkey_h rkey;
    uint64_t address;
    bool is_host;  /* not memory of a device */
    bool is_by_am; /* short puts go as messages of our own: ib_am_put() */
};
isthmus_status ib_target_find_slow(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                   enum ib_op_class class, enum ib_wait wait,
                                   struct ib_target *out); /* the endpoint and the rkey only */

/* Finds it, and waits until an operation of that class may be issued: ib_ep_order(). */
static inline isthmus_status ib_target_find(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                            uint64_t offset_bytes, enum ib_op_class class, enum ib_wait wait,
                                            struct ib_target *out)
{
    uint32_t worker = chan->worker->index;
    out->address = remote->address + offset_bytes;
    out->ep = path->eps[worker];
    out->rkey = remote->rkeys[worker];
    out->is_host = remote->kind == ISTHMUS_MEM_HOST;
    if (out->ep != NULL && out->rkey != NULL && out->ep->failure == UCS_OK) {
        out->is_by_am = out->ep->lanes == IB_LANE_AM && out->is_host;
        return ib_ep_order(out->ep, class, wait);
    }
    out->is_by_am = false; /* the first operation goes by UCX */
    return ib_target_find_slow(chan, path, remote, class, wait, out);
}

/* Records a put that goes by UCX. */
static inline void ib_record_put(const struct ib_target *at, size_t length_bytes, bool is_to_flush)
{
    struct ib_ep *ep = at->ep;
    ib_ep_record(ep, ib_class_of_put(length_bytes), is_to_flush);
    if (ep->path->is_relaxed && at->is_host) ep->last_put = (struct ib_place){at->address, at->rkey, ep->n_issued};
}

/* ib_data.c: a put by UCX, never as a message of our own, which is not waited for. Under the worker's lock. With
 * IB_NO_WAIT, AGAIN: nothing was started. */
isthmus_status ib_put_by_ucx(const struct ib_target *at, const void *source, const isthmus_lmem *source_mem,
                             size_t length_bytes, struct ib_batch *batch, enum ib_wait wait);

#endif

/* plugins/ib/ib.h: the parts of this plugin, for its own files. The contract is isthmus/transport.h.
 *
 * A worker is UCX's unit of progress; an end is the way from one worker to one peer. Worker 0 has the address on the
 * card: requests of peers arrive there. Channels take the worker that serves the fewest others, so that contexts of
 * different threads do not wait for one another as long as there are workers.
 * Everything of a worker, its ends and the keys unpacked for them is under the worker's lock; UCX runs without one. */
#ifndef ISTHMUS_IB_H
#define ISTHMUS_IB_H

#include "plugins/ib/ib_frame.h"
#include "plugins/ib/ib_hca.h"
#include "plugins/ib/ib_settings.h"
#include "plugins/ib/ib_ucp.h"
#include "plugins/ib/rc/rc_qp.h"

#include <isthmus/idle.h>
#include <pthread.h>
#include <stdbool.h>

#define IB_INLINE static inline __attribute__((always_inline))

enum { IB_HOST_NAME_BYTES = 64, IB_MEM_KINDS = 4 };

/* Operations that are waited for together. Under the worker's lock; UCX's callbacks run under it too. */
struct ib_batch {
    uint32_t n_pending;   /* written with release: once it is 0, all the rest is visible, without the lock too */
    ucs_status_t failure; /* of the first that failed */
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
    ucp_worker_h ucp;
    int event_fd;
    pthread_mutex_t lock;
    bool has_leader;  /* a thread waits in ib_worker_wait() and makes progress for all. Read without the lock, too */
    uint32_t n_looks; /* of leaders */
    uint32_t n_followers;            /* threads that wait for the leader */
    pthread_cond_t changed;          /* wakes followers, which check again */
    struct ib_end *ends, *dirty;     /* all; those that a commit of all has to check */
    uint32_t n_commits;              /* of all, under way: nothing leaves that list meanwhile */
    uint32_t n_wanting;              /* threads that wait for the lock: a leader releases it between two polls */
    struct isthmus_idle_habit habit; /* of leaders */
    bool has_lost_ends;              /* some have failed and are not closed yet */
    uint32_t n_armed;                /* events that ib_worker_arm() has handled, and progress() is to report */
    uint64_t n_fences;               /* of its channels */
    struct ib_asks *asks;            /* NULL: no request was sent so far */
    struct ib_operands *operands;    /* NULL: no local operand may lie on a device that UCX does not support */
    struct ib_shorts *shorts;        /* am_put.c */
    struct ib_waits *waits;          /* am_amo.c */
    struct ib_nic *nic;              /* rc_amo.c; NULL: adapters execute no atomics in this job */
    struct ib_batch room;            /* pending: an atomic waits for a message, or for a place in waits */
    struct ib_end **numbered;        /* ends by number; NULL: closed */
    uint32_t n_numbers;
};

static inline void ib_worker_lock(struct ib_worker *worker)
{
    if (pthread_mutex_trylock(&worker->lock) == 0) return;
    __atomic_fetch_add(&worker->n_wanting, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&worker->lock);
    __atomic_fetch_sub(&worker->n_wanting, 1, __ATOMIC_RELAXED);
}

static inline void ib_worker_unlock(struct ib_worker *worker) { pthread_mutex_unlock(&worker->lock); }

/* Operations as far as order is concerned: which of them UCX may let arrive before others depends on how it carries
 * them. */
enum ib_class {
    IB_WORD,    /* puts of at most 8 bytes: one after the other, as they take one lane */
    IB_DATA,    /* longer puts, and gets */
    IB_ATOMIC,  /* by the peer's adapter, through a queue of our own: answered, and in no order with what UCX sends */
    IB_MESSAGE, /* atomics as messages of our own: executed by the peer's processor, and answered unless on a line */
    IB_REQUEST, /* likewise, and it may take time: am_device.c. A fence waits for them, so later operations need not */
    IB_CLASSES
};

enum { IB_WORD_BYTES = 8 };

/* Operations of an end that the peer answers one after the other. */
struct ib_answers {
    uint64_t n_asked, n_answered;
    uint64_t n_before;      /* sent before the fence */
    struct ib_batch wanted; /* counts those that operations after the fence wait for */
};

static inline void ib_answers_add(struct ib_answers *answers)
{
    answers->n_answered++;
    if (answers->wanted.n_pending > 0) ib_batch_count(&answers->wanted, answers->wanted.n_pending - 1);
}

/* How UCX carries the operations of an end. */
enum ib_carriage {
    IB_LANES, /* by several lanes, or not known: a fence of UCX orders each of them by itself */
    IB_LANE,  /* by one: the adapter's writes arrive in order, and before later messages, which are executed later */
    IB_LINE   /* by one connection whose other end the peer's processor serves: all is done in order */
};

struct ib_end {
    struct ib_end *next, *next_dirty;
    struct ib_worker *worker;
    isthmus_path *path;
    ucp_ep_h ep;                                /* NULL: closed, the peer is lost */
    ucs_status_ptr_t closing;                   /* the request of that close */
    uint64_t n_issued, n_flushing, n_committed; /* operations; those before the flush under way; those flushed */
    uint64_t n_wanted;                          /* the last issued one that a commit of all ends waits for */
    uint64_t n_fences;                          /* of the worker's, when an operation was started last */
    uint64_t n_before;                          /* issued before that fence */
    struct ib_answers messages, atomics;        /* of IB_MESSAGE, except those without a reply, and of IB_ATOMIC */
    uint8_t issued, before;                     /* classes of the operations since that fence, and before it: bits */
    uint8_t conflicts[IB_CLASSES];              /* for each class, those that it could overtake across a fence: bits */
    enum ib_carriage carriage;
    bool is_dirty; /* in the list of the worker */
    struct ib_batch opening, flush;
    struct ib_queue *queue;  /* for atomics by the peer's adapter; NULL: not used so far */
    struct ib_batch linking; /* until the peer has connected its own queue to it */
    bool is_linked;
    uint32_t number, turn; /* of this end, among the worker's; of its calls, the last one */
    bool is_calling;       /* the flush is a call */
    bool has_answered;     /* to an operation: a flush may end before the peer's UCX knows of this end */
    char sample;           /* the byte that that operation has read */
    ucs_status_t failure;  /* the peer is lost */
};

/* The use of a port by a PE, or why it is not used. */
enum ib_use {
    IB_USE_NOT_SELECTED,
    IB_USE_OWN,       /* its share */
    IB_USE_RAIL,      /* likewise: one more */
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
    bool is_rails_usual;          /* ISTHMUS_IB_RAILS is not set */
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
    ucp_context_h ucp;
    bool is_on_demand;          /* host memory is registered so: ib_registration.h */
    bool wakes;                 /* every write of a peer into this PE's host memory wakes it */
    struct ib_adapter *adapter; /* adapters are the home of words of 64 bits in host memory; NULL: processors are */
    char why_no_adapter[200];   /* "": there is one, or ISTHMUS_ATOMICS is not nic */
    struct ib_served *served;   /* queues of peers end there; under the lock of worker 0 */
    uint64_t n_served;
    uint32_t kinds;                     /* of memory that this UCX supports: bits of 1 << ISTHMUS_MEM_ */
    char why_staged[IB_MEM_KINDS][200]; /* memory of a kind that UCX supports, as text; "": none was */
    ucp_datatype_t message_type;        /* of our own short messages, for all workers */
    isthmus_lmem *exposed;              /* host memory that peers may write, under the lock of worker 0 */
    struct ib_stage *stage;             /* for memory of devices; NULL: the job has none, or the core cannot copy it */
    uint32_t n_staged;                  /* registrations of device memory that this UCX does not support, atomically */
    uint32_t staged_kind;               /* of one of them, atomically; the host's: there is none */
    int events;                         /* epoll descriptor: of all workers */
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
        char text[320];
    } refusal; /* the first in a reply of a peer, or of a copy here; under the lost_lock */
};

/* A status of our own in a batch: a peer, or a device of this PE, has failed, and tr->refusal has the reason. UCX
 * returns this status for no operation that is used here. */
#define IB_REFUSED UCS_ERR_NO_MESSAGE

struct isthmus_path {
    isthmus_tr *tr;
    int32_t pe;
    bool is_self; /* loads and stores, without UCX */
    char host_name[IB_HOST_NAME_BYTES];
    void *address;    /* of the peer's worker 0 */
    const char *note; /* behind it: the configuration of UCX there */
    struct ib_end *ends[IB_MAX_WORKERS];
};

struct isthmus_lmem {
    isthmus_tr *tr;
    ucp_mem_h ucp;
    ucp_mem_h operand; /* with which UCX takes local operands; NULL: UCX finds the registration */
    void *addr;        /* as registered with UCX */
    uint64_t length_bytes;
    uint32_t kind;
    bool is_second;            /* addr is a second mapping of the memory, made for UCX */
    bool is_staged;            /* on a device that UCX does not support, or no adapter here registers */
    bool is_served;            /* peers may request it: in the list of the stage */
    bool is_exposed;           /* peers may write it: in the list of the transport */
    struct ib_region *region;  /* for atomics by the adapter; NULL: it executes none there */
    uint32_t adapter_key;      /* of the region */
    struct isthmus_lmem *next; /* there */
};

struct isthmus_rmem {
    isthmus_path *path;
    uint64_t address;     /* in the peer */
    uint32_t adapter_key; /* for its adapter; valid if has_adapter_key */
    bool has_adapter_key;
    char *own; /* of this PE's own extent; else NULL */
    uint32_t kind;
    bool is_plain;       /* a peer's, and UCX moves it */
    bool is_staged;      /* a peer's, which copies it on request */
    bool holds_operands; /* and UCX here supports such memory: operands on a device go through pieces all the same */
    void *packed_key;
    ucp_rkey_h keys[IB_MAX_WORKERS]; /* by worker; NULL: not used there so far */
};

struct isthmus_chan {
    struct ib_worker *worker;
    struct ib_batch local; /* what local_complete waits for */
    /* What remote_commit waits for besides the flush, and a fence after requests to peers' devices. */
    struct ib_batch remote;
    uint32_t n_unserved; /* nonblocking operations, for progress now and then */
};

/* ib.c: fills a struct of the caller's as far as its size goes. Both it and `value` begin with struct_size. */
void ib_write_out(void *out, const void *value, size_t value_bytes);

/* ib_net.c. `configure` sets it in UCX's configuration, before UCX starts. */
isthmus_status ib_net_open(isthmus_tr *tr);
bool ib_net_user_decides(void);        /* by UCX_NET_DEVICES */
void ib_net_close(struct ib_net *net); /* takes NULL */
isthmus_status ib_net_configure(const isthmus_tr *tr, ucp_config_t *config);
extern const struct isthmus_devices ib_devices; /* the extension devices.1 */

/* ib_worker.c. `create` appends to tr->workers. */
isthmus_status ib_worker_create(isthmus_tr *tr);
void ib_worker_destroy(struct ib_worker *worker);
int ib_worker_progress(struct ib_worker *worker);                 /* under its lock: events handled */
isthmus_status ib_worker_arm(struct ib_worker *worker);           /* AGAIN: it has work now */
struct ib_worker *ib_worker_least_used(isthmus_tr *tr);           /* takes cold slots' word: one caller at a time */
void ib_on_done(void *request, ucs_status_t status, void *batch); /* from UCX, under the lock */

/* The parameters of a call of UCX that is to count in a batch; fields that the mask does not name stay unset. */
IB_INLINE void ib_request_params(ucp_request_param_t *out, struct ib_batch *batch)
{
    out->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    out->cb.send = ib_on_done;
    out->user_data = batch;
}

/* Under the lock: the result of such a call. UCX calls back only for a request that it returns, and not before the next
 * progress. */
IB_INLINE void ib_post(ucs_status_ptr_t request, struct ib_batch *batch)
{
    if (request == NULL) return;
    if (!UCS_PTR_IS_ERR(request))
        ib_batch_count(batch, batch->n_pending + 1);
    else if (batch->failure == UCS_OK)
        batch->failure = UCS_PTR_STATUS(request);
}

/* Under the lock: returns true if one more nonblocking operation may start. More would only fill memory. */
enum { IB_MAX_PENDING = 4096 };
static inline bool ib_has_room(isthmus_chan *chan)
{
    if (chan->local.n_pending < IB_MAX_PENDING) return true;
    if (!chan->worker->has_leader) (void)ib_worker_progress(chan->worker);
    return chan->local.n_pending < IB_MAX_PENDING;
}

/* Waits, under the lock, which is released meanwhile, until nothing of the batch is pending. Returns false if time runs
 * out. */
bool ib_worker_wait(struct ib_worker *worker, const struct ib_batch *batch, uint64_t timeout_ns);
#define IB_FOR_EVER UINT64_MAX

/* ib_endpoint.c */
void ib_end_lose(struct ib_end *end, ucs_status_t why); /* its peer is lost. Under the lock */
isthmus_status ib_path_open(isthmus_tr *tr, const struct isthmus_peer *peer, isthmus_path **out);
void ib_path_close(isthmus_path *path);
isthmus_status ib_end_fail(const struct ib_end *end, ucs_status_t why); /* the text of a failed operation on it */
isthmus_status ib_batch_fail(const struct ib_worker *worker,
                             struct ib_batch *batch); /* likewise; OK: it has not failed */

/* Closes failed ends: only then does UCX end the operations that wait for the peer's reply. Under the worker's lock. */
void ib_ends_bury(struct ib_worker *worker);

/* The end of a path on a worker, made on first use. Under the worker's lock. */
isthmus_status ib_end_get(struct ib_worker *worker, isthmus_path *path, struct ib_end **out);

/* Before its first use: reads a byte of the peer's memory, and returns OK if the peer replies on this end in time.
 * Under the lock, which is released meanwhile. */
isthmus_status ib_end_prove(struct ib_end *end, ucp_rkey_h key, uint64_t address);

/* ib_mem.c */
isthmus_status ib_kinds_query(isthmus_tr *tr);                /* after UCX is there: fills tr->kinds */
const char *ib_kind_how(const isthmus_tr *tr, uint32_t kind); /* such memory is reached, as text; NULL: host memory */
isthmus_status ib_register(isthmus_tr *tr, const struct isthmus_mem *mem, isthmus_lmem **out);
isthmus_status ib_expose(isthmus_tr *tr, const struct isthmus_mem *mem, void *key, size_t *key_bytes,
                         isthmus_lmem **out);
void ib_unregister(isthmus_lmem *lmem);
isthmus_status ib_attach(isthmus_path *path, const void *key, size_t key_bytes, isthmus_rmem **out, void **alias);
void ib_detach(isthmus_rmem *rmem);
isthmus_status ib_key_get(struct ib_end *end, uint32_t worker, const isthmus_rmem *remote, ucp_rkey_h *out);

/* ib_data.c */
extern const struct isthmus_data_ops ib_data_slots;
isthmus_status ib_channel_open(isthmus_tr *tr, uint32_t thread_mode, uint64_t ctx_options, isthmus_chan **out,
                               struct isthmus_data_ops *ops);
void ib_channel_close(isthmus_chan *chan);

/* Completes all earlier operations of the end at its peer. Under the worker's lock. `only` NULL: of all ends. */
isthmus_status ib_commit(struct ib_worker *worker, struct ib_end *only);

/* ---- order across fences ----
 * Each operation first calls ib_end_order(), which flushes the end if the operation could overtake one before a fence,
 * and is then recorded. Under the worker's lock. */

void ib_end_carries(struct ib_end *end, enum ib_carriage carriage);

isthmus_status ib_end_order_slow(struct ib_end *end, enum ib_class class);

static inline isthmus_status ib_end_order(struct ib_end *end, enum ib_class class)
{
    if (end->n_fences == end->worker->n_fences && (end->before & end->conflicts[class]) == 0) return ISTHMUS_OK;
    return ib_end_order_slow(end, class);
}

/* `is_wanted`: a commit of all ends waits for it. */
static inline void ib_end_note(struct ib_end *end, enum ib_class class, bool is_wanted)
{
    end->n_issued++;
    end->issued |= (uint8_t)(1u << class);
    if (!is_wanted) return;
    end->n_wanted = end->n_issued;
    if (end->is_dirty) return;
    end->is_dirty = true;
    end->next_dirty = end->worker->dirty;
    end->worker->dirty = end;
}

static inline enum ib_class ib_class_of_put(size_t length_bytes)
{
    return length_bytes <= IB_WORD_BYTES ? IB_WORD : IB_DATA;
}

/* The destination of an operation. Under the worker's lock. */
struct ib_place {
    struct ib_end *end;
    ucp_rkey_h key;
    uint64_t address;
    bool takes_short; /* by messages of our own: ib_short_put() */
};
isthmus_status ib_place_find_slow(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                  enum ib_class class, struct ib_place *out); /* the end and the key only */

/* And waits until it can take an operation of that class: ib_end_order(). */
static inline isthmus_status ib_place_find(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote,
                                           uint64_t offset_bytes, enum ib_class class, struct ib_place *out)
{
    uint32_t worker = chan->worker->index;
    out->address = remote->address + offset_bytes;
    out->end = path->ends[worker];
    out->key = remote->keys[worker];
    if (out->end != NULL && out->key != NULL && out->end->failure == UCS_OK) {
        out->takes_short = out->end->carriage == IB_LINE && remote->kind == ISTHMUS_MEM_HOST;
        return ib_end_order(out->end, class);
    }
    out->takes_short = false; /* its first operation is not worth it */
    return ib_place_find_slow(chan, path, remote, class, out);
}

/* am_device.c: operations on memory of a device that do not go by UCX's own: memory of this PE, memory that the peer
 * stages, and all atomics. They take the lock themselves. */
struct ib_atomic {
    uint32_t op, size_bytes;
    uint64_t operand, compare;
};
isthmus_status ib_device_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const void *source, size_t length_bytes, bool is_nbi);
isthmus_status ib_device_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             void *dest, size_t length_bytes, bool is_nbi);
isthmus_status ib_device_amo(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                             const struct ib_atomic *amo, void *fetched, uint32_t flags);

/* The same for a local operand on a device, of memory that the peer stages. */
struct ib_operand {
    char *addr;
    uint32_t kind;
    size_t length_bytes;
};
isthmus_status ib_ask_put(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const struct ib_operand *local, bool is_nbi);
isthmus_status ib_ask_get(isthmus_chan *chan, isthmus_path *path, const isthmus_rmem *remote, uint64_t offset_bytes,
                          const struct ib_operand *local, bool is_nbi);

/* Keeps the reason why an operation that counts as IB_REFUSED has failed; the first one stays. */
void ib_refusal_keep(isthmus_tr *tr, isthmus_status code, const char *text);
isthmus_status ib_asks_listen(struct ib_worker *worker); /* for answers */
isthmus_status ib_listen(struct ib_worker *worker, unsigned number, ucp_am_recv_callback_t callback);
void ib_asks_fail(struct ib_worker *worker, const struct ib_end *end); /* it is lost. Under the lock */

/* am_operand.c: local operands on a device that UCX does not support. */
void ib_operand_slots(struct isthmus_data_ops *slots);          /* sets those that check for such operands */
isthmus_status ib_operands_open(struct ib_worker *worker);      /* a channel is about to use it */
isthmus_status ib_operands_add(isthmus_lmem *lmem);             /* such memory was registered */
isthmus_status ib_operands_hold(isthmus_tr *tr, uint32_t kind); /* the same, for peers' memory that they stage */
void ib_operands_let_go(isthmus_tr *tr);                        /* of either */
void ib_operands_close(struct ib_worker *worker);

/* am_put.c: short puts and commits of ends that are a line. Under the worker's lock, but for those of memory. */
enum { IB_SHORT_BYTES = 1024 };
isthmus_status ib_shorts_open(struct ib_worker *worker);
void ib_shorts_close(struct ib_worker *worker); /* after UCX's worker */
isthmus_status ib_short_number(struct ib_end *end);
enum ib_carriage ib_carriage_read(const char *info);          /* ib_lanes.c: from what UCX prints of an endpoint */
enum ib_carriage ib_short_carriage(const struct ib_end *end); /* once it has answered */

struct ib_short {
    const void *bytes;
    size_t length_bytes;
    bool calls, is_notice; /* a commit is likely to follow; no commit of all ends waits for it */
};

/* Returns false if too many are on their way to the network; UCX's own put or flush does it then. The data is the
 * caller's again. A failure goes into the batch. */
bool ib_short_put(struct ib_end *end, uint64_t address, const struct ib_short *data, struct ib_batch *batch);
bool ib_short_call(struct ib_end *end); /* counts in end->flush until all that was sent before is done */
void ib_short_call_ended(struct ib_end *end,
                         ucs_status_t status); /* also of one that is lost; takes one without a call */

/* am_amo.c: atomics as messages. Returns false if there is no room: wait until worker->room is not pending. A
 * fetch goes on any end, and counts until it is answered: in `batch`, which gets its failure, and, unless NULL, in
 * `also`. `fetched` may be NULL. A post takes an end that is a line, and is done with the next commit. */
bool ib_short_fetch(struct ib_end *end, uint64_t address, const struct ib_atomic *amo, void *fetched,
                    struct ib_batch *batch, struct ib_batch *also);
bool ib_short_post(struct ib_end *end, uint64_t address, const struct ib_atomic *amo, struct ib_batch *batch);
void ib_short_fetches_fail(struct ib_worker *worker, const struct ib_end *end); /* it is lost */

void ib_short_expose(isthmus_lmem *lmem);
void ib_short_hide(isthmus_lmem *lmem); /* takes one that is not exposed */

/* am_stage.c: requests of peers for memory of this PE's devices. */
isthmus_status ib_stage_open(isthmus_tr *tr);    /* before UCX is there: creates a stage if this job needs one */
isthmus_status ib_stage_listen(isthmus_tr *tr);  /* for requests to worker 0 */
void ib_stage_close(isthmus_tr *tr);             /* before workers are; takes any state */
isthmus_status ib_stage_add(isthmus_lmem *lmem); /* peers may request this memory from now on */
void ib_stage_remove(isthmus_lmem *lmem);

/* am_signal.c. After UNSUPPORTED nothing was done. */
isthmus_status ib_put_signal(isthmus_chan *chan, isthmus_path *path, const struct isthmus_put_signal *what);

/* ib_data.c: never as a message of our own, and not waited for. Under the worker's lock. */
void ib_put_by_ucx(const struct ib_place *at, const void *source, const isthmus_lmem *source_mem, size_t length_bytes,
                   struct ib_batch *batch);

/* rc_amo.c: atomics by the peers' adapters, if ISTHMUS_ATOMICS is nic. Under the worker's lock but for open and
 * close. */
/* Opened after UCX, which prepares libibverbs for forks, and closed after the workers. Sets tr->adapter, or the reason
 * why there is none. */
isthmus_status ib_nic_open(isthmus_tr *tr);
void ib_nic_close(isthmus_tr *tr);
isthmus_status ib_nic_worker_open(struct ib_worker *worker);
void ib_nic_worker_close(struct ib_worker *worker);
int ib_nic_progress(struct ib_worker *worker);
int ib_nic_arm(struct ib_worker *worker);       /* the descriptor to sleep on besides UCX's; -1: nothing is under way */
isthmus_status ib_nic_link(struct ib_end *end); /* before its first atomic. Releases the lock meanwhile */
void ib_nic_end_fail(const struct ib_end *end); /* its peer is lost */
void ib_nic_end_close(struct ib_end *end);

/* An atomic that is started; *fetched is written when it ends, and it counts in `batch`, which gets its failure, and in
 * `also`. `fetched` and `also` may be NULL. */
struct ib_nic_atomic {
    uint64_t address;
    uint32_t key;
    void *fetched;
    struct ib_batch *batch, *also;
};

/* Returns false if there is no room: wait until worker->room is not pending. */
bool ib_nic_start(struct ib_end *end, const struct ib_nic_atomic *atomic, const struct ib_word_request *request);

/* ib_amo.c */
isthmus_status ib_wait_for_room(struct ib_end *end); /* for one more of our own messages. Under the worker's lock */
isthmus_amo_fn ib_amo_entry(isthmus_chan *chan, uint32_t op, uint32_t bits, uint32_t flags);

#endif

/* plugins/ib/am/am_message.c: the plugin's own active messages of up to a packet or so: their buffers, how they are
 * sent and received, and the memory that they may write. am_put.c, am_amo.c and am_signal.c have what they request. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGES = 64 }; /* of a worker, not yet taken by UCX */

_Static_assert(offsetof(struct ib_am_message, address) ==
                       offsetof(struct ib_am_message, request) + sizeof(struct ib_am_request_id) &&
                   offsetof(struct ib_am_message, data) == offsetof(struct ib_am_message, address) + sizeof(uint64_t),
               "sent as one range of bytes");

struct ib_am_pool {
    struct ib_am_message *free;
    struct ib_am_message list[MAX_MESSAGES];
};

/* ---- buffers: UCX may need one for longer than the call that sends it ---- */

struct ib_am_message *ib_am_message_get(struct ib_worker *worker)
{
    struct ib_am_pool *pool = worker->am_pool;
    struct ib_am_message *message = pool->free;
    if (message != NULL) pool->free = message->next;
    return message;
}

/* For replies, which are sent however many messages are under way. */
struct ib_am_message *ib_am_message_alloc(struct ib_worker *worker)
{
    struct ib_am_message *message = ib_am_message_get(worker);
    if (message != NULL) return message;
    message = malloc(sizeof *message);
    if (message == NULL)
        ib_ucp_note_no_memory("a reply");
    else
        message->is_allocated = true;
    return message;
}

void ib_am_message_release(struct ib_am_message *message)
{
    struct ib_worker *worker = message->worker;
    ib_batch_count(&worker->room, 0);
    if (message->is_allocated) {
        free(message);
        return;
    }
    message->next = worker->am_pool->free;
    worker->am_pool->free = message;
}

/* ---- sending. Over TCP, UCX would hand a short message to the system as two buffers, which takes longer than a copy
 * into one: a datatype of our own makes it one there. Elsewhere UCX gets the bytes as they are, and writes a short
 * message into the adapter's queue: it needs no request, and the adapter does not have to read a buffer ---- */

/* Each write of a peer wakes its target only where TCP is all that UCX has. */
static bool packs_messages(const isthmus_tr *tr) { return tr->wakes; }

static void *start_pack(void *context, const void *message, size_t count)
{
    (void)context, (void)count;
    return (void *)(uintptr_t)message;
}

static size_t packed_size(void *state) { return ((const struct ib_am_message *)state)->length_bytes; }

static size_t pack(void *state, size_t offset_bytes, void *dest, size_t room_bytes)
{
    const struct ib_am_message *message = state;
    size_t rest_bytes = message->length_bytes - offset_bytes, n = rest_bytes < room_bytes ? rest_bytes : room_bytes;
    memcpy(dest, message->begin + offset_bytes, n);
    return n;
}

static void finish_pack(void *state) { (void)state; }

static isthmus_status datatype_create(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    static const ucp_generic_dt_ops_t ops = {
        .start_pack = start_pack, .packed_size = packed_size, .pack = pack, .finish = finish_pack};
    tr->am_datatype = ucp_dt_make_contig(1);
    if (!packs_messages(tr)) return ISTHMUS_OK;
    ucs_status_t made = ib_ucp.ucp_dt_create_generic(&ops, NULL, &tr->am_datatype);
    if (made == UCS_OK) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "ucp_dt_create_generic: %s", ib_ucp.ucs_status_string(made));
}

/* Its failure is reported for the endpoint. */
static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    (void)status;
    struct ib_am_message *message = user_data;
    ib_am_message_release(message);
    ib_ucp.ucp_request_free(request);
}

enum {
    HAS_REPLY = 1 << IB_AM_FLUSH | 1 << IB_AM_PUT_FLUSH | 1 << IB_AM_FETCH | 1 << IB_AM_SIGNAL_FLUSH |
                1 << IB_AM_SIGNAL_FETCH | 1 << IB_AM_QP_REQUEST
};
enum { WITHOUT_REQUEST_ID = 1 << IB_AM_PUT | 1 << IB_AM_PUTS | 1 << IB_AM_POST | 1 << IB_AM_SIGNAL };
enum { REQUEST_ID_ONLY = 1 << IB_AM_FLUSH | 1 << IB_AM_FLUSH_REPLY | 1 << IB_AM_REFUSAL };

ucs_status_t ib_am_send(struct ib_worker *worker, ucp_ep_h ucp_ep, enum ib_am_id id, struct ib_am_message *message,
                        size_t data_bytes)
{
    unsigned bit = 1u << id;
    const char *end = (bit & REQUEST_ID_ONLY) != 0 ? (const char *)&message->address : message->data + data_bytes;
    ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .flags = UCP_AM_SEND_FLAG_EAGER | ((bit & HAS_REPLY) != 0 ? UCP_AM_SEND_FLAG_REPLY : 0u),
        .datatype = worker->tr->am_datatype,
        .memory_type = UCS_MEMORY_TYPE_HOST,
        .cb.send = on_sent,
        .user_data = message,
    };
    message->worker = worker;
    message->begin = (bit & WITHOUT_REQUEST_ID) != 0 ? (const char *)&message->address
                                                     : (const char *)&message->request;
    message->length_bytes = (size_t)(end - message->begin);
    bool packs = packs_messages(worker->tr);
    const void *data = packs ? (const void *)message : message->begin;
    size_t n = packs ? 1 : message->length_bytes;
    ucs_status_ptr_t request = ib_ucp.ucp_am_send_nbx(ucp_ep, id, NULL, 0, data, n, &params);
    if (UCS_PTR_IS_PTR(request)) return UCS_OK;
    ib_am_message_release(message);
    return UCS_PTR_STATUS(request);
}

void ib_am_reply(struct ib_worker *worker, ucp_ep_h reply_ep, enum ib_am_id id, struct ib_am_message *message,
                 size_t data_bytes)
{
    ucs_status_t sent = ib_am_send(worker, reply_ep, id, message, data_bytes);
    if (sent == UCS_ERR_NO_MEMORY) ib_ucp_note_no_memory("sending a reply"); /* any other: the peer is lost */
}

/* ---- receiving ---- */

isthmus_status ib_am_listen(struct ib_worker *worker, unsigned id, ucp_am_recv_callback_t callback)
{
    const struct isthmus_services *s = worker->tr->services;
    const ucp_am_handler_param_t params = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = id,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = callback,
        .arg = worker,
    };
    ucs_status_t set = ib_ucp.ucp_worker_set_am_recv_handler(worker->ucp, &params);
    if (set == UCS_OK) return ISTHMUS_OK;
    return s->fail(s->core, ib_ucp_code(set), "ucp_worker_set_am_recv_handler: %s", ib_ucp.ucs_status_string(set));
}

bool ib_am_is_eager(const ucp_am_recv_param_t *param, size_t header_bytes)
{
    return header_bytes == 0 && (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
}

/* ---- memory that messages of peers may write ---- */

void ib_am_expose(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    ib_worker_lock(&tr->workers[0]);
    lmem->next = tr->exposed;
    tr->exposed = lmem;
    lmem->is_exposed = true;
    ib_worker_unlock(&tr->workers[0]);
}

void ib_am_hide(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    if (!lmem->is_exposed) return;
    ib_worker_lock(&tr->workers[0]);
    isthmus_lmem **link = &tr->exposed;
    while (*link != lmem) link = &(*link)->next;
    *link = lmem->next;
    ib_worker_unlock(&tr->workers[0]);
}

/* Most puts go to the extent of the last put, which therefore moves to the front. */
bool ib_am_is_exposed(isthmus_tr *tr, uint64_t address, size_t length_bytes)
{
    for (isthmus_lmem **link = &tr->exposed; *link != NULL; link = &(*link)->next) {
        isthmus_lmem *lmem = *link;
        uint64_t offset = address - (uint64_t)(uintptr_t)lmem->addr;
        if (offset > lmem->length_bytes || length_bytes > lmem->length_bytes - offset) continue;
        *link = lmem->next;
        lmem->next = tr->exposed;
        tr->exposed = lmem;
        return true;
    }
    return false;
}

/* One store writes a word, because a thread may read it meanwhile. It comes after the data of earlier messages: a fence
 * between two puts is nothing but the order of their messages. */
void ib_am_write(uint64_t address, const void *data, size_t length_bytes)
{
    void *dest = (void *)(uintptr_t)address;
    uint64_t word;
    if (length_bytes != sizeof word || address % sizeof word != 0) {
        isthmus_order_stores_();
        isthmus_copy_cpu(dest, data, length_bytes);
        return;
    }
    memcpy(&word, data, sizeof word);
    __atomic_store_n((uint64_t *)dest, word, __ATOMIC_RELEASE);
}

/* ---- workers ---- */

isthmus_status ib_ep_add_id(struct ib_ep *ep)
{
    struct ib_worker *worker = ep->worker;
    const struct isthmus_services *s = worker->tr->services;
    if ((worker->n_ep_ids & (worker->n_ep_ids - 1)) == 0) { /* as long as the next power of two */
        size_t room = worker->n_ep_ids > 0 ? 2 * (size_t)worker->n_ep_ids : 1;
        struct ib_ep **more = realloc(worker->eps_by_id, room * sizeof(struct ib_ep *));
        if (more == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for messages of another peer");
        worker->eps_by_id = more;
    }
    ep->id = worker->n_ep_ids;
    worker->eps_by_id[worker->n_ep_ids++] = ep;
    return ISTHMUS_OK;
}

isthmus_status ib_am_open(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_am_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for messages");
    for (size_t i = 0; i < MAX_MESSAGES; i++) {
        pool->list[i].next = pool->free;
        pool->free = &pool->list[i];
    }
    worker->am_pool = pool;
    isthmus_status status = worker->index == 0 ? datatype_create(worker->tr) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = ib_am_amos_open(worker);
    if (status == ISTHMUS_OK) status = ib_am_puts_listen(worker);
    if (status == ISTHMUS_OK) status = ib_am_gather_listen(worker);
    return status == ISTHMUS_OK ? ib_am_signals_listen(worker) : status;
}

void ib_am_close(struct ib_worker *worker)
{
    if (worker->index == 0 && worker->tr->am_datatype != 0) ib_ucp.ucp_dt_destroy(worker->tr->am_datatype);
    free(worker->am_pool);
    free(worker->am_fetches);
    free(worker->eps_by_id);
}

/* plugins/ib/am/am_put.c: short puts, and commits, as messages of our own, where UCX makes messages of them anyway (over
 * TCP).
 *
 * UCX has each of its puts answered, and has its flush send one more, which is answered twice. Here a commit is a call,
 * which the peer answers in order, and puts get no reply; but a put that its caller waits for carries a call with it
 * when no other is under way, since a commit is likely to follow: each message takes a call of the system. Nothing
 * overtakes anything: all that an end sends, UCX's own messages too, goes one after the other through one connection
 * (IB_LINE), and is done by the peer as it arrives.
 * Not about ends on which an adapter executes operations, nor about memory of devices. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/copy_cpu.h>
#include <isthmus/inline.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGES = 64 }; /* of a worker, on their way to UCX */

_Static_assert(offsetof(struct ib_message, address) == offsetof(struct ib_message, ticket) + sizeof(struct ib_ticket) &&
                   offsetof(struct ib_message, data) == offsetof(struct ib_message, address) + sizeof(uint64_t),
               "sent in one piece");

struct ib_shorts {
    struct ib_message *free;
    struct ib_message list[MAX_MESSAGES];
};

/* ---- messages: UCX may need one for longer than the call that sends it. Under the worker's lock ---- */

struct ib_message *ib_message_get(struct ib_worker *worker)
{
    struct ib_shorts *shorts = worker->shorts;
    struct ib_message *message = shorts->free;
    if (message != NULL) shorts->free = message->next;
    return message;
}

/* Answers are sent whatever is under way. */
struct ib_message *ib_message_get_extra(struct ib_worker *worker)
{
    struct ib_message *message = ib_message_get(worker);
    if (message != NULL) return message;
    message = malloc(sizeof *message);
    if (message == NULL)
        ib_ucp_starves("an answer");
    else
        message->is_extra = true;
    return message;
}

static void message_give_back(struct ib_worker *worker, struct ib_message *message)
{
    ib_batch_count(&worker->room, 0);
    if (message->is_extra) {
        free(message);
        return;
    }
    message->next = worker->shorts->free;
    worker->shorts->free = message;
}

/* ---- sending. UCX would hand a short message to the system in two pieces, which costs more than a copy: a datatype of
 * our own makes it one ---- */

static void *start_pack(void *context, const void *message, size_t count)
{
    (void)context, (void)count;
    return (void *)(uintptr_t)message;
}

static size_t packed_size(void *state) { return ((const struct ib_message *)state)->length_bytes; }

static size_t pack(void *state, size_t offset_bytes, void *dest, size_t room_bytes)
{
    const struct ib_message *message = state;
    size_t rest_bytes = message->length_bytes - offset_bytes, n = rest_bytes < room_bytes ? rest_bytes : room_bytes;
    memcpy(dest, message->begin + offset_bytes, n);
    return n;
}

static void finish_pack(void *state) { (void)state; }

static isthmus_status message_type_create(isthmus_tr *tr)
{
    const struct isthmus_services *s = tr->services;
    static const ucp_generic_dt_ops_t ops = {
        .start_pack = start_pack, .packed_size = packed_size, .pack = pack, .finish = finish_pack};
    ucs_status_t made = ib_ucp.ucp_dt_create_generic(&ops, NULL, &tr->message_type);
    if (made == UCS_OK) return ISTHMUS_OK;
    return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "ucp_dt_create_generic: %s", ib_ucp.ucs_status_string(made));
}

/* Whether it has failed is seen at its end. */
static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    (void)status;
    struct ib_message *message = user_data;
    message_give_back(message->worker, message);
    ib_ucp.ucp_request_free(request);
}

enum {
    ANSWERED = 1 << IB_MESSAGE_CALL | 1 << IB_MESSAGE_PUT_AND_CALL | 1 << IB_MESSAGE_FETCHING |
               1 << IB_MESSAGE_SIGNAL_AND_CALL | 1 << IB_MESSAGE_SIGNAL_FETCHING | 1 << IB_MESSAGE_LINK
};
enum { WITHOUT_TICKET = 1 << IB_MESSAGE_PUT | 1 << IB_MESSAGE_ATOMIC | 1 << IB_MESSAGE_SIGNAL };
enum { TICKET_ONLY = 1 << IB_MESSAGE_CALL | 1 << IB_MESSAGE_HERE | 1 << IB_MESSAGE_REFUSED };

ucs_status_t ib_message_send(struct ib_worker *worker, ucp_ep_h ep, enum ib_message_kind kind,
                             struct ib_message *message, size_t data_bytes)
{
    unsigned bit = 1u << kind;
    const char *end = (bit & TICKET_ONLY) != 0 ? (const char *)&message->address : message->data + data_bytes;
    ucp_request_param_t params = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                        UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .flags = UCP_AM_SEND_FLAG_EAGER | ((bit & ANSWERED) != 0 ? UCP_AM_SEND_FLAG_REPLY : 0u),
        .datatype = worker->tr->message_type,
        .memory_type = UCS_MEMORY_TYPE_HOST,
        .cb.send = on_sent,
        .user_data = message,
    };
    message->worker = worker;
    message->begin = (bit & WITHOUT_TICKET) != 0 ? (const char *)&message->address : (const char *)&message->ticket;
    message->length_bytes = (size_t)(end - message->begin);
    ucs_status_ptr_t request = ib_ucp.ucp_am_send_nbx(ep, kind, NULL, 0, message, 1, &params);
    if (UCS_PTR_IS_PTR(request)) return UCS_OK;
    message_give_back(worker, message);
    return UCS_PTR_STATUS(request);
}

void ib_message_answer(struct ib_worker *worker, ucp_ep_h reply_ep, enum ib_message_kind kind,
                       struct ib_message *message, size_t data_bytes)
{
    ucs_status_t sent = ib_message_send(worker, reply_ep, kind, message, data_bytes);
    if (sent == UCS_ERR_NO_MEMORY) ib_ucp_starves("sending an answer"); /* any other: the peer is lost */
}

/* ---- sent by this PE ---- */

/* One call at a time: its reply confirms all messages before it. */
void ib_short_add_call(struct ib_end *end, struct ib_message *message)
{
    message->ticket = (struct ib_ticket){.number = end->number, .turn = ++end->turn};
    end->n_flushing = end->n_issued;
    end->is_calling = true;
    ib_batch_count(&end->flush, end->flush.n_pending + 1);
}

bool ib_short_put(struct ib_end *end, uint64_t address, const struct ib_short *data, struct ib_batch *batch)
{
    struct ib_message *message = ib_message_get(end->worker);
    if (message == NULL) return false;
    bool calls = data->calls && end->flush.n_pending == 0;
    ib_end_note(end, ib_class_of_put(data->length_bytes), !data->is_notice);
    if (calls) ib_short_add_call(end, message);
    message->address = address;
    memcpy(message->data, data->bytes, data->length_bytes);
    ucs_status_t sent = ib_message_send(end->worker, end->ep, calls ? IB_MESSAGE_PUT_AND_CALL : IB_MESSAGE_PUT, message,
                                        data->length_bytes);
    if (sent == UCS_OK) return true;
    if (batch->failure == UCS_OK) batch->failure = sent;
    if (calls) ib_short_call_ended(end, sent);
    return true;
}

bool ib_short_call(struct ib_end *end)
{
    struct ib_message *message = ib_message_get(end->worker);
    if (message == NULL) return false;
    ib_short_add_call(end, message);
    ucs_status_t sent = ib_message_send(end->worker, end->ep, IB_MESSAGE_CALL, message, 0);
    if (sent != UCS_OK) ib_short_call_ended(end, sent);
    return true;
}

void ib_short_call_ended(struct ib_end *end, ucs_status_t status)
{
    if (!end->is_calling) return;
    end->is_calling = false;
    if (status != UCS_OK && end->flush.failure == UCS_OK) end->flush.failure = status;
    if (status == UCS_OK) end->n_committed = end->n_flushing;
    ib_batch_count(&end->flush, end->flush.n_pending - 1);
}

/* ---- messages of peers: nothing in them is trusted ---- */

/* Memory whose key peers have. Most puts go where the last one went, so that one moves to the front. */
bool ib_short_is_exposed(isthmus_tr *tr, uint64_t address, size_t length_bytes)
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

/* A word is written by one store, because a PE may read it meanwhile, and all data after that of earlier messages: a
 * fence is nothing but the order of messages. */
void ib_short_write(uint64_t address, const void *data, size_t length_bytes)
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

/* An address, and the data for it. */
static void put(const struct ib_worker *worker, const char *message, size_t message_bytes)
{
    const struct isthmus_services *s = worker->tr->services;
    uint64_t address = 0;
    size_t data_bytes = message_bytes - sizeof address;
    if (message_bytes >= sizeof address) memcpy(&address, message, sizeof address);
    if (address != 0 && data_bytes <= IB_SHORT_BYTES && ib_short_is_exposed(worker->tr, address, data_bytes))
        ib_short_write(address, message + sizeof address, data_bytes);
    else
        s->log(s->core, ISTHMUS_LOG_WARN, "a put of %zu bytes to 0x%llx, where peers may not write, is dropped",
               data_bytes, (unsigned long long)address);
}

/* All messages before it are done. */
void ib_short_answer(struct ib_worker *worker, const struct ib_ticket *ticket, const ucp_am_recv_param_t *param)
{
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) return;
    struct ib_message *message = ib_message_get_extra(worker);
    if (message == NULL) return;
    message->ticket = *ticket;
    ib_message_answer(worker, param->reply_ep, IB_MESSAGE_HERE, message, 0);
}

bool ib_message_is_here(const ucp_am_recv_param_t *param, size_t header_bytes)
{
    return header_bytes == 0 && (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
}

static ucs_status_t on_put(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                           const ucp_am_recv_param_t *param)
{
    (void)header;
    if (ib_message_is_here(param, header_bytes)) put(arg, data, length_bytes);
    return UCS_OK;
}

static ucs_status_t on_call(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                            const ucp_am_recv_param_t *param)
{
    struct ib_ticket ticket;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes < sizeof ticket) return UCS_OK;
    memcpy(&ticket, data, sizeof ticket);
    if (length_bytes > sizeof ticket) put(arg, (const char *)data + sizeof ticket, length_bytes - sizeof ticket);
    ib_short_answer(arg, &ticket, param);
    return UCS_OK;
}

static ucs_status_t on_here(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                            const ucp_am_recv_param_t *param)
{
    const struct ib_worker *worker = arg;
    struct ib_ticket ticket;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes != sizeof ticket) return UCS_OK;
    memcpy(&ticket, data, sizeof ticket);
    struct ib_end *end = ticket.number < worker->n_numbers ? worker->numbered[ticket.number] : NULL;
    if (end != NULL && end->turn == ticket.turn) ib_short_call_ended(end, UCS_OK);
    return UCS_OK;
}

/* ---- life ---- */

isthmus_status ib_shorts_open(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_shorts *shorts = calloc(1, sizeof *shorts);
    if (shorts == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for messages");
    for (size_t i = 0; i < MAX_MESSAGES; i++) {
        shorts->list[i].next = shorts->free;
        shorts->free = &shorts->list[i];
    }
    worker->shorts = shorts;
    isthmus_status status = worker->index == 0 ? message_type_create(worker->tr) : ISTHMUS_OK;
    if (status == ISTHMUS_OK) status = ib_short_amos_open(worker);
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_HERE, on_here);
    if (worker->index > 0) return status; /* peers know the address of the first one */
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_PUT, on_put);
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_CALL, on_call);
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_PUT_AND_CALL, on_call);
    return status == ISTHMUS_OK ? ib_signals_listen(worker) : status;
}

void ib_shorts_close(struct ib_worker *worker)
{
    if (worker->index == 0 && worker->tr->message_type != 0) ib_ucp.ucp_dt_destroy(worker->tr->message_type);
    free(worker->shorts);
    free(worker->waits);
    free(worker->numbered);
}

isthmus_status ib_short_number(struct ib_end *end)
{
    struct ib_worker *worker = end->worker;
    const struct isthmus_services *s = worker->tr->services;
    if ((worker->n_numbers & (worker->n_numbers - 1)) == 0) { /* as long as the next power of two */
        size_t room = worker->n_numbers > 0 ? 2 * (size_t)worker->n_numbers : 1;
        struct ib_end **more = realloc(worker->numbered, room * sizeof(struct ib_end *));
        if (more == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for one more peer");
        worker->numbered = more;
    }
    end->number = worker->n_numbers;
    worker->numbered[worker->n_numbers++] = end;
    return ISTHMUS_OK;
}

enum ib_carriage ib_short_carriage(const struct ib_end *end)
{
    char *info = NULL;
    size_t info_bytes;
    const isthmus_tr *tr = end->worker->tr;
    bool may_be_of_device = tr->stage != NULL && tr->kinds != 1u << ISTHMUS_MEM_HOST; /* UCX sees that of an address */
    FILE *stream = open_memstream(&info, &info_bytes);
    if (stream == NULL) return IB_LANES;
    ib_ucp.ucp_ep_print_info(end->ep, stream);
    enum ib_carriage carriage = fclose(stream) == 0 ? ib_carriage_read(info) : IB_LANES;
    free(info);
    return carriage == IB_LINE && may_be_of_device ? IB_LANE : carriage;
}

void ib_short_expose(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    ib_worker_lock(&tr->workers[0]);
    lmem->next = tr->exposed;
    tr->exposed = lmem;
    lmem->is_exposed = true;
    ib_worker_unlock(&tr->workers[0]);
}

void ib_short_hide(isthmus_lmem *lmem)
{
    isthmus_tr *tr = lmem->tr;
    if (!lmem->is_exposed) return;
    ib_worker_lock(&tr->workers[0]);
    isthmus_lmem **link = &tr->exposed;
    while (*link != lmem) link = &(*link)->next;
    *link = lmem->next;
    ib_worker_unlock(&tr->workers[0]);
}

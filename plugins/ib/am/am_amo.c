/* plugins/ib/am/am_amo.c: atomics as messages of our own. The peer executes them on its processor, which is the home
 * of atomics on host memory, as do PEs that load and store: all exclude one another.
 * UCX would send messages too, and have all of them answered. It is not used: from 1.16 on it finds no protocol for
 * atomics on an endpoint that reports the loss of its peer ("cannot find remote protocol for amo_post"), 1.13 stores
 * wrong results of fetching and, or, xor over its shared memory, and none has 8 and 16 bits.
 * A message has a reply, unless it fetches nothing on an end that is a line (am_put.c): a commit
 * covers that. */
#include "plugins/ib/am/am_priv.h"

#include <isthmus/amo_cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WAITING = 64 }; /* of a worker */

/* One that fetches, until its answer is there. */
struct waiting {
    struct waiting *next; /* free */
    struct ib_end *end;   /* NULL: free */
    struct ib_batch *batch, *also;
    void *fetched; /* NULL: the old value is dropped */
    uint32_t size_bytes;
    struct ib_ticket ticket; /* the turn changes with each use: a late reply to an old one finds no request */
};

struct ib_waits {
    struct waiting *free;
    struct waiting list[MAX_WAITING];
};

/* ---- sent by this PE ---- */

static void waiting_end(struct ib_worker *worker, struct waiting *waiting, ucs_status_t status)
{
    struct ib_batch *batch = waiting->batch, *also = waiting->also;
    ib_answers_add(&waiting->end->messages);
    waiting->end = NULL;
    waiting->ticket.turn++;
    waiting->next = worker->waits->free;
    worker->waits->free = waiting;
    ib_batch_count(&worker->room, 0);
    if (also != NULL) ib_batch_count(also, also->n_pending - 1);
    ib_batch_end(batch, status);
}

struct ib_message *ib_message_get_answered(struct ib_end *end, const struct ib_waiting_for *what)
{
    struct ib_worker *worker = end->worker;
    struct waiting *waiting = worker->waits->free;
    struct ib_message *message = waiting != NULL ? ib_message_get(worker) : NULL;
    if (message == NULL) return NULL;
    worker->waits->free = waiting->next;
    waiting->end = end;
    waiting->batch = what->batch;
    waiting->also = what->also;
    waiting->fetched = what->fetched;
    waiting->size_bytes = what->size_bytes;
    message->ticket = waiting->ticket;
    end->messages.n_asked++;
    end->issued |= 1u << IB_MESSAGE;
    ib_batch_count(what->batch, what->batch->n_pending + 1);
    if (what->also != NULL) ib_batch_count(what->also, what->also->n_pending + 1);
    return message;
}

void ib_message_send_answered(struct ib_end *end, enum ib_message_kind kind, struct ib_message *message,
                              size_t data_bytes)
{
    struct ib_worker *worker = end->worker;
    struct waiting *waiting = &worker->waits->list[message->ticket.number];
    ucs_status_t sent = ib_message_send(worker, end->ep, kind, message, data_bytes);
    if (sent != UCS_OK) waiting_end(worker, waiting, sent);
}

static void fill(struct ib_message *message, uint64_t address, const struct ib_atomic *amo)
{
    message->address = address;
    memcpy(message->data, amo, sizeof *amo);
}

bool ib_short_fetch(struct ib_end *end, uint64_t address, const struct ib_atomic *amo, void *fetched,
                    struct ib_batch *batch, struct ib_batch *also)
{
    const struct ib_waiting_for what = {batch, also, fetched, amo->size_bytes};
    struct ib_message *message = ib_message_get_answered(end, &what);
    if (message == NULL) return false;
    fill(message, address, amo);
    ib_message_send_answered(end, IB_MESSAGE_FETCHING, message, sizeof *amo);
    return true;
}

bool ib_short_post(struct ib_end *end, uint64_t address, const struct ib_atomic *amo, struct ib_batch *batch)
{
    struct ib_message *message = ib_message_get(end->worker);
    if (message == NULL) return false;
    ib_end_note(end, IB_MESSAGE, true);
    fill(message, address, amo);
    ucs_status_t sent = ib_message_send(end->worker, end->ep, IB_MESSAGE_ATOMIC, message, sizeof *amo);
    if (sent != UCS_OK && batch->failure == UCS_OK) batch->failure = sent;
    return true;
}

void ib_short_fetches_fail(struct ib_worker *worker, const struct ib_end *end)
{
    for (uint32_t i = 0; i < MAX_WAITING; i++)
        if (worker->waits->list[i].end == end) waiting_end(worker, &worker->waits->list[i], end->failure);
}

/* ---- messages of peers: nothing in them is trusted ---- */

/* Returns false if the message is refused, with a line in the log. */
static bool execute(const struct ib_worker *worker, const char *message, uint64_t *old)
{
    const struct isthmus_services *s = worker->tr->services;
    uint64_t address;
    struct ib_atomic amo;
    memcpy(&address, message, sizeof address);
    memcpy(&amo, message + sizeof address, sizeof amo);
    bool has_width = amo.size_bytes == 1 || amo.size_bytes == 2 || amo.size_bytes == 4 || amo.size_bytes == 8;
    if (has_width && amo.op < ISTHMUS_AMO_COUNT && address != 0 && address % amo.size_bytes == 0 &&
        ib_short_is_exposed(worker->tr, address, amo.size_bytes)) {
        *old = isthmus_amo_cpu(amo.op, (void *)(uintptr_t)address, amo.operand, amo.compare, amo.size_bytes);
        return true;
    }
    s->log(s->core, ISTHMUS_LOG_WARN, "an atomic (%u) on %u bytes at 0x%llx, where peers may do none, is dropped",
           amo.op, amo.size_bytes, (unsigned long long)address);
    return false;
}

enum { REQUEST_BYTES = sizeof(uint64_t) + sizeof(struct ib_atomic) };

static ucs_status_t on_atomic(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                              const ucp_am_recv_param_t *param)
{
    uint64_t old;
    (void)header;
    if (ib_message_is_here(param, header_bytes) && length_bytes == REQUEST_BYTES) (void)execute(arg, data, &old);
    return UCS_OK;
}

/* A refused message gets a reply too: its sender must not wait for ever. */
static ucs_status_t on_fetching(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                                const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    struct ib_ticket ticket;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes != sizeof ticket + REQUEST_BYTES ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0)
        return UCS_OK;
    struct ib_message *message = ib_message_get_extra(worker);
    if (message == NULL) return UCS_OK;
    memcpy(&message->ticket, data, sizeof ticket);
    bool is_done = execute(worker, (const char *)data + sizeof ticket, &message->address);
    ib_message_answer(worker, param->reply_ep, is_done ? IB_MESSAGE_FETCHED : IB_MESSAGE_REFUSED, message, 0);
    return UCS_OK;
}

/* Returns the waiting atomic of a reply, or NULL if there is none. */
static struct waiting *waiting_of(const struct ib_worker *worker, const char *message)
{
    struct ib_ticket ticket;
    memcpy(&ticket, message, sizeof ticket);
    if (ticket.number >= MAX_WAITING) return NULL;
    struct waiting *waiting = &worker->waits->list[ticket.number];
    return waiting->end != NULL && waiting->ticket.turn == ticket.turn ? waiting : NULL;
}

static ucs_status_t on_fetched(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                               const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes != sizeof(struct ib_ticket) + sizeof(uint64_t))
        return UCS_OK;
    struct waiting *waiting = waiting_of(worker, data);
    if (waiting == NULL) return UCS_OK;
    if (waiting->fetched != NULL)
        memcpy(waiting->fetched, (const char *)data + sizeof(struct ib_ticket), waiting->size_bytes);
    waiting_end(worker, waiting, UCS_OK);
    return UCS_OK;
}

static ucs_status_t on_refused(void *arg, const void *header, size_t header_bytes, void *data, size_t length_bytes,
                               const ucp_am_recv_param_t *param)
{
    struct ib_worker *worker = arg;
    (void)header;
    if (!ib_message_is_here(param, header_bytes) || length_bytes != sizeof(struct ib_ticket)) return UCS_OK;
    struct waiting *waiting = waiting_of(worker, data);
    if (waiting == NULL) return UCS_OK;
    const isthmus_path *path = waiting->end->path;
    char text[160];
    snprintf(text, sizeof text, "PE %d on %s refuses an atomic on memory that it has not exposed", path->pe,
             path->host_name);
    ib_refusal_keep(worker->tr, ISTHMUS_ERR_INVALID, text);
    waiting_end(worker, waiting, IB_REFUSED);
    return UCS_OK;
}

/* ---- life ---- */

isthmus_status ib_short_amos_open(struct ib_worker *worker)
{
    const struct isthmus_services *s = worker->tr->services;
    struct ib_waits *waits = calloc(1, sizeof *waits);
    if (waits == NULL) return s->fail(s->core, ISTHMUS_ERR_NO_MEMORY, "no memory for atomics");
    for (uint32_t i = 0; i < MAX_WAITING; i++) {
        waits->list[i].ticket.number = i;
        waits->list[i].next = waits->free;
        waits->free = &waits->list[i];
    }
    worker->waits = waits;
    isthmus_status status = ib_listen(worker, IB_MESSAGE_FETCHED, on_fetched);
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_REFUSED, on_refused);
    if (worker->index > 0) return status; /* peers know the address of the first one */
    if (status == ISTHMUS_OK) status = ib_listen(worker, IB_MESSAGE_ATOMIC, on_atomic);
    return status == ISTHMUS_OK ? ib_listen(worker, IB_MESSAGE_FETCHING, on_fetching) : status;
}

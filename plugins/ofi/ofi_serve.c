/* plugins/ofi/ofi_serve.c: the target's side: executes the requests of peers in the order in which each has sent them.
 * Nothing here waits: replies that the provider does not take are owed, and sent by a later poll. Nothing in a message
 * is trusted. */
#include "ofi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A received request. */
struct request {
    isthmus_tr *tr;
    struct ofi_head head;
    struct ofi_peer *peer;
    const char *body;
    size_t body_bytes;
};

/* ---- replies ---- */

static bool send_reply(isthmus_tr *tr, struct ofi_owed *owed)
{
    struct ofi_head *head = &owed->head;
    head->token = owed->peer->token;
    if (owed->data_bytes == 0 && sizeof *head <= tr->inject_bytes)
        return ofi_inject(tr, owed->peer, head, sizeof *head);
    struct ofi_op *op = ofi_op_take(&tr->free_messages);
    if (op == NULL) return false;
    const isthmus_lmem *lmem = owed->data_bytes > 0 ? ofi_extent_find(tr, &owed->from, owed->data_bytes) : NULL;
    size_t n_bytes = sizeof *head;
    isthmus_status status = ISTHMUS_OK;
    if (lmem != NULL) {
        status = ofi_copy(tr, lmem->kind, op->buffer + n_bytes, lmem->addr + owed->from.offset_bytes, owed->data_bytes);
        n_bytes += owed->data_bytes;
    }
    if (owed->data_bytes > 0 && (lmem == NULL || status != ISTHMUS_OK)) {
        head->flags |= OFI_REFUSED;
        n_bytes = sizeof *head;
    }
    memcpy(op->buffer, head, sizeof *head);
    void *desc = tr->buffers_mr != NULL ? fi_mr_desc(tr->buffers_mr) : NULL;
    if (fi_send(tr->ep, op->buffer, n_bytes, desc, owed->peer->address, &op->context) == 0) return true;
    ofi_op_give(&tr->free_messages, op);
    return false;
}

void ofi_pay(isthmus_tr *tr)
{
    while (tr->owed != NULL && send_reply(tr, tr->owed)) {
        struct ofi_owed *next = tr->owed->next;
        free(tr->owed);
        tr->owed = next;
    }
    if (tr->owed == NULL) tr->owed_end = &tr->owed;
}

/* The operations that a reply confirms are visible to every PE before it leaves. */
static void reply(const struct request *r, enum ofi_kind kind, uint64_t number, const struct ofi_owed *data)
{
    isthmus_tr *tr = r->tr;
    struct ofi_owed owed = {.peer = r->peer, .head = r->head};
    if (data != NULL) {
        owed.from = data->from;
        owed.data_bytes = data->data_bytes;
    }
    owed.head.kind = kind;
    owed.head.pe = tr->services->my_pe;
    owed.head.number = number;
    owed.head.flags = r->head.flags & OFI_REFUSED;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (tr->owed == NULL && send_reply(tr, &owed)) return;
    struct ofi_owed *later = malloc(sizeof *later);
    if (later == NULL) {
        tr->is_out_of_memory = true;
        return;
    }
    *later = owed;
    *tr->owed_end = later;
    tr->owed_end = &later->next;
}

/* ---- requests: each returns false if the peer must not do that ---- */

static bool take(const struct request *r, void *out, size_t n_bytes)
{
    if (r->body_bytes < n_bytes) return false;
    memcpy(out, r->body, n_bytes);
    return true;
}

static bool do_put(const struct request *r, const struct ofi_place *place, size_t body_bytes)
{
    size_t n_bytes = r->body_bytes - body_bytes;
    const isthmus_lmem *lmem = ofi_extent_find(r->tr, place, n_bytes);
    if (lmem == NULL) return false;
    /* A PE that sees this data, a flag perhaps, sees that of earlier messages. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return ofi_copy(r->tr, lmem->kind, lmem->addr + place->offset_bytes, r->body + body_bytes, n_bytes) == ISTHMUS_OK;
}

static bool do_amo(struct request *r, const struct ofi_amo_body *body, uint64_t *old)
{
    size_t size = r->head.bits < ISTHMUS_BITS_COUNT ? (size_t)1 << r->head.bits : 0;
    const isthmus_lmem *lmem = size > 0 ? ofi_extent_find(r->tr, &body->place, size) : NULL;
    if (lmem == NULL || r->head.op >= ISTHMUS_AMO_COUNT) return false;
    char *at = lmem->addr + body->place.offset_bytes;
    return (uintptr_t)at % size == 0 && ofi_amo_here(r->tr, lmem, at, &r->head, body, old);
}

static bool do_put_signal(struct request *r)
{
    struct ofi_signal_body body;
    uint64_t old;
    if (!take(r, &body, sizeof body) || !do_put(r, &body.place, sizeof body)) return false;
    r->head.bits = ISTHMUS_BITS64;
    return do_amo(r, &(struct ofi_amo_body){.place = body.signal, .operand = body.value}, &old);
}

static bool do_get(const struct request *r)
{
    struct ofi_get_body body;
    if (!take(r, &body, sizeof body) || body.length_bytes == 0 || body.length_bytes > OFI_DATA_BYTES) return false;
    if (ofi_extent_find(r->tr, &body.place, body.length_bytes) == NULL) return false;
    reply(r, OFI_REPLY, 0, &(struct ofi_owed){.from = body.place, .data_bytes = (uint32_t)body.length_bytes});
    return true;
}

static bool do_check(const struct request *r)
{
    struct ofi_get_body body;
    if (!take(r, &body, sizeof body) || ofi_extent_find(r->tr, &body.place, body.length_bytes) == NULL) return false;
    reply(r, OFI_REPLY, 0, NULL);
    return true;
}

/* A PE that opens a path a second time is known. */
static bool do_hello(struct request *r)
{
    struct ofi_hello hello;
    isthmus_tr *tr = r->tr;
    if (!take(r, &hello, sizeof hello) || hello.address_bytes > sizeof hello.address) return false;
    if (!r->peer->is_known) {
        if (fi_av_insert(tr->av, hello.address, 1, &r->peer->address, 0, NULL) != 1) return false;
        memcpy(r->peer->host_name, hello.host_name, sizeof r->peer->host_name);
        r->peer->host_name[sizeof r->peer->host_name - 1] = '\0';
        r->peer->is_known = true;
    }
    r->peer->token = hello.token;
    reply(r, OFI_REPLY, 0, NULL);
    return true;
}

static bool execute(struct request *r)
{
    struct ofi_amo_body amo;
    struct ofi_place place;
    uint64_t old = 0;
    switch (r->head.kind) {
    case OFI_HELLO: return do_hello(r);
    case OFI_CHECK: return do_check(r);
    case OFI_PUT: return take(r, &place, sizeof place) && do_put(r, &place, sizeof place);
    case OFI_PUT_SIGNAL: return do_put_signal(r);
    case OFI_GET: return do_get(r);
    case OFI_AMO:
        if (!take(r, &amo, sizeof amo) || !do_amo(r, &amo, &old)) return false;
        if (r->head.call != OFI_NO_CALL) reply(r, OFI_REPLY, old, NULL);
        return true;
    case OFI_COMMIT: return true;
    default: return false;
    }
}

/* The order of messages is the provider's promise, on which fences and acknowledgements rest. */
static bool is_in_order(struct request *r)
{
    const struct isthmus_services *s = r->tr->services;
    if (r->head.sequence == r->peer->n_received) {
        r->peer->n_received++;
        return true;
    }
    s->log(s->core, ISTHMUS_LOG_ERROR,
           "message %u of PE %d has arrived where number %u was due: provider %s does not "
           "keep the order that it promises",
           r->head.sequence, r->head.pe, r->peer->n_received, r->tr->info->fabric_attr->prov_name);
    r->peer->n_received = r->head.sequence + 1;
    return false;
}

static void serve_request(struct request *r)
{
    const struct isthmus_services *s = r->tr->services;
    bool is_refused = !is_in_order(r) || !execute(r);
    if (is_refused) {
        s->log(s->core, ISTHMUS_LOG_WARN,
               "a request of PE %d on %s is refused: it is invalid, or outside of the "
               "memory that this PE exposes",
               r->head.pe, r->peer->host_name);
        r->head.flags |= OFI_REFUSED;
        if (r->head.call != OFI_NO_CALL && r->peer->is_known) reply(r, OFI_REPLY, 0, NULL);
        r->peer->has_refused = true;
    }
    if (r->peer->has_refused) r->head.flags |= OFI_REFUSED;
    if ((r->head.flags & OFI_WANTS_ACK) != 0 && r->peer->is_known) reply(r, OFI_ACK, r->head.number, NULL);
}

void ofi_serve(isthmus_tr *tr, const char *message, size_t n_bytes)
{
    struct request r = {.tr = tr};
    if (n_bytes < sizeof r.head) return;
    memcpy(&r.head, message, sizeof r.head);
    /* A message with another token is not from this job. */
    if (r.head.token != tr->card.token || r.head.pe < 0 || r.head.pe >= tr->services->n_pes) return;
    r.peer = &tr->peers[r.head.pe];
    r.body = message + sizeof r.head;
    r.body_bytes = n_bytes - sizeof r.head;
    if (r.head.kind == OFI_PING) return;
    if (r.head.kind == OFI_REPLY || r.head.kind == OFI_ACK) {
        ofi_on_reply(tr, &r.head, r.body, r.body_bytes);
        return;
    }
    if (r.head.kind == OFI_HELLO || r.peer->is_known) serve_request(&r);
}

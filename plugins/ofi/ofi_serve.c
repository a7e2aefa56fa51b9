/* plugins/ofi/ofi_serve.c: the target's side: executes the requests of peers in the order in which each has sent them.
 * Nothing here waits: replies that the provider does not take now are sent by a later poll. Nothing in a message is
 * trusted. */
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

/* Makes a reply in the buffer of a message. Returns its length. */
static size_t make_reply(isthmus_tr *tr, struct ofi_reply *reply, char *buffer)
{
    struct ofi_head *head = &reply->head;
    size_t n_bytes = sizeof *head + reply->data_bytes;
    if (reply->data_bytes > 0) {
        const isthmus_lmem *lmem = ofi_extent_find(tr, &reply->from, reply->data_bytes);
        bool is_copied = lmem != NULL &&
                         ofi_copy(tr, lmem->kind, buffer + sizeof *head, lmem->addr + reply->from.offset_bytes,
                                  reply->data_bytes) == ISTHMUS_OK;
        if (!is_copied) {
            head->flags |= OFI_REFUSED;
            n_bytes = sizeof *head;
        }
    }
    memcpy(buffer, head, sizeof *head);
    return n_bytes;
}

/* Returns 0, -FI_EAGAIN if there is no room now, or an error of libfabric's. */
static ssize_t try_reply(isthmus_tr *tr, struct ofi_reply *reply)
{
    struct ofi_head *head = &reply->head;
    head->token = reply->peer->token;
    tr->has_posted = true;
    if (reply->data_bytes == 0 && sizeof *head <= tr->inject_bytes)
        return fi_inject(tr->ep, head, sizeof *head, reply->peer->address);
    struct ofi_op *op = ofi_op_take(&tr->free_messages);
    if (op == NULL) return -FI_EAGAIN;
    size_t n_bytes = make_reply(tr, reply, op->buffer);
    void *desc = ofi_buffers_desc(tr);
    ssize_t sent = fi_send(tr->ep, op->buffer, n_bytes, desc, reply->peer->address, &op->context);
    if (sent != 0) ofi_op_give(&tr->free_messages, op);
    return sent;
}

/* Returns false if there is no room for replies to that peer now. After any other error the
 * reply is dropped: a peer that cannot be reached must not hold up the replies to others. */
static bool send_reply(isthmus_tr *tr, struct ofi_reply *reply)
{
    const struct isthmus_services *s = tr->services;
    struct ofi_peer *peer = reply->peer;
    ssize_t sent = try_reply(tr, reply);
    if (sent == -FI_EAGAIN) return false;
    if (sent != 0 && !peer->has_dropped) {
        peer->has_dropped = true;
        s->log(s->core, ISTHMUS_LOG_INFO, "no reply can be sent to PE %d on %s: %s", (int)(peer - tr->peers),
               peer->host_name, ofi_library_error(sent));
    }
    return true;
}

/* Replies to one peer keep their order. */
void ofi_replies_send(isthmus_tr *tr)
{
    struct ofi_reply **at = &tr->unsent;
    tr->reply_round++;
    while (*at != NULL) {
        struct ofi_reply *reply = *at;
        struct ofi_peer *peer = reply->peer;
        if (peer->full_round == tr->reply_round || !send_reply(tr, reply)) {
            peer->full_round = tr->reply_round;
            at = &reply->next;
            continue;
        }
        *at = reply->next;
        peer->n_unsent--;
        free(reply);
    }
    tr->unsent_end = at;
}

/* The operations that a reply confirms are visible to every PE before it leaves. */
static void reply(const struct request *r, enum ofi_kind kind, uint64_t number, const struct ofi_reply *data)
{
    isthmus_tr *tr = r->tr;
    struct ofi_reply now = {.peer = r->peer, .head = r->head};
    if (data != NULL) {
        now.from = data->from;
        now.data_bytes = data->data_bytes;
    }
    now.head.kind = (uint8_t)kind;
    now.head.pe = tr->services->my_pe;
    now.head.number = number;
    now.head.flags = r->head.flags & OFI_REFUSED;
    isthmus_publish_stores_();
    if (r->peer->n_unsent == 0 && send_reply(tr, &now)) return;
    struct ofi_reply *later = malloc(sizeof *later);
    if (later == NULL) {
        tr->is_out_of_memory = true;
        return;
    }
    *later = now;
    *tr->unsent_end = later;
    tr->unsent_end = &later->next;
    r->peer->n_unsent++;
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
    isthmus_order_stores_();
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
    reply(r, OFI_REPLY, 0, &(struct ofi_reply){.from = body.place, .data_bytes = (uint32_t)body.length_bytes});
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

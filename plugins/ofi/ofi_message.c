/* plugins/ofi/ofi_message.c: sends requests, and waits for what peers return for them. */
#include "ofi.h"

#include <isthmus/copy_cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_BYTES = 256, /* a message that is made on the stack and sent by fi_inject */
    ASK_EVERY = 64     /* so many requests: then one wants an acknowledgement, and waits for the one before it */
};

/* ---- bytes ---- */

isthmus_status ofi_copy(isthmus_tr *tr, uint32_t kind, void *dest, const void *source, size_t n_bytes)
{
    const struct isthmus_services *s = tr->services;
    if (kind != ISTHMUS_MEM_HOST) return s->memory_copy(s->core, kind, dest, source, n_bytes);
    if (n_bytes == 8 && ((uintptr_t)dest & 7) == 0) { /* a word that a PE may wait for is stored whole */
        uint64_t word;
        memcpy(&word, source, sizeof word);
        __atomic_store_n((uint64_t __attribute__((may_alias)) *)dest, word, __ATOMIC_RELEASE);
    } else {
        isthmus_copy_cpu(dest, source, n_bytes);
    }
    return ISTHMUS_OK;
}

/* Makes the bytes of a message at `at`. */
static isthmus_status assemble(isthmus_tr *tr, char *at, const struct ofi_message *m)
{
    memcpy(at, &m->head, sizeof m->head);
    if (m->body_bytes > 0) memcpy(at + sizeof m->head, m->body, m->body_bytes);
    if (m->data_bytes == 0) return ISTHMUS_OK;
    return ofi_copy(tr, m->data_kind, at + sizeof m->head + m->body_bytes, m->data, m->data_bytes);
}

static isthmus_status send_long(isthmus_path *path, const struct ofi_message *m, size_t n_bytes)
{
    isthmus_tr *tr = path->tr;
    struct ofi_op *op = ofi_op_take(&tr->free_messages);
    if (op == NULL) return ISTHMUS_ERR_AGAIN;
    op->path = path;
    isthmus_status status = assemble(tr, op->buffer, m);
    if (status == ISTHMUS_OK) {
        tr->has_posted = true;
        void *desc = ofi_buffers_desc(tr);
        ssize_t sent = fi_send(tr->ep, op->buffer, n_bytes, desc, path->peer->address, &op->context);
        if (sent == 0) return ISTHMUS_OK;
        status = ISTHMUS_ERR_AGAIN;
        if (sent != -FI_EAGAIN) {
            ofi_path_lose(path, ofi_library_error(sent));
            status = ofi_path_lost(path);
        }
    }
    ofi_op_give(&tr->free_messages, op);
    return status;
}

static isthmus_status send_short(isthmus_path *path, const struct ofi_message *m, size_t n_bytes)
{
    isthmus_tr *tr = path->tr;
    char bytes[SHORT_BYTES];
    isthmus_status status = assemble(tr, bytes, m);
    if (status != ISTHMUS_OK) return status;
    tr->has_posted = true;
    ssize_t sent = fi_inject(tr->ep, bytes, n_bytes, path->peer->address);
    if (sent == 0) return ISTHMUS_OK;
    if (sent == -FI_EAGAIN) return ISTHMUS_ERR_AGAIN;
    ofi_path_lose(path, ofi_library_error(sent));
    return ofi_path_lost(path);
}

/* ---- requests ---- */

void ofi_note_unacked(isthmus_path *path, uint64_t since)
{
    if (path->is_unacked) return;
    path->is_unacked = true;
    path->unacked_since = since;
    path->next_unacked = path->tr->unacked;
    path->tr->unacked = path;
}

static void note_sent(isthmus_path *path, const struct ofi_message *m)
{
    isthmus_tr *tr = path->tr;
    path->peer->n_sent++;
    path->sent = tr->newest_number = m->head.number;
    if ((m->head.flags & OFI_WANTS_ACK) != 0) {
        path->asked = m->head.number;
        path->n_since_asked = 0;
    } else {
        path->n_since_asked++;
    }
    if (m->is_notice)
        path->has_notified = true;
    else
        ofi_note_unacked(path, m->head.number);
}

isthmus_status ofi_request_try(isthmus_path *path, struct ofi_message *m)
{
    isthmus_tr *tr = path->tr;
    size_t n_bytes = sizeof m->head + m->body_bytes + m->data_bytes;
    bool asks = (m->head.flags & OFI_WANTS_ACK) != 0 || path->n_since_asked >= ASK_EVERY;
    if (path->is_lost) return ofi_path_lost(path);
    if (asks && m->head.kind != OFI_COMMIT && path->acked < path->asked) return ISTHMUS_ERR_AGAIN; /* the window */
    m->head.token = path->peer->token;
    m->head.pe = tr->services->my_pe;
    m->head.sequence = path->peer->n_sent;
    m->head.path = path->index;
    m->head.number = tr->newest_number + 1;
    if (asks) m->head.flags |= OFI_WANTS_ACK;
    bool is_short = n_bytes <= tr->inject_bytes && n_bytes <= SHORT_BYTES;
    isthmus_status status = is_short ? send_short(path, m, n_bytes) : send_long(path, m, n_bytes);
    if (status == ISTHMUS_OK) note_sent(path, m);
    return status;
}

static isthmus_status cannot_connect(isthmus_path *path)
{
    const struct isthmus_services *s = path->tr->services;
    ofi_path_lose(path, "it takes no messages");
    path->has_reported = true;
    if (path->shared[0] != '\0')
        return s->fail(s->core, ISTHMUS_ERR_UNREACHABLE,
                       "PE %d on %s did not reply: it and this host have the address %s; name another network in "
                       "ISTHMUS_INTERFACE",
                       path->pe, path->host_name, path->shared);
    return s->fail(s->core, ISTHMUS_ERR_PEER_LOST,
                   "PE %d on %s did not reply within %d s (ISTHMUS_OFI_TIMEOUT); it has libfabric %s, this PE %s",
                   path->pe, path->host_name, path->tr->timeout_s, path->library, ofi_library_version());
}

/* Requests of the slots that open a path and attach memory. */
static bool is_cold(const struct ofi_message *m) { return m->head.kind == OFI_HELLO || m->head.kind == OFI_CHECK; }

static isthmus_status send_by(isthmus_path *path, struct ofi_message *m, uint64_t deadline_ns)
{
    struct ofi_wait wait = {.tr = path->tr, .path = path, .is_cold = is_cold(m), .needs_room = true};
    isthmus_status status;
    while ((status = ofi_request_try(path, m)) == ISTHMUS_ERR_AGAIN) {
        if (deadline_ns != 0 && ofi_now_ns() > deadline_ns) {
            status = cannot_connect(path);
            break;
        }
        ofi_wait_step(&wait);
    }
    ofi_wait_end(&wait);
    return status;
}

isthmus_status ofi_request(isthmus_path *path, struct ofi_message *m) { return send_by(path, m, 0); }

isthmus_status ofi_commit_try(isthmus_path *path)
{
    struct ofi_message commit = {.head = {.kind = OFI_COMMIT, .call = OFI_NO_CALL, .flags = OFI_WANTS_ACK}};
    return ofi_request_try(path, &commit);
}

isthmus_status ofi_await_acked(isthmus_path *path, uint64_t number)
{
    struct ofi_wait wait = {.tr = path->tr, .path = path};
    while (!path->is_lost && path->acked < number) ofi_wait_step(&wait);
    ofi_wait_end(&wait);
    return path->is_lost ? ofi_path_lost(path) : ISTHMUS_OK;
}

/* A message whose completion libfabric reports: it fails where the peer is gone. It has no number of its own. */
void ofi_ping(isthmus_path *path)
{
    struct ofi_message ping = {.head = {.kind = OFI_PING, .call = OFI_NO_CALL}};
    isthmus_tr *tr = path->tr;
    ping.head.token = path->peer->token;
    ping.head.pe = tr->services->my_pe;
    for (uint32_t i = 0; i < OFI_MESSAGES; i++)
        if (tr->messages[i].is_used && tr->messages[i].path == path) return; /* that one will show it */
    (void)send_long(path, &ping, sizeof ping.head);
}

/* ---- replies ---- */

struct ofi_call *ofi_call_take(isthmus_path *path, struct ofi_count *count, uint16_t *index)
{
    isthmus_tr *tr = path->tr;
    for (uint32_t n = 0; n < OFI_CALLS; n++) {
        uint32_t i = tr->next_call++ % OFI_CALLS;
        struct ofi_call *call = &tr->calls[i];
        if (call->is_used) continue;
        *call = (struct ofi_call){.is_used = true, .path = path, .count = count};
        *index = (uint16_t)i;
        return call;
    }
    return NULL;
}

static void end_call(struct ofi_call *call, isthmus_path *failed)
{
    call->is_used = false;
    if (call->count == NULL) return;
    if (failed != NULL) call->count->failed = failed;
    call->count->n_pending--;
}

void ofi_calls_fail(isthmus_path *path)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++)
        if (path->tr->calls[i].is_used && path->tr->calls[i].path == path) end_call(&path->tr->calls[i], path);
}

/* Stores what a reply returns. Returns NULL, or why the path is lost. */
static const char *store_reply(const struct ofi_call *call, const struct ofi_head *head, const char *data,
                               size_t data_bytes)
{
    bool is_refused = (head->flags & OFI_REFUSED) != 0;
    bool is_number = data_bytes == 0 && call->dest_bytes <= sizeof head->number;
    if (call->is_refused != NULL) *call->is_refused = is_refused;
    if (is_refused)
        return call->is_refused == NULL ? "it refuses an access outside of the memory that it exposes" : NULL;
    if (!is_number && data_bytes != call->dest_bytes) return "it sent a reply of a wrong length";
    if (call->dest == NULL) return NULL;
    const void *from = is_number ? (const char *)&head->number : data; /* little endian: the low bytes */
    isthmus_status copied = ofi_copy(call->path->tr, call->kind, call->dest, from, call->dest_bytes);
    return copied == ISTHMUS_OK ? NULL : "what it sent cannot be copied to a device";
}

static void end_of_call(isthmus_tr *tr, const struct ofi_head *head, const char *data, size_t data_bytes)
{
    if (head->call >= OFI_CALLS) return;
    struct ofi_call *call = &tr->calls[head->call];
    if (!call->is_used || call->path->pe != head->pe) return;
    const char *failure = store_reply(call, head, data, data_bytes);
    if (failure != NULL) ofi_path_lose(call->path, failure);
    if (call->is_used) end_call(call, NULL);
}

static void acknowledge(isthmus_tr *tr, const struct ofi_head *head)
{
    isthmus_path *path = head->path < tr->n_paths ? tr->paths[head->path] : NULL;
    if (path == NULL || path->pe != head->pe || head->number > path->sent || head->number <= path->acked) return;
    if ((head->flags & OFI_REFUSED) != 0) {
        ofi_path_lose(path, "it refuses an access outside of the memory that it exposes");
        return;
    }
    path->acked = head->number;
    if (path->is_unacked && path->acked == path->sent) {
        isthmus_path **at = &tr->unacked;
        while (*at != path) at = &(*at)->next_unacked;
        *at = path->next_unacked;
        path->is_unacked = false;
    }
    if (path->acked == path->sent) path->has_notified = false;
}

void ofi_on_reply(isthmus_tr *tr, const struct ofi_head *head, const char *data, size_t data_bytes)
{
    if (head->kind == OFI_ACK)
        acknowledge(tr, head);
    else
        end_of_call(tr, head, data, data_bytes);
}

isthmus_status ofi_call_peer(isthmus_path *path, struct ofi_message *m, const struct ofi_call *what)
{
    isthmus_tr *tr = path->tr;
    struct ofi_count count = {.n_pending = 1};
    struct ofi_wait wait = {.tr = tr, .path = path, .is_cold = is_cold(m)};
    struct ofi_call *call;
    uint64_t deadline_ns = m->head.kind == OFI_HELLO ? ofi_now_ns() + 1000000000u * (uint64_t)tr->timeout_s : 0;
    while ((call = ofi_call_take(path, &count, &m->head.call)) == NULL) ofi_wait_step(&wait);
    ofi_wait_end(&wait); /* send_by() has a wait of its own */
    call->dest = what->dest;
    call->dest_bytes = what->dest_bytes;
    call->kind = what->kind;
    call->is_refused = what->is_refused;
    m->is_notice = true; /* the reply confirms it */
    isthmus_status status = send_by(path, m, deadline_ns);
    while (status == ISTHMUS_OK && count.n_pending > 0) {
        if (deadline_ns != 0 && ofi_now_ns() > deadline_ns) status = cannot_connect(path);
        if (status == ISTHMUS_OK) ofi_wait_step(&wait);
    }
    ofi_wait_end(&wait);
    if (count.n_pending > 0) call->is_used = false;
    return status == ISTHMUS_OK && count.failed != NULL ? ofi_path_lost(path) : status;
}
